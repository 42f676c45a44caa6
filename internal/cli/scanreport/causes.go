package scanreport

import (
	"cmp"
	"slices"

	"github.com/regwarden/regwarden/definitions/model"
)

// Severity orders causes: the most severe is the first.
type Severity int

// Severities.
const (
	Failure    Severity = iota // not valid, and problems of files
	NotChecked                 // by a fault of the checker
	Warns                      // of a check
	Unresolved
	Notice
	Fine // valid: only with Options.Messages
)

// Cause is a code with everything that has it.
type Cause struct {
	Severity Severity
	Code     string
	Sentence string // what it means
	Count    int    // of places
	Fixes    []Fix
}

// Fix is what to do at some places. Message is empty without Options.Messages; Hint is empty if the message says it.
type Fix struct {
	Message, Hint string
	Places        []CausePlace
}

// CausePlace is a definition at one place.
type CausePlace struct {
	At     model.Source
	Target string // registry, content and consumer; empty for problems
}

// Causes groups what a user may have to do something about by its code, the most severe and most frequent first. With o.Messages,
// valid definitions are the last.
func Causes(r model.Result, o Options) []Cause {
	c := causes{messages: o.Messages, index: map[string]int{}, fixes: map[[3]string]int{}}
	s := newScan(r, o)
	for i := range s.entries {
		e := &s.entries[i]
		if e.outcome.reported() || e.outcome == valid && o.Messages {
			c.add(severities[e.outcome], e.rule, e, e.message, e.hint)
		}
		for _, remark := range e.remarks {
			c.add(remark.level.severity(), remark.rule, e, remark.message, "")
		}
	}
	slices.SortStableFunc(c.all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code))
	})
	return c.all
}

var severities = map[outcome]Severity{notValid: Failure, problem: Failure, notChecked: NotChecked, unresolved: Unresolved,
	valid: Fine}

func (l level) severity() Severity {
	if l == warning {
		return Warns
	}
	return Notice
}

type causes struct {
	all      []Cause
	index    map[string]int    // by code
	fixes    map[[3]string]int // by code, message and hint
	messages bool
}

// add adds the places of an entry to those of a rule.
func (c *causes) add(severity Severity, r rule, e *entry, message, hint string) {
	if !c.messages {
		message, hint = "", cmp.Or(hint, r.fix)
	}
	i, known := c.index[r.id]
	if !known {
		i = len(c.all)
		c.index[r.id] = i
		c.all = append(c.all, Cause{Severity: severity, Code: r.id, Sentence: r.sentence})
	}
	of, key := &c.all[i], [3]string{r.id, message, hint}
	f, known := c.fixes[key]
	if !known {
		f = len(of.Fixes)
		c.fixes[key] = f
		of.Fixes = append(of.Fixes, Fix{Message: message, Hint: hint})
	}
	for _, at := range e.places {
		of.Fixes[f].Places = append(of.Fixes[f].Places, CausePlace{at, e.target()})
		of.Count++
	}
}
