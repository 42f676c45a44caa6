package clouds

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// watched is a stored registry under scheduled checks, with a clock that jumps to the next one.
type watched struct {
	*world
	*watch.Service
	registriestest.Fixture
	uid     string
	checked chan watch.Outcome
	outcome watch.Outcome // of the last check
	checks  int
}

func startWatch(t *testing.T, auth regcheck.Auth) *watched {
	t.Helper()
	w := &watched{world: newWorld(t), Fixture: registriestest.New(t, nil), checked: make(chan watch.Outcome)}
	w.checker.Now = w.now
	stored := registries.New(w.DB, registries.Limits{}, w.now)
	w.Service = watch.New(w.DB, stored, w.checker, w.now)
	err := w.DB.InTx(t.Context(), func(tx *store.Tx) error {
		project := store.Project{UID: "project", OrgUID: w.Admin.OrgUID, Name: "p", Canonical: "p", CreatedAt: w.now()}
		return errors.Join(tx.Projects.Insert(t.Context(), project), tx.Channels.Insert(t.Context(), store.Channel{UID: "channel",
			OrgUID: w.Admin.OrgUID, ProjectUID: project.UID, Component: alerts.RegistryHealth, Type: "http", Active: true,
			CreatedAt: w.now()}))
	})
	if err != nil {
		t.Fatal(err)
	}
	w.uid, err = stored.Create(t.Context(), w.Admin, audit.Origin{}, registries.RegistryInput{Name: "r",
		Definition: regcheck.Definition{Endpoint: private, BaseContentPath: "team/app", Auth: &auth}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx, watch.Config{Interval: 30 * time.Second, Concurrency: 1, Observe: func(o watch.Outcome) {
			select {
			case w.checked <- o:
			case <-ctx.Done():
			}
		}})
	}()
	t.Cleanup(func() { stop(); <-ended })
	return w
}

// next waits for the next check, which is due at once, and returns the status after it.
func (w *watched) next(t *testing.T) watch.HealthStatus {
	t.Helper()
	read := func() watch.HealthStatus {
		s, _, err := w.History(t.Context(), w.Admin, w.uid, 0, watch.HistoryEntry{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	w.later.Add(int64(max(0, read().NextAt.Sub(w.now())) + time.Second))
	select {
	case w.outcome = <-w.checked:
	case <-time.After(time.Minute):
		t.Fatal("no check")
	}
	w.checks++
	return read()
}

// alert returns what is sent first.
func (w *watched) alert(t *testing.T) string {
	t.Helper()
	first, err := store.Read(t.Context(), w.DB, func(tx *store.Tx) (store.Delivery, error) {
		return tx.Outbox.Next(t.Context(), "channel", w.now())
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(first.AlertBody)
}

// A password that lives a minute is renewed for as long as the registry is watched. While its provider is down, the status is not known.
func TestWatchRenewsCredentials(t *testing.T) {
	w := startWatch(t, awsAuth("AKIAREADER", "reader-secret-of-aws"))
	w.AWS.Life = time.Minute
	until := w.now().Add(10 * time.Minute)
	for w.now().Before(until) {
		if s := w.next(t); s.Word() != store.Healthy || s.Unconfirmed {
			t.Fatalf("check %d: %s (%s)", w.checks, s.Word(), s.State.Message)
		} else if !strings.HasPrefix(s.State.Message, "api.ecr.eu-west-1.amazonaws.com issued a password for AWS, valid until ") {
			t.Fatalf("check %d says of the credentials: %q", w.checks, s.State.Message)
		}
	}
	if n := w.AWS.Issued(); n < 9 || n >= w.checks {
		t.Errorf("%d passwords for %d checks", n, w.checks)
	}
	t.Logf("10 minutes: %d checks, %d passwords", w.checks, w.AWS.Issued())

	w.down.Store(true)
	var s watch.HealthStatus
	for until = w.now().Add(5 * time.Minute); w.now().Before(until); {
		if s = w.next(t); s.Word() == store.Failing {
			t.Fatalf("failing: %s", s.State.Message)
		}
	}
	if s.Word() != store.Unknown || w.outcome != watch.Unknown || !strings.Contains(s.State.Message, "api.ecr.eu-west-1.amazonaws.com") {
		t.Errorf("after 5 minutes: %s, %s", s.Word(), s.State.Message)
	}
	for _, text := range []string{"the provider of its credentials is down, not the registry",
		"api.ecr.eu-west-1.amazonaws.com returned 503"} {
		if sent := w.alert(t); !strings.Contains(sent, text) {
			t.Errorf("the alert lacks %q: %s", text, sent)
		}
	}
	w.down.Store(false)
	if s = w.next(t); s.Word() != store.Healthy || w.outcome != watch.Valid {
		t.Errorf("after the outage: %s, %s, %s", s.Word(), w.outcome, s.State.Message)
	}
	records, err := store.Read(t.Context(), w.DB, func(tx *store.Tx) ([]audit.Record, error) {
		return tx.Audits.RegistryChanges(t.Context(), audits.Filter{OrgUID: w.Admin.OrgUID}, 10)
	})
	var outcomes []audit.Outcome
	for _, r := range records {
		outcomes = append(outcomes, r.Outcome)
	}
	if err != nil || !slices.Equal(outcomes, []audit.Outcome{audit.Valid, audit.Unknown, audit.Succeeded}) {
		t.Errorf("%v: records %v, the newest first", err, outcomes)
	}
}
