package regcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/regwarden/regwarden/regcheck/internal/artifact"
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

func referenceField(i int) string { return fmt.Sprintf("references[%d]", i) }

// withReferences examines the references and adds their results to that of the content path, which decides if it failed.
func (s *session) withReferences(ctx context.Context, path outcome) outcome {
	if len(s.references) == 0 {
		return path
	}
	failures := s.examineReferences(ctx)
	all := wire.Counted(len(failures), "reference", "references")
	if path.failure != nil {
		return path
	}
	if failures = slices.DeleteFunc(failures, func(f *failure) bool { return f == nil }); len(failures) > 0 {
		if f := failures[0]; len(s.references) > 1 {
			f.seen = message.Of("%d of %s cannot be pulled. %s", len(failures), all, f.seen)
		}
		return failed(failures[0])
	}
	path.detail += "; "
	if s.plan.contentPath == "" {
		path = passed("")
	}
	partly := slices.DeleteFunc(slices.Clone(s.references), func(r ReferenceResult) bool { return r.Status != Unknown })
	if len(partly) > 0 {
		return unknown("%s%d of %s could not be examined completely", path.detail, len(partly), all)
	}
	path.detail += message.Of("%s can be pulled", all)
	return path
}

// examineReferences examines the references concurrently, one after the other if they are downloaded. Without HTTP/2 their blobs share
// the connections of one artifact. It returns the failures in the order of the references, nil for one without.
func (s *session) examineReferences(ctx context.Context) []*failure {
	failures, branches := make([]*failure, len(s.references)), make([]session, len(s.references))
	workers := min(len(branches), artifact.MaxConnections)
	if s.download != nil {
		workers = 1
	}
	var work []func(*session)
	for w := range workers {
		work = append(work, func(worker *session) {
			for i := w; i < len(branches); i += workers {
				one := &branches[i]
				*one = *worker
				one.warnings, one.examined, one.blobConns = nil, nil, max(1, artifact.MaxConnections/workers)
				failures[i] = one.examineReference(ctx, i)
				worker.Rounds = one.Rounds
			}
		})
	}
	s.concurrently(work...)
	for _, one := range branches {
		s.examined = append(s.examined, one.examined...)
		for _, w := range one.warnings {
			s.addWarning(w)
		}
	}
	return failures
}

// examineReference checks one reference as a content path. Its texts name the field that has the reference.
func (s *session) examineReference(ctx context.Context, i int) *failure {
	ref, plan, field := s.plan.references[i], *s.plan, referenceField(i)
	plan.contentPath, plan.reference = ref.Repository, ref
	s.plan = &plan
	out := s.referenced(ctx, ref)
	for i := range s.warnings {
		w := &s.warnings[i]
		renameField(field, &w.field, &w.text)
	}
	r := &s.references[i] // of its own
	r.Valid, r.Status, r.Message = out.failure == nil, out.status, s.reader.Show(out.detail)
	if f := out.failure; f != nil {
		renameField(field, &f.field, &f.seen, &f.hint)
		var report Report
		f.into(&report, StageContent, s.reader)
		r.Code, r.Reason, r.Message, r.Hint, r.Retryable = report.Code, report.Reason, report.Message, report.Hint, report.Retryable
	}
	return out.failure
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
