package auditchain

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// settle decides what did not fit in the order of time, with what the store has now.
func (v *verifier) settle(ctx context.Context) error {
	unknown, err := v.settleWaiting(ctx)
	if err == nil {
		err = v.readBatches(ctx, nil) // those of records that were linked since
	}
	return errors.Join(err, v.view(ctx, func(records audits.Records) error {
		var err error
		if v.chain, err = records.Chain(ctx); err != nil {
			return err
		}
		for _, d := range v.pending {
			if d.deleted > v.chain.SweptBatches {
				v.problem(d.Problem)
			}
		}
		for _, e := range v.entries {
			if err := v.settleEntry(ctx, records, e); err != nil {
				return err
			}
		}
		for _, s := range unknown {
			if _, still := v.waiting[s.UID]; !still || s.At.Before(v.chain.SweptBefore) {
				continue
			}
			if _, err := records.Get(ctx, s.UID); err == nil {
				v.recordProblem(RecordAdded, s.Entry, s.org, 0)
			} else if !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return v.settleLost(ctx, records)
	}))
}

// settleWaiting returns the records without an entry that do not wait to be linked either.
func (v *verifier) settleWaiting(ctx context.Context) (unknown []seen, err error) {
	err = v.view(ctx, func(records audits.Records) error {
		for _, s := range v.waiting {
			r, err := records.Get(ctx, s.UID)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			waits, written, errU := records.Unlinked(ctx, r)
			if err = errors.Join(err, errU); err != nil {
				return err
			}
			switch {
			case !waits:
				unknown = append(unknown, s)
			case written:
				v.Unlinked++
			default:
				v.recordProblem(RecordChanged, s.Entry, s.org, 0)
			}
		}
		return nil
	})
	return unknown, err
}

func (v *verifier) settleEntry(ctx context.Context, records audits.Records, e entry) error {
	r, err := records.Get(ctx, e.UID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return v.missing(ctx, records, e)
	case err != nil:
		return err
	case seenOf(records, r).fits(e):
		v.Records++
	default:
		v.recordProblem(RecordChanged, e.Entry, e.org, e.batch)
	}
	return nil
}

// missing reports a record that is not there, unless the retention time deleted it, maybe since the chain was read.
func (v *verifier) missing(ctx context.Context, records audits.Records, e entry) (err error) {
	if !e.At.Before(v.chain.SweptBefore) {
		if v.chain, err = records.Chain(ctx); err != nil {
			return err
		}
	}
	if !e.At.Before(v.chain.SweptBefore) {
		v.recordProblem(RecordDeleted, e.Entry, e.org, e.batch)
	}
	return nil
}

// settleLost finds records that were deleted before they were linked.
func (v *verifier) settleLost(ctx context.Context, records audits.Records) error {
	lost, err := records.LostUnlinked(ctx, lostLimit)
	for i := 0; i < len(lost) && err == nil; i++ {
		err = v.missing(ctx, records, entry{Entry: lost[i]})
	}
	return err
}
