package sweep

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The rows of a step follow its time: within six steps a slower or faster disk has one of at most stepTime, as far as the bounds allow.
func TestStepsOfASweepAreShort(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		perRow := time.Duration(rapid.Int64Range(1, int64(10*time.Millisecond)).Draw(r, "time of a row"))
		rows := rapid.IntRange(minStep, maxStep).Draw(r, "rows")
		for range 6 {
			rows = nextStep(rows, time.Duration(rows)*perRow)
		}
		if took := time.Duration(rows) * perRow; took > stepTime && rows > minStep || took < stepTime/4 && rows < maxStep {
			r.Fatalf("%d rows in %v", rows, took)
		}
	})
}
