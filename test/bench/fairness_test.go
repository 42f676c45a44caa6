package bench

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	attackTime     = 8 * time.Second
	attackPause    = 50 * time.Millisecond
	honestEvery    = 250 * time.Millisecond
	honestWithin   = 2 * time.Second
	honestSucceeds = 95 // percent
	otherOrg       = "Other"
)

// BenchmarkFairness lets users log in from one address while another address, or the administrator of another
// organization, keeps the hashing of passwords busy.
func BenchmarkFairness(b *testing.B) {
	for range b.N {
		t := &table{name: "Logins under attack", columns: []string{"attack", "honest logins within 2 s; p50; p99", "honest", "attacker"}}
		for _, a := range []attack{
			{name: "100 connections, wrong passwords", connections: 100, send: wrongLogins},
			{name: "200 connections, wrong passwords", connections: 200, send: wrongLogins},
			{name: "120 connections, POST /v1/users", connections: 120, send: newUsers},
			{name: "100 connections, wrong passwords, from the address of users who logged in before", connections: 100, send: wrongLogins, sameAddress: true},
		} {
			a.measure(b, t)
		}
		t.note("For %v each, an attacker pauses %v after each answer; an honest user logs in every %v and counts unless it is answered 200 within %v, at the first attempt.", attackTime, attackPause, honestEvery, honestWithin)
		t.note("Each honest login is another user's. It is the first one from its address, but in the last row.")
		t.tell(b)
	}
}

type attack struct {
	name        string
	connections int
	send        func(l *logins, c *caller, n int) int // returns the status
	sameAddress bool
}

func wrongLogins(l *logins, c *caller, n int) int {
	status, _, _ := c.send(l.b.Context(), http.MethodPost, pathSignIn, instance.Credentials(fmt.Sprintf("invented%d@acme.example", n), instance.Org, "wrong"), "")
	return status
}

func newUsers(l *logins, c *caller, n int) int {
	body := instance.JSON(map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"emailId": fmt.Sprintf("new%d@acme.example", n), "password": userSecret}})
	status, _, _ := c.send(l.b.Context(), http.MethodPost, "/v1/users", body, l.authorization)
	return status
}

func (a attack) measure(b *testing.B, t *table) {
	b.Helper()
	server := instance.Start(b, instance.Options{})
	l := &logins{b: b, server: server, authorization: server.Client(b).SignIn().Authorization}
	l.makeOtherUsers()
	honest, attacker := l.from(127, 0, 0, 2), l.from(127, 0, 0, 3)
	if a.sameAddress {
		attacker = l.from(127, 0, 0, 2)
		for i := range signers {
			if status, _, _ := honest.send(b.Context(), http.MethodPost, pathSignIn, otherLogin(i), ""); status != http.StatusOK {
				b.Fatalf("the first login of user %d is answered %d", i, status)
			}
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	var attacks, answers statuses
	var sent atomic.Int64
	var all sync.WaitGroup
	for range a.connections {
		all.Go(func() {
			for ctx.Err() == nil {
				attacks.count(a.send(l, attacker, int(sent.Add(1))))
				time.Sleep(attackPause)
			}
		})
	}
	time.Sleep(time.Second)
	took := honestLogins(honest, &answers)
	cancel()
	all.Wait()
	inTime := 0
	for _, one := range took {
		if one <= honestWithin {
			inTime++
		}
	}
	share := 100 * inTime / answers.all()
	cell := fmt.Sprintf("%d of %d (%d %%); none", inTime, answers.all(), share)
	if len(took) > 0 {
		cell = fmt.Sprintf("%d of %d (%d %%); %s; %s", inTime, answers.all(), share, milli(percentile(took, 50)), milli(percentile(took, 99)))
	}
	t.hold(strconv.Itoa(honestSucceeds)+" %", share >= honestSucceeds, a.name, cell, answers.String(), attacks.String())
	server.Kill()
}

// honestLogins returns how long those took that succeeded, sorted.
func honestLogins(c *caller, answers *statuses) (took []time.Duration) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range int(attackTime / honestEvery) {
		all.Go(func() {
			began := time.Now()
			status, _, _ := c.send(context.Background(), http.MethodPost, pathSignIn, otherLogin(i), "")
			answers.count(status)
			if status == http.StatusOK {
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(began))
			}
		})
		time.Sleep(honestEvery)
	}
	all.Wait()
	slices.Sort(took)
	return took
}

func (l *logins) makeOtherUsers() {
	l.server.Admin(l.b, "", "org", "create", otherOrg)
	for i := range signers {
		l.server.Admin(l.b, userSecret+"\n", "user", "create", "--org", otherOrg, "--email", email(i), "--role", "member", "--password-stdin")
	}
}

func otherLogin(i int) string { return instance.Credentials(email(i), otherOrg, userSecret) }
