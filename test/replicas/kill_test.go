package replicas_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
)

// TestReplicasKilled ends replicas with kill -9 at random moments under load, sometimes two at once, and starts
// them again. What was acknowledged is in the store, once, and the other replicas serve without interruption.
func TestReplicasKilled(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t, postgrestest.Options{NoSync: !*long})
	url := database.NewDatabase(t)
	f := startFleet(t, 3, url)
	l := newLoad(t, f, url)
	l.start()
	l.watch()
	l.awaitEach(t, time.Minute, everything...)
	killed := 0
	for killed < rounds(5) {
		time.Sleep(rand.N(500 * time.Millisecond))
		first := rand.N(len(f.replicas))
		lost := []int{first, (first + 1) % len(f.replicas)}[:1+rand.N(2)]
		for _, place := range lost {
			f.replicas[place].Kill()
			killed++
		}
		l.watch()
		l.awaitEach(t, backWithin, everything...) // by those that are left
		for _, place := range lost {
			f.start(place)
		}
	}
	l.watch()
	l.awaitEach(t, backWithin, everything...)
	l.stop()
	l.check()
	l.end()
	t.Logf("%d replicas were killed", killed)
}
