package regcheck

import (
	"context"
	"encoding/json"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/artifact"
)

// ControlAgain is the age at which a control request is repeated.
const ControlAgain = 24 * time.Hour

// Known is the part of a result that a later check of the same definition, including its secrets, need not repeat. It
// contains no secret and nothing computed from one. The zero value is empty.
type Known struct {
	ControlAt   time.Time // when random credentials were last tried; zero: never
	ControlOpen bool      // they were accepted

	artifacts string // of artifact.Known, as artifact.Join writes them
}

// storedKnown is the JSON of Known.
type storedKnown struct {
	ControlAt   int64           `json:"controlAt,omitempty"` // unix seconds
	ControlOpen bool            `json:"controlOpen,omitempty"`
	Artifacts   json.RawMessage `json:"artifacts,omitempty"`
}

// String returns the JSON that ReadKnown reads, "" for the zero value.
func (k Known) String() string {
	if k == (Known{}) {
		return ""
	}
	stored := storedKnown{ControlOpen: k.ControlOpen, Artifacts: json.RawMessage(k.artifacts)}
	if !k.ControlAt.IsZero() {
		stored.ControlAt = k.ControlAt.Unix()
	}
	text, _ := json.Marshal(stored) // artifacts is valid JSON
	return string(text)
}

// ReadKnown reads what Known.String wrote. Of other text, such as that of versions before JSON, it returns the zero value.
func ReadKnown(text string) (k Known) {
	var stored storedKnown
	if json.Unmarshal([]byte(text), &stored) != nil {
		return Known{}
	}
	if stored.ControlAt > 0 {
		k.ControlAt, k.ControlOpen = time.Unix(stored.ControlAt, 0), stored.ControlOpen
	}
	k.artifacts = artifact.Join(artifact.ReadKnown(string(stored.Artifacts)))
	return k
}

// Recheck is Check of a definition that was checked before. It does not repeat a control request that is younger than
// ControlAgain, and reads the manifest of an artifact only when its digest has changed: a GET of a manifest is a pull at
// Docker Hub, a HEAD is not. It asks for the blobs of an unchanged artifact once a day.
//
// The credentials of the definition are always sent, so a wrong password is always detected. The control request only
// decides on a warning.
func (c *Checker) Recheck(ctx context.Context, d Definition, known Known, o Observer) (*Report, error) {
	report, reader, err := c.open(ctx, d, known, o)
	if reader != nil {
		reader.Close()
	}
	return report, err
}

// knownControl returns the result of a control request that need not be repeated. For a token, a rejected control request is
// always repeated: it skips the other uses of the token, which may change the result.
func (s *session) knownControl() (open, known bool) {
	k := s.known
	age := s.now().Sub(k.ControlAt)
	if k.ControlAt.IsZero() || age < -time.Minute || age >= ControlAgain || !k.ControlOpen && s.plan.auth != Basic {
		return false, false
	}
	return k.ControlOpen, true
}

// recordControl records the result of a control request.
func (s *session) recordControl(open bool) {
	s.newControl.ControlAt, s.newControl.ControlOpen = s.now(), open
}

// knownAfter returns what a later check need not request. If the check was not valid, only what is known of artifacts is retained, also
// of those that it did not examine.
func (s *session) knownAfter(valid bool) Known {
	k := Known{artifacts: artifact.Join(artifact.Retain(s.examined, artifact.ReadKnown(s.known.artifacts), 1+len(s.references)))}
	if valid {
		k.ControlAt, k.ControlOpen = s.newControl.ControlAt, s.newControl.ControlOpen
	}
	return k
}
