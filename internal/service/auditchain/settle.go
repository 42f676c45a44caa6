package auditchain

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// settle decides what did not fit in the order of time, with what the store has now.
func (v *verifier) settle(ctx context.Context) error {
	unknown, err := v.settleWaiting(ctx)
	if err == nil {
		err = v.readBatches(ctx, nil) // those of records that were linked since
	}
	return errors.Join(err, v.view(ctx, func(audits store.Audits) error {
		var err error
		if v.chain, err = audits.Chain(ctx); err != nil {
			return err
		}
		for _, gap := range v.gaps {
			if gap.Batch > v.chain.SweptBatches+1 {
				v.problem(gap)
			}
		}
		for _, e := range v.entries {
			if err := v.settleEntry(ctx, audits, e); err != nil {
				return err
			}
		}
		for _, s := range unknown {
			if _, still := v.waiting[s.UID]; !still || s.At.Before(v.chain.SweptBefore) {
				continue
			}
			if _, err := audits.Get(ctx, s.UID); err == nil {
				v.recordProblem(RecordAdded, s.AuditEntry, s.org, 0)
			} else if !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return v.settleLost(ctx, audits)
	}))
}

// settleWaiting returns the records without an entry that do not wait to be linked either.
func (v *verifier) settleWaiting(ctx context.Context) (unknown []seen, err error) {
	err = v.view(ctx, func(audits store.Audits) error {
		for _, s := range v.waiting {
			r, err := audits.Get(ctx, s.UID)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			waits, written, errU := audits.Unlinked(ctx, r)
			if err = errors.Join(err, errU); err != nil {
				return err
			}
			switch {
			case !waits:
				unknown = append(unknown, s)
			case written:
				v.Unlinked++
			default:
				v.recordProblem(RecordChanged, s.AuditEntry, s.org, 0)
			}
		}
		return nil
	})
	return unknown, err
}

func (v *verifier) settleEntry(ctx context.Context, audits store.Audits, e entry) error {
	r, err := audits.Get(ctx, e.UID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return v.missing(ctx, audits, e)
	case err != nil:
		return err
	case seenOf(audits, r).fits(e):
		v.Records++
	default:
		v.recordProblem(RecordChanged, e.AuditEntry, e.org, e.batch)
	}
	return nil
}

// missing reports a record that is not there, unless the retention time deleted it, maybe since the chain was read.
func (v *verifier) missing(ctx context.Context, audits store.Audits, e entry) (err error) {
	if !e.At.Before(v.chain.SweptBefore) {
		if v.chain, err = audits.Chain(ctx); err != nil {
			return err
		}
	}
	if !e.At.Before(v.chain.SweptBefore) {
		v.recordProblem(RecordDeleted, e.AuditEntry, e.org, e.batch)
	}
	return nil
}

// settleLost finds records that were deleted before they were linked.
func (v *verifier) settleLost(ctx context.Context, audits store.Audits) error {
	lost, err := audits.LostUnlinked(ctx, lostLimit)
	for i := 0; i < len(lost) && err == nil; i++ {
		err = v.missing(ctx, audits, entry{AuditEntry: lost[i]})
	}
	return err
}
