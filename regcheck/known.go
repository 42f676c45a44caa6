package regcheck

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/artifact"
	"github.com/regwarden/regwarden/regcheck/internal/known"
)

// ControlAgain is the age at which a control request is repeated.
const ControlAgain = 24 * time.Hour

// Known is the part of a result that a later check of the same definition, including its secrets, need not repeat. It
// contains no secret and nothing computed from one. The zero value is empty.
type Known = known.Known

// ReadKnown reads what Known.String wrote. Of other text, such as that of versions before JSON, it returns the zero value.
func ReadKnown(text string) Known { return known.Read(text) }

// Recheck is Check of a definition that was checked before. It does not repeat a control request that is younger than
// ControlAgain, and reads the manifest of an artifact only when its digest has changed: a GET of a manifest is a pull at
// Docker Hub, a HEAD is not. It asks for the blobs of an unchanged artifact once a day.
//
// The credentials of the definition are always sent, so a wrong password is always detected. The control request only
// decides on a warning.
func (c *Checker) Recheck(ctx context.Context, p *Plan, known Known, o Observer) (*Report, error) {
	report, reader, err := c.open(ctx, p, known, o, 0)
	if reader != nil {
		reader.Close()
	}
	return report, err
}

// knownControl returns the result of a control request that need not be repeated. For a token, a rejected control request is
// always repeated: it skips the other uses of the token, which may change the result.
func (s authCheck) knownControl() (open, known bool) {
	k := s.known
	age := s.now().Sub(k.ControlAt)
	if k.ControlAt.IsZero() || age < -time.Minute || age >= ControlAgain || !k.ControlOpen && s.plan.login.Type != Basic {
		return false, false
	}
	return k.ControlOpen, true
}

// recordControl records the result of a control request.
func (s authCheck) recordControl(open bool) {
	s.newControl.ControlAt, s.newControl.ControlOpen = s.now(), open
}

// knownAfter returns what a later check need not request. If the check was not valid, only what is known of artifacts is retained, also
// of those that it did not examine.
func (r *run) knownAfter() Known {
	k := Known{Artifacts: artifact.Join(artifact.Retain(r.examined, artifact.ReadKnown(r.known.Artifacts), 1+len(r.plan.references)))}
	if r.report.Valid {
		k.ControlAt, k.ControlOpen = r.newControl.ControlAt, r.newControl.ControlOpen
	}
	return k
}
