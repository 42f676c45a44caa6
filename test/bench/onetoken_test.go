package bench

import (
	"encoding/base64"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/test/instance"
)

const oneTokenTime = 60 * time.Second

// BenchmarkOneToken has 32 clients share one session. All present its newest refresh token at the same moment, and one of
// them loses its answer and asks again; the token that they are given is presented next. No rotation may be lost, and
// none happen twice.
func BenchmarkOneToken(b *testing.B) {
	for range b.N {
		server := instance.Start(b, instance.Options{LogFile: filepath.Join(b.TempDir(), "log")})
		tokens := refreshTokens(b, store.Options{DataDir: server.DataDir}, 1)
		disturbance := watchOthers()
		end := startClients(b).try(workload{URLs: []string{server.URL}, Kind: loadOne, Clients: manyClients, For: oneTokenTime, Tokens: tokens})
		session := storedSession(b, server.DataDir, end.Token)
		lost := int64(end.Rotations) - (session.Generation - 1)
		t := &table{name: "One token", columns: []string{"", "figure"}}
		t.add(fmt.Sprintf("rotations in %v, each asked for by %d clients", oneTokenTime, manyClients), fmt.Sprint(end.Rotations))
		t.add("answers", fmt.Sprint(end.Done))
		t.hold("0", lost == 0, "rotations that the clients know of and the store does not, or the other way round", fmt.Sprint(lost))
		t.hold("0", end.Doubled == 0, "tokens that were given two successors", fmt.Sprint(end.Doubled))
		t.hold("0", end.Bad == 0, "answers that were not good", strings.TrimSpace(fmt.Sprint(end.Bad, " ", end.First)))
		t.hold("true", session.EndedAt.IsZero(), "the session lives", fmt.Sprint(session.EndedAt.IsZero()))
		disturbance.tell(b, t)
		t.keep("rotations", float64(end.Rotations))
		t.tell(b)
	}
}

// oneToken lets all clients spend one token at once, and then the next, until an answer is not good.
func oneToken(clients []*rawClient, token string, long time.Duration) (end loadEnd, err error) {
	var mu sync.Mutex
	for began := time.Now(); time.Since(began) < long && end.Bad == 0; {
		next := map[string]bool{}
		var all sync.WaitGroup
		for i, c := range clients {
			all.Go(func() {
				given, err := c.spend(token, i == end.Rotations%len(clients))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					end.Bad, end.First = end.Bad+1, err.Error()
					return
				}
				end.Done++
				next[given] = true
			})
		}
		all.Wait()
		if len(next) > 0 {
			end.Rotations++
		}
		if len(next) > 1 {
			end.Doubled++
		}
		for token = range next {
		}
	}
	end.Token = token
	return end, nil
}

// spend presents a refresh token and returns its successor. One whose answer is lost asks again on another connection.
func (c *rawClient) spend(token string, lost bool) (next string, err error) {
	c.request = fmt.Appendf(c.request[:0], "GET %s%s HTTP/1.1\r\nHost: %s\r\n\r\n", pathRefresh, token, c.host)
	if lost {
		_, _ = c.conn.Write(c.request)
		_ = c.conn.Close()
		if c.conn, err = net.Dial("tcp", c.host); err != nil {
			return "", err
		}
	}
	body, err := c.exchange()
	if err != nil {
		return "", err
	}
	return tokenIn(body)
}

// storedSession is what the store has of a refresh token's session.
func storedSession(b *testing.B, dataDir, token string) store.Session {
	b.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "rt_"))
	if err != nil || len(raw) < 16 {
		b.Fatalf("read a refresh token: %v", err)
	}
	db, err := store.Open(b.Context(), store.Options{DataDir: dataDir})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var session store.Session
	err = db.View(b.Context(), func(tx *store.Tx) (err error) {
		session, err = tx.Session(b.Context(), uuid.UUID(raw[:16]).String())
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return session
}
