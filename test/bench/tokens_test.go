package bench

import (
	"crypto/ed25519"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	manyOfOneToken = 90 // percent of the rate with one token
	tokensMiB      = 20
	allSessionsSQL = `SELECT uid FROM sessions WHERE max_until > $1`
)

var liveTokenCount = flag.Int("tokens", 1_000_000, "how many live tokens BenchmarkTokens uses")

// liveTokens are tokens of many sessions, as the service issues them to one. A text is put together when it is sent: all of them would be
// 700 MB in this process.
type liveTokens struct {
	header, payload    string // of a token of the service
	user, session, jti string // in the payload
	users              []string
	signatures         [][ed25519.SignatureSize]byte
}

// newLiveTokens signs so many tokens for the sessions in a store, like the given one.
func newLiveTokens(b *testing.B, token string, key ed25519.PrivateKey, sessions []string, count int) *liveTokens {
	b.Helper()
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	noError(b, err)
	var claims struct{ Sub, Sid, JTI string }
	noError(b, json.Unmarshal(payload, &claims))
	l := &liveTokens{header: parts[0], payload: string(payload), user: claims.Sub, session: claims.Sid, jti: claims.JTI, users: sessions,
		signatures: make([][ed25519.SignatureSize]byte, count)}
	var signing sync.WaitGroup
	for part := range 2 {
		signing.Go(func() {
			for i := part; i < count; i += 2 {
				copy(l.signatures[i][:], ed25519.Sign(key, []byte(l.signed(i))))
			}
		})
	}
	signing.Wait()
	return l
}

// signed is what the signature of a token is of. The copied users have their uids as those of their sessions.
func (l *liveTokens) signed(i int) string {
	uid := l.users[i%len(l.users)]
	payload := strings.Replace(strings.Replace(l.payload, l.user, uid, 1), l.session, uid, 1)
	payload = strings.Replace(payload, l.jti, fmt.Sprintf("%08x%s", i, l.jti[8:]), 1)
	return l.header + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
}

func (l *liveTokens) text(i int) string {
	return l.signed(i) + "." + base64.RawURLEncoding.EncodeToString(l.signatures[i][:])
}

// gets returns a function that sends a GET with one of the first tokens, drawn each time.
func (l *liveTokens) gets(c *client, among int) func(int) error {
	return func(int) error { return c.get(pathAlerts, l.text(rand.IntN(among)))(0) }
}

// useAll sends a GET with each token.
func (l *liveTokens) useAll(b *testing.B, c *client) {
	b.Helper()
	var mu sync.Mutex
	next := 0
	take := func() (i int) {
		mu.Lock()
		defer mu.Unlock()
		i, next = next, next+1
		return i
	}
	var all sync.WaitGroup
	for range manyClients {
		all.Go(func() {
			for i := take(); i < len(l.signatures); i = take() {
				if err := c.get(pathAlerts, l.text(i))(0); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// signingKey is the key of the service for authorization tokens.
func signingKey(b *testing.B, dataDir string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(serviceKey(b, dataDir, store.KeySign))
}

func allSessions(b *testing.B, db *sql.DB) (uids []string) {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), allSessionsSQL, time.Now().UnixMilli())
	noError(b, err)
	defer rows.Close()
	for rows.Next() {
		var uid string
		noError(b, rows.Scan(&uid))
		uids = append(uids, uid)
	}
	noError(b, rows.Err())
	return uids
}

// BenchmarkTokens compares GETs with a million live tokens of 200,000 sessions, drawn from all of them each time, with those with one
// token, and measures how much more memory the service has then.
func BenchmarkTokens(b *testing.B) {
	figures, r := samples{}, &report{b: b}
	programs := map[string]string{"": ""}
	if *oldBinary != "" {
		programs[oldPrefix] = *oldBinary
	}
	for prefix, program := range programs {
		tomorrow := time.Now().Add(24 * time.Hour)
		dir, db := storeWithUsers(b, min(allUsers, *liveTokenCount), tomorrow, tomorrow)
		sessions := allSessions(b, db)
		noError(b, db.Close())
		key := signingKey(b, dir)
		var flags []string
		if program != "" {
			flags = []string{"--allow-newer-database"}
		}
		server := start(b, instance.Options{DataDir: dir, Program: program, Flags: flags})
		c, tokens := newClient(b, server.URL), newLiveTokens(b, server.Client(b).Login().Authorization, key, sessions, *liveTokenCount)
		one, many := tokens.gets(c, 1), tokens.gets(c, *liveTokenCount)
		figures.measure(b, "warm", manyClients, cpuOf(server.PID()), one)
		before := memoryMiB(server, "VmRSS")
		tokens.useAll(b, c)
		for range *rounds {
			figures.measure(b, prefix+"one", manyClients, cpuOf(server.PID()), one)
			figures.measure(b, prefix+"many", manyClients, cpuOf(server.PID()), many)
		}
		figures.add(prefix+"MiB", memoryMiB(server, "VmRSS")-before)
		server.Stop(syscall.SIGTERM)
	}
	for prefix := range programs {
		row := func(kind string) []metric {
			return []metric{figure(figures.median(prefix+kind+" /s"), "req/s"), figure(figures.median(prefix+kind+" cpu-ms"), "cpu-ms/req")}
		}
		r.row(prefix+"get_with_one_token", row("one")...)
		r.row(prefix+"get_with_all_tokens",
			append(row("many"), atLeast(figures.percent(prefix+"many /s", prefix+"one /s"), "%-of-one-token", manyOfOneToken),
				atMost(figures.median(prefix+"MiB"), "added-MiB", tokensMiB))...)
	}
	r.end()
}
