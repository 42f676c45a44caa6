package scanreport

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/regwarden/regwarden/definitions/model"
)

// unique returns names that were not returned before, and the same ones for the same sequence. It has how often each was given.
type unique map[string]int

func (u unique) next(name string) string {
	candidate := name
	for u[candidate] > 0 {
		u[name]++
		candidate = fmt.Sprintf("%s #%d", name, u[name])
	}
	u[candidate]++
	return candidate
}

// shownIssue is something to report at one place: an entry is reported at each, since each is corrected on its own.
type shownIssue struct {
	rule        rule
	level       level
	message     string // begins with the name of the entry
	at          model.Source
	fingerprint string
}

// issues are the entries that a user may have to do something about, and all remarks.
func (s *scan) issues() []shownIssue {
	var all []shownIssue
	ids := unique{}
	for i := range s.entries {
		e := &s.entries[i]
		for _, at := range e.places {
			add := func(r rule, severity level, message string) {
				id := ids.next(fmt.Sprintf("%q", []string{r.id, at.File, at.Object, e.registry, e.content, e.consumer}))
				all = append(all, shownIssue{r, severity, e.where(at) + ": " + message, at, fingerprint(id)})
			}
			if e.outcome.reported() {
				add(e.rule, e.outcome.level(), e.advice())
			}
			for _, r := range e.remarks {
				add(r.rule, r.level, r.message)
			}
		}
	}
	return all
}

// fingerprint identifies an issue over changes of lines and of messages. Secrets are not part of the id, since short ones could be found
// by trying.
func fingerprint(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
