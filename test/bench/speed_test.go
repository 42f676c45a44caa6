package bench

import (
	"context"
	"encoding/base64"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	getsOfBare    = 60 // percent of the rate of a net/http handler that does nothing
	getMS         = 0.04
	refreshOfRows = 40 // percent of the rate of updates of one row
	refreshMS     = 0.25
	benchRows     = 1000
)

// BenchmarkSpeed measures the most frequent requests, token-checked GETs and refreshes, next to what the machine can do.
func BenchmarkSpeed(b *testing.B) {
	bare, update, figures, r := startChild(b, false, "bare"), updateRow(b), samples{}, &report{b: b}
	targets, bareClient := startTargets(b), newClient(b, bare.line)
	gets, refresh := map[string]func(int) error{}, map[string]func(int) error{}
	for _, t := range targets {
		gets[t.prefix] = newClient(b, t.URL).get(pathAlerts, t.Client(b).Login().Authorization)
		refresh[t.prefix] = refreshes(loginTokens(b, t.Server, manyClients), manyClients, newClient(b, t.URL))
	}
	for range *rounds {
		figures.measure(b, "bare", manyClients, cpuOf(bare.cmd.Process.Pid), bareClient.get(pathAlerts, "Bearer of nothing"))
		figures.measure(b, "row", 1, ownCPU, update)
		for _, t := range targets {
			figures.measure(b, t.prefix+"get", manyClients, cpuOf(t.PID()), gets[t.prefix])
			figures.measure(b, t.prefix+"refresh", manyClients, cpuOf(t.PID()), refresh[t.prefix])
		}
	}
	r.row("bare_handler", figure(figures.median("bare /s"), "req/s"), figure(figures.median("bare cpu-ms"), "cpu-ms/req"))
	r.row("sqlite_one_row", figure(figures.median("row /s"), "commits/s"))
	for _, t := range targets {
		get, refresh := t.prefix+"get", t.prefix+"refresh"
		r.row(get, append(figures.againstOld(get, "/s", "cpu-ms"), figure(figures.median(get+" /s"), "req/s"),
			atLeast(figures.percent(get+" /s", "bare /s"), "%-of-bare-handler", getsOfBare),
			atMost(figures.median(get+" cpu-ms"), "cpu-ms/req", getMS))...)
		r.row(refresh, append(figures.againstOld(refresh, "/s", "cpu-ms"), figure(figures.median(refresh+" /s"), "req/s"),
			atLeast(figures.percent(refresh+" /s", "row /s"), "%-of-one-row", refreshOfRows),
			atMost(figures.median(refresh+" cpu-ms"), "cpu-ms/req", refreshMS))...)
	}
	r.end()
}

// updateRow returns the update of one row of one table in SQLite, set as the service sets it; each is a commit of its own.
func updateRow(b *testing.B) func(int) error {
	db := openSQLite(b, b.TempDir(), "_synchronous=FULL")
	execSQL(b, db, "CREATE TABLE rows (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
	execSQL(b, db, "INSERT INTO rows WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < $1 - 1) SELECT i, 0 FROM i",
		benchRows)
	one, err := db.Prepare("UPDATE rows SET n = n + 1 WHERE id = $1")
	noError(b, err)
	n := 0
	return func(int) error {
		n++
		_, err := one.Exec(n * 7 % benchRows)
		return err
	}
}

// loginTokens begins sessions of the administrator and returns their refresh tokens.
func loginTokens(b *testing.B, server *instance.Server, sessions int) (tokens []string) {
	b.Helper()
	c := newClient(b, server.URL)
	for range sessions {
		r, err := c.login(instance.Email, instance.Org, instance.Password)
		noError(b, err)
		token, err := r.refreshToken()
		noError(b, err)
		tokens = append(tokens, token)
	}
	return tokens
}

// BenchmarkOneToken has 32 clients share one session. All present its newest refresh token at the same moment, and one of
// them loses the response and retries. All must get the same successor, and the store must count as many rotations as the clients.
func BenchmarkOneToken(b *testing.B) {
	server, r := start(b, instance.Options{}), &report{b: b}
	var clients []*client
	for range manyClients {
		clients = append(clients, newClient(b, server.URL))
	}
	token, rotations, forks, failed := loginTokens(b, server, 1)[0], 0.0, 0.0, 0.0
	for began := time.Now(); time.Since(began) < 30**roundTime && failed == 0; rotations++ {
		var successors tally
		failed += present(b, clients, token, int(rotations)%manyClients, &successors)
		forks += float64(len(successors.seen) - 1)
		for token = range successors.seen {
		}
	}
	var generation, ended float64
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "rt_"))
	noError(b, err)
	noError(b, openSQLite(b, server.DataDir, "mode=ro").QueryRow("SELECT generation, ended_at IS NOT NULL FROM sessions WHERE uid = $1",
		uuid.UUID(raw[:16]).String()).Scan(&generation, &ended))
	r.row("rotations", figure(rotations, "rotations"), atMost(failed, "failed", 0), atMost(forks, "second-successors", 0),
		atMost(ended, "sessions-ended", 0),
		metric{rotations - (generation - 1), "lost-rotations", 0, 0})
	r.end()
}

// present has all clients present the token at once and returns how many failed. One of them loses its first response.
func present(b *testing.B, clients []*client, token string, loser int, successors *tally) (failed float64) {
	var failures tally
	closedLoop(b, len(clients), 0, func(i int) error {
		if i == loser {
			clients[i].loseResponse(token)
		}
		successor, err := clients[i].refresh(context.Background(), token)
		if err != nil {
			failures.count("failed")
			b.Log(err)
			return nil
		}
		successors.count(successor)
		return nil
	})
	return failures.seen["failed"]
}

// loseResponse sends a refresh and closes the connection once the request is written.
func (c *client) loseResponse(token string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, _ = c.refresh(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { cancel() }}),
		token)
}
