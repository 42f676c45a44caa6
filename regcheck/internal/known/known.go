// Package known has what a check may know of an earlier one.
package known

import (
	"encoding/json"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/artifact"
)

// Known is the part of a result that a later check of the same definition, including its secrets, need not repeat. It
// contains no secret and nothing computed from one. The zero value is empty.
type Known struct {
	ControlAt   time.Time // when random credentials were last tried; zero: never
	ControlOpen bool      // they were accepted

	Artifacts string // of artifact.Known, as artifact.Join writes them
}

// storedKnown is the JSON of Known.
type storedKnown struct {
	ControlAt   int64           `json:"controlAt,omitempty"` // unix seconds
	ControlOpen bool            `json:"controlOpen,omitempty"`
	Artifacts   json.RawMessage `json:"artifacts,omitempty"`
}

// String returns the JSON that Read reads, "" for the zero value.
func (k Known) String() string {
	if k == (Known{}) {
		return ""
	}
	stored := storedKnown{ControlOpen: k.ControlOpen, Artifacts: json.RawMessage(k.Artifacts)}
	if !k.ControlAt.IsZero() {
		stored.ControlAt = k.ControlAt.Unix()
	}
	text, _ := json.Marshal(stored) // artifacts is valid JSON
	return string(text)
}

// Read reads what Known.String wrote. Of other text, such as that of versions before JSON, it returns the zero value.
func Read(text string) (k Known) {
	var stored storedKnown
	if json.Unmarshal([]byte(text), &stored) != nil {
		return Known{}
	}
	if stored.ControlAt > 0 {
		k.ControlAt, k.ControlOpen = time.Unix(stored.ControlAt, 0), stored.ControlOpen
	}
	k.Artifacts = artifact.Join(artifact.ReadKnown(string(stored.Artifacts)))
	return k
}
