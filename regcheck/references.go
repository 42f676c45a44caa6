package regcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/regwarden/regwarden/regcheck/internal/artifact"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// MaxReferences is how many references a definition may have.
const MaxReferences = 16

// ReferenceResult is the result of one of the references of a definition. It is valid if its status is OK or Unknown; it is
// Skipped if it was not examined. Code, Reason and Hint are empty unless it failed.
type ReferenceResult struct {
	Reference string
	Valid     bool
	Status    Status
	Code      Code
	Reason    Reason
	Message   string // what was found
	Hint      string
	Retryable bool

	// These are not in the JSON.
	MessageText Text `json:"-"`
	HintText    Text `json:"-"`
}

// MarshalJSON writes null for values that do not apply.
func (r ReferenceResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Reference string  `json:"reference"`
		Valid     bool    `json:"valid"`
		Status    Status  `json:"status"`
		Code      *Code   `json:"code"`
		Reason    *Reason `json:"reason"`
		Message   *string `json:"message"`
		Hint      *string `json:"hint"`
		Retryable bool    `json:"retryable"`
	}{r.Reference, r.Valid, r.Status, orNull(r.Code), orNull(r.Reason), orNull(r.Message), orNull(r.Hint), r.Retryable})
}

// notExamined returns the results of the references before they are examined.
func notExamined(p *Plan) (all []ReferenceResult) {
	for _, ref := range p.references {
		all = append(all, ReferenceResult{Reference: ref.String(), Status: Skipped, Message: "not examined"})
	}
	return all
}

func referenceField(i int) string { return fmt.Sprintf("references[%d]", i) }

// withReferences examines the references and adds their results to that of the content path, which decides if it failed.
func (c *contentCheck) withReferences(ctx context.Context, path outcome) outcome {
	if len(c.references) == 0 {
		return path
	}
	return c.conclusion(path, c.examineReferences(ctx))
}

// conclusion adds the failures of the references, nil for those without one, to the outcome of the content path.
func (c *contentCheck) conclusion(path outcome, failures []*failure) outcome {
	if len(failures) == 0 {
		return path
	}
	all := wire.Counted(len(failures), "reference", "references")
	if path.Failure != nil {
		return path
	}
	if failures = slices.DeleteFunc(failures, func(f *failure) bool { return f == nil }); len(failures) > 0 {
		if f := failures[0]; len(c.references) > 1 {
			f.Seen = message.Of("%d of %s cannot be pulled. %s", len(failures), all, f.Seen)
		}
		return codes.Failed(failures[0])
	}
	path.Detail += "; "
	if c.plan.contentPath == "" {
		path = codes.Passed("")
	}
	partly := slices.DeleteFunc(slices.Clone(c.references), func(r ReferenceResult) bool { return r.Status != Unknown })
	if len(partly) > 0 {
		return codes.Unknown("%s%d of %s could not be examined completely", path.Detail, len(partly), all)
	}
	path.Detail += message.Of("%s can be pulled", all)
	return path
}

// examineReferences examines the references concurrently, one after the other if they are downloaded. Without HTTP/2 their blobs share
// the connections of one artifact. It returns the failures in the order of the references, nil for one without.
func (c *contentCheck) examineReferences(ctx context.Context) []*failure {
	failures, branches := make([]*failure, len(c.references)), make([]contentCheck, len(c.references))
	workers := min(len(branches), artifact.MaxConnections)
	if c.download != nil {
		workers = 1
	}
	var work []func(context.Context)
	for w := range workers {
		work = append(work, func(ctx context.Context) {
			for i := w; i < len(branches); i += workers {
				one := &branches[i]
				*one = *c
				one.transcript, one.connections = &transcript{}, max(1, artifact.MaxConnections/workers)
				failures[i] = one.examineReference(ctx, i)
			}
		})
	}
	wire.Concurrently(ctx, work...)
	for _, one := range branches {
		c.examined = append(c.examined, one.examined...)
		for _, w := range one.warnings {
			c.addWarning(w)
		}
	}
	return failures
}

// examineReference checks one reference as a content path. Its texts name the field that has the reference.
func (c *contentCheck) examineReference(ctx context.Context, i int) *failure {
	ref, plan, field := c.plan.references[i], *c.plan, referenceField(i)
	plan.contentPath, plan.reference = ref.Repository, ref
	c.plan = &plan
	out := c.referenced(ctx, ref)
	for i := range c.warnings {
		w := &c.warnings[i]
		renameField(field, &w.field, &w.text)
	}
	return c.noteReference(i, out)
}

// noteReference records the outcome of a reference, and returns its failure.
func (c *contentCheck) noteReference(i int, out outcome) *failure {
	field := referenceField(i)
	r := &c.references[i] // of its own
	r.Valid, r.Status, r.Message, r.MessageText = out.Failure == nil, out.Status, c.reader.Show(out.Detail), out.Detail
	if f := out.Failure; f != nil {
		renameField(field, &f.Field, &f.Seen, &f.Hint)
		var report Report
		report.setFailure(f, StageContent, c.reader)
		r.Code, r.Reason, r.Message, r.Hint, r.Retryable = report.Code, report.Reason, report.Message, report.Hint, report.Retryable
		r.MessageText, r.HintText = report.MessageText, report.HintText
	}
	return out.Failure
}

// renameField replaces the field of the content path by that of a reference.
func renameField(field string, at *string, texts ...*Text) {
	if *at == "baseContentPath" {
		*at = field
	}
	for _, text := range texts {
		*text = text.Renamed("baseContentPath", field)
	}
}
