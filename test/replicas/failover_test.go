package replicas_test

import (
	"flag"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
)

var long = flag.Bool("long", false, "20 rounds of failures instead of a few, under more load")

const (
	longRounds = 20
	warmUp     = 700 * time.Millisecond // of load before a failure, and after it
	behind     = 200 * time.Millisecond
	noPrimary  = time.Second      // between the loss of a primary and the promotion
	backWithin = 10 * time.Second // of the promotion every kind of request is served again
)

func rounds(short int) int {
	if *long {
		return longRounds
	}
	return short
}

// TestFailover loses the primary again and again, under load on three replicas, and promotes its
// standby. Half of the times the primary does not end but falls silent, as a machine does that stopped, and is
// ended only when the service is back. After each round everything that was acknowledged is in the store, once.
func TestFailover(t *testing.T) {
	t.Parallel()
	pair := postgrestest.StartPair(t, postgrestest.Options{NoSync: !*long})
	url := pair.NewDatabase(t)
	f := startFleet(t, 3, url)
	l := newLoad(t, f, url)
	var slowest time.Duration
	for round := range rounds(2) {
		lost, silent := pair.Primary(), round%4 == 0 || round%4 == 3 // each of the two hosts in turn
		l.start()
		l.watch()
		l.awaitEach(t, time.Minute, everything...)
		time.Sleep(warmUp)
		// The standby is a little behind, as by a slow network: what is not on it must not have been acknowledged.
		if err := lost.StopSending(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(behind)
		lose(t, lost, silent)
		time.Sleep(noPrimary)
		l.watch()
		began := time.Now()
		if err := pair.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		promoted := time.Since(began)
		back := l.awaitEach(t, backWithin, everything...)
		slowest = max(slowest, back)
		time.Sleep(warmUp)
		if silent {
			lose(t, lost, false)
		}
		l.stop()
		t.Logf("round %d: primary silent: %v; promoted in %v; every kind of request was served %v after its begin",
			round+1, silent, promoted.Round(time.Millisecond), back.Round(time.Millisecond))
		if l.check(); t.Failed() {
			t.FailNow()
		}
		if err := pair.Rebuild(); err != nil {
			t.Fatal(err)
		}
	}
	l.end()
	t.Logf("%d rounds; the slowest return of service was %v", rounds(2), slowest.Round(time.Millisecond))
}

// lose stops a primary: it ends, or it only stops responding.
func lose(t *testing.T, primary *postgrestest.Server, silent bool) {
	t.Helper()
	away := primary.KillHard
	if silent {
		away = primary.Freeze
		t.Cleanup(func() { _ = primary.Thaw() }) // so that it can be ended, whatever happens
	}
	if err := away(); err != nil {
		t.Fatal(err)
	}
}
