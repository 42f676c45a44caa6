package scanreport

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
)

// Issue is something that a user may have to do something about, at one place.
type Issue struct {
	Identity
	At model.Source
}

// Identity is what an issue has in common with itself in another version of the files. It has no line and no secret. Several issues can
// have the same.
type Identity struct {
	Code     string `json:"code"` // of its rule, such as RegistryAuthFailed/refused
	File     string `json:"file"`
	Object   string `json:"object,omitempty"`
	Registry string `json:"registry,omitempty"`
	Content  string `json:"content,omitempty"`
	Consumer string `json:"consumer,omitempty"`
}

// Remove removes the issues for which is returns true, and returns how many. What could not be checked stays. A definition whose places
// differ becomes several.
func Remove(r *model.Result, o Options, is func(Issue) bool) (removed int) {
	o.withoutTexts, o.ShowUsers = true, true
	s := newScan(*r, o)
	var registries []model.Registry
	for i, found := range r.Registries {
		rest, n := s.entries[i].without(found, is)
		registries, removed = append(registries, rest...), removed+n
	}
	others := s.entries[len(r.Registries):]
	problems := []model.Problem{}
	for i, p := range r.Problems {
		if is(others[i].issue(others[i].rule, p.Source, others[i].places[0])) {
			removed++
		} else {
			problems = append(problems, p)
		}
	}
	r.Registries, r.Problems = append([]model.Registry{}, registries...), problems
	r.Summarize()
	return removed
}

func (e *entry) issue(r rule, at, place model.Source) Issue {
	return Issue{Identity{r.id, place.File, place.Object, e.registry, e.content, e.consumer}, at}
}

// without returns what is left of a definition, one for each set of issues that its places have.
func (e *entry) without(found model.Registry, is func(Issue) bool) (rest []model.Registry, removed int) {
	bySet := map[string]int{} // index in rest
	for i, at := range found.Sources {
		if e.outcome.reported() && e.outcome != notChecked && is(e.issue(e.rule, at, e.places[i])) {
			removed++
			continue
		}
		gone := make([]bool, len(e.remarks))
		var set strings.Builder
		for j, remark := range e.remarks {
			if gone[j] = is(e.issue(remark.rule, at, e.places[i])); gone[j] {
				removed++
				set.WriteString(remark.rule.id + " ")
			}
		}
		if at, known := bySet[set.String()]; known {
			rest[at].Sources = append(rest[at].Sources, found.Sources[i])
			continue
		}
		bySet[set.String()] = len(rest)
		rest = append(rest, withoutRemarks(found, gone))
		rest[len(rest)-1].Sources = []model.Source{at}
	}
	return rest, removed
}

// withoutRemarks removes notices and warnings, in the order of the remarks of an entry.
func withoutRemarks(r model.Registry, gone []bool) model.Registry {
	if !slices.Contains(gone, true) {
		return r
	}
	notices, n := []model.Notice{}, len(r.Notices)
	for i, notice := range r.Notices {
		if !gone[i] {
			notices = append(notices, notice)
		}
	}
	r.Notices = notices
	if r.Report == nil {
		return r
	}
	report := *r.Report
	report.Warnings = nil
	for i, warning := range r.Report.Warnings {
		if !gone[n+i] {
			report.Warnings = append(report.Warnings, warning)
		}
	}
	r.Report = &report
	return r
}

// Codes returns the ids of all rules that an issue can have.
func Codes() []string {
	var ids []string
	for id := range rules() {
		if kind, _, _ := strings.Cut(id, "/"); kind != string(skipped) && outcome(id) != notChecked && outcome(id) != listed &&
			outcome(id) != valid {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// IsCode reports whether the id of a rule has this code: the whole of it, its begin or its last word.
func IsCode(id, code string) bool {
	return id == code || strings.HasPrefix(id, code+"/") || strings.HasSuffix(id, "/"+code)
}
