package alerts

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// A user gets the names of all its organizations, once in an hour; an address without a user, or with a disabled one, gets nothing.
func TestOrgNamesAreSent(t *testing.T) {
	mails := newMailServer(t, false)
	f := newFixture(t, Config{Mail: mails.mail(StartTLS)})
	reminder := newOrgReminder(f.db, Config{Mail: mails.mail(StartTLS)}, func() time.Time { return f.clock })
	sent := func() []string {
		mails.mu.Lock()
		defer mails.mu.Unlock()
		return slices.Clone(mails.messages)
	}
	second := store.Org{UID: uuid.NewString(), Name: "Second\r\nBcc: x", Canonical: "second", CreatedAt: f.clock}
	first := store.Org{UID: uuid.NewString(), Name: "Attacker", Canonical: "aaa", CreatedAt: f.clock}
	user := func(org, email string) store.User {
		return store.User{UID: uuid.NewString(), OrgUID: org, Email: email, Canonical: strings.ToLower(email), Role: "member",
			PasswordChangedAt: f.clock, CreatedAt: f.clock}
	}
	off := user(f.in.OrgUID, "off@acme.example")
	f.write(func(ctx context.Context, tx *store.Tx) error {
		if err := errors.Join(tx.Orgs.Insert(ctx, first), tx.Orgs.Insert(ctx, second)); err != nil {
			return err
		}
		other := user(first.UID, "ada@straße.example")
		other.Canonical = "ada@strasse.example"
		for _, u := range []store.User{user(f.in.OrgUID, "Ada@acme.example"), user(second.UID, "ada@acme.example"), off, other,
			user(second.UID, "ada@strasse.example")} {
			if err := tx.Users.Insert(ctx, u); err != nil {
				return err
			}
		}
		return tx.Users.Disable(ctx, f.in.OrgUID, off.UID, f.clock)
	})
	for address, want := range map[string]int{"unknown@acme.example": 0, "off@acme.example": 0, "ada@acme.example": 1} {
		before := len(sent())
		for range 2 {
			if err := reminder.send(t.Context(), address); err != nil {
				t.Errorf("%s: %v", address, err)
			}
		}
		if got := len(sent()) - before; got != want {
			t.Errorf("%d messages to %s, want %d", got, address, want)
		}
	}
	message := sent()[0]
	if !strings.Contains(message, "  Acme\r\n") || !strings.Contains(message, "  Second") || strings.Contains(message, "\nBcc") ||
		!strings.Contains(message, "To: <Ada@acme.example>") {
		t.Errorf("sent %s", message)
	}
	const strasse = "ada@strasse.example"
	if err := reminder.send(t.Context(), strasse); err != nil || len(sent()) != 3 {
		t.Fatalf("sent %q, %v", sent()[1:], err)
	}
	for _, message := range sent()[1:] {
		if strings.Contains(message, "To: <"+strasse+">") == strings.Contains(message, "Attacker") {
			t.Errorf("sent %s", message)
		}
	}
	f.clock = f.clock.Add(forgottenInterval)
	if err := reminder.send(t.Context(), "ada@acme.example"); err != nil || len(sent()) != 4 {
		t.Errorf("an hour later: %d messages, %v", len(sent()), err)
	}
}

// A request neither waits nor fails: what is too much is dropped, of one source and in all.
func TestOrgNamesAreAskedForWithoutWaiting(t *testing.T) {
	f := newFixture(t, Config{})
	reminder := newOrgReminder(f.db, Config{Mail: &Mail{}}, func() time.Time { return f.clock })
	for range 2 * forgottenPerMinute {
		reminder.Request(audit.Origin{Address: "192.0.2.1"}, "ada@acme.example")
	}
	if got := len(reminder.requests); got != forgottenPerMinute {
		t.Errorf("%d requests of one source wait", got)
	}
	for i := range 2 * maxForgotten {
		reminder.Request(audit.Origin{Address: "198.51.100." + string(rune('0'+i%10)) + string(rune('0'+i/10))}, "ada@acme.example")
	}
	if got := len(reminder.requests); got != maxForgotten {
		t.Errorf("%d requests wait", got)
	}
	without := newOrgReminder(f.db, Config{}, func() time.Time { return f.clock })
	without.Request(audit.Origin{}, "ada@acme.example")
	if len(without.requests) != 0 {
		t.Error("a request waits without a mail server")
	}
}
