package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Rows are recalled at the start and again and again, all of them each time, and an error ends nothing.
func TestRecallGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
		defer cancel()
		began, calls := time.Now(), []time.Duration(nil)
		Recall(ctx, "test", nil, func(context.Context) (int64, error) {
			calls = append(calls, time.Since(began))
			switch len(calls) {
			case 1:
				return RecallBatch, nil
			case 3:
				return RecallBatch, errors.New("away")
			}
			return 1, nil
		})
		want := []time.Duration{0, 0, 10 * time.Minute, 20 * time.Minute}
		if len(calls) != len(want) {
			t.Fatalf("called after %v, want %v", calls, want)
		}
		for i := range want {
			if calls[i] != want[i] {
				t.Errorf("called after %v, want %v", calls, want)
			}
		}
	})
}
