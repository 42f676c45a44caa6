package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	fewUsers    = 1_000
	allUsers    = 200_000
	userRounds  = 15
	usersApart  = 3 // percent
	storeStep   = 2000
	sessionsFor = 24 * time.Hour
)

// BenchmarkUsers compares a store of 1,000 users with one of 200,000, each user with a session. Who signs in, and whose
// session is refreshed, is drawn from all of them each time.
func BenchmarkUsers(b *testing.B) {
	for range b.N {
		clients, figures, disturbance := startClients(b), series{}, watchOthers()
		stores := []*crowd{newCrowd(b, fewUsers), newCrowd(b, allUsers)}
		for range userRounds {
			for _, kind := range []string{loadRefresh, loadSignIn} {
				for _, c := range stores {
					before := processorTime(b, c.server)
					end := clients.put(workload{URLs: []string{c.server.URL}, Kind: kind, Clients: manyClients, For: roundTime, Users: c.users, Tokens: c.tokens})
					figures.add(fmt.Sprint(kind, c.users), end.each(processorTime(b, c.server)-before))
				}
			}
		}
		t := &table{name: "Users", columns: []string{"ms of server CPU, median (least to most)", "1,000 users", "200,000 users", "more"}}
		for _, kind := range []string{loadRefresh, loadSignIn} {
			few, all := fmt.Sprint(kind, fewUsers), fmt.Sprint(kind, allUsers)
			more := 100 * (figures.ratio(all, few) - 1)
			t.hold(fmt.Sprintf("%d %%", usersApart), more <= usersApart, kind, figures.spread(few, "%.4f"), figures.spread(all, "%.4f"), fmt.Sprintf("%+.1f %%", more))
			t.keep(kind+", 200,000 over 1,000 users", figures.ratio(all, few))
		}
		disturbance.tell(b, t)
		t.note("%d rounds of %v each, in turn; %d clients. More: the median of what each round says.", userRounds, roundTime, manyClients)
		t.tell(b)
	}
}

// crowd is a service with many users.
type crowd struct {
	server *instance.Server
	users  int
	tokens string
}

func newCrowd(b *testing.B, users int) *crowd {
	b.Helper()
	server := instance.Start(b, instance.Options{})
	c := &crowd{users: users, tokens: filepath.Join(b.TempDir(), "tokens")}
	server.Admin(b, userSecret+"\n", "user", "create", "--org", instance.Org, "--email", "pattern@acme.example", "--role", "member", "--password-stdin")
	server.Stop(syscall.SIGTERM)
	if err := c.fill(b.Context(), server.DataDir); err != nil {
		b.Fatalf("make %d users: %v", users, err)
	}
	c.server = instance.Start(b, instance.Options{DataDir: server.DataDir, LogFile: filepath.Join(b.TempDir(), "log")})
	return c
}

// fill adds the users, who all have the hash of one password, and a session of each.
func (c *crowd) fill(ctx context.Context, dataDir string) error {
	db, err := store.Open(ctx, store.Options{DataDir: dataDir})
	if err != nil {
		return err
	}
	defer db.Close()
	var tokens strings.Builder
	for from := 0; from < c.users && err == nil; from += storeStep {
		err = db.InTx(ctx, func(tx *store.Tx) error { return fillStep(ctx, tx, from, min(from+storeStep, c.users), &tokens) })
	}
	if err != nil {
		return err
	}
	return os.WriteFile(c.tokens, []byte(tokens.String()), 0o600)
}

func fillStep(ctx context.Context, tx *store.Tx, from, to int, tokens *strings.Builder) error {
	mac, err := macKey(ctx, tx)
	if err != nil {
		return err
	}
	org, err := tx.OrgByName(ctx, strings.ToLower(instance.Org))
	if err != nil {
		return err
	}
	pattern, err := tx.UserByEmail(ctx, org.UID, "pattern@acme.example")
	for i := from; i < to && err == nil; i++ {
		user := pattern
		user.UID, user.Email, user.Canonical = uuid.NewString(), email(i), email(i)
		if err = tx.InsertUser(ctx, user); err == nil {
			err = beginSession(ctx, tx, mac, user, tokens)
		}
	}
	return err
}
