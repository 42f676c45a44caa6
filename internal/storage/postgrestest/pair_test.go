package postgrestest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// TestPairLosesNothing kills the primary twice, right after a commit was acknowledged.
func TestPairLosesNothing(t *testing.T) {
	p := StartPair(t, Options{NoSync: true})
	url := p.NewDatabase(t)
	if err := p.Primary().Exec(t.Context(), url, "CREATE TABLE numbers (n BIGINT)"); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for n := range 20 {
			if err := p.Primary().Exec(t.Context(), url, fmt.Sprintf("INSERT INTO numbers VALUES (%d)", n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Primary().KillHard(); err != nil {
			t.Fatal(err)
		}
		if err := p.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := Number(t.Context(), url, "SELECT count(*) FROM numbers"); err != nil || got != int64(20*(round+1)) {
			t.Errorf("round %d: %d rows of %d, %v", round, got, 20*(round+1), err)
		}
		if err := p.Rebuild(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCommitsWaitForTheStandby freezes the standby: a commit is acknowledged only when it is on both servers.
func TestCommitsWaitForTheStandby(t *testing.T) {
	p := StartPair(t, Options{NoSync: true})
	url := p.NewDatabase(t)
	if err := p.Standby().Freeze(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- p.Primary().Exec(context.WithoutCancel(t.Context()), url, "CREATE TABLE numbers (n BIGINT)")
	}()
	select {
	case err := <-ended:
		t.Errorf("acknowledged with one copy: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	if err := p.Standby().Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
