package bench

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	rounds      = 7 // of each figure, in turn
	roundTime   = 2 * time.Second
	manyClients = 32
	latencyTime = 10 * time.Second // at a fixed rate
	getsASecond = 1000
	refreshes   = 500 // a second, at a fixed rate

	getMilli        = 0.04 // of server CPU
	getOfBare       = 60   // percent
	refreshMilli    = 0.25
	refreshOfRows   = 40 // percent
	figureGet       = "token-checked GET, a second"
	figureGetCPU    = "token-checked GET, ms of server CPU"
	figureBare      = "bare net/http handler, a second"
	figureBareCPU   = "bare net/http handler, ms of server CPU"
	figureRow       = "SQLite, one row and one commit, a second"
	figureRows      = "SQLite, 32 rows and one commit, rows a second"
	figureRefresh   = "refresh, a second"
	figureRefreshMS = "refresh, ms of server CPU"
)

// BenchmarkSpeed measures what is asked for most: requests with a token, and refreshes, beside what the machine can do.
func BenchmarkSpeed(b *testing.B) {
	for range b.N {
		server := instance.Start(b, instance.Options{LogFile: filepath.Join(b.TempDir(), "log")})
		s := &speed{b: b, server: server, clients: startClients(b), limits: startLimits(b), figures: series{},
			authorization: server.Client(b).SignIn().Authorization, tokens: refreshTokens(b, store.Options{DataDir: server.DataDir}, manyClients)}
		bare, err := startBare(b)
		if err != nil {
			b.Fatal(err)
		}
		t := &table{name: "Speed", columns: []string{"", "median (least to most)", "of the limit"}}
		disturbance := watchOthers()
		for range rounds {
			s.bare(bare)
			s.get()
			s.row()
			s.refresh()
		}
		s.tell(t)
		s.latencies(t)
		disturbance.tell(b, t)
		t.note("%d clients, %d rounds of %v each, in turn; the generator takes %.4f ms of processor time for a GET.", manyClients, rounds, roundTime, s.figures.median("generator"))
		t.tell(b)
	}
}

type speed struct {
	b             *testing.B
	server        *instance.Server
	clients       *clients
	limits        *machineLimits
	figures       series
	authorization string
	tokens        string
}

// bareServer is one that does nothing but answer.
type bareServer struct {
	url string
	pid int
}

func startBare(b *testing.B) (bareServer, error) {
	b.Helper()
	p := startPart(b, partBare)
	url, err := p.ask("")
	return bareServer{url, p.cmd.Process.Pid}, err
}

func (s *speed) bare(bare bareServer) {
	before, _ := readProcess(bare.pid)
	end := s.clients.put(workload{URLs: []string{bare.url}, Kind: loadGet, Clients: manyClients, For: roundTime, Authorization: s.authorization})
	after, _ := readProcess(bare.pid)
	s.figures.add(figureBare, end.rate())
	s.figures.add(figureBareCPU, end.each(after.used-before.used))
	s.figures.add("generator", end.each(end.Processor))
}

func (s *speed) row() {
	s.figures.add(figureRow, s.limits.measure(limitRow, roundTime/2).PerSecond)
	s.figures.add(figureRows, s.limits.measure(limitRows, roundTime/2).PerSecond)
}

func (s *speed) get() {
	s.put(figureGet, figureGetCPU, workload{Kind: loadGet, Authorization: s.authorization})
}

func (s *speed) refresh() {
	s.put(figureRefresh, figureRefreshMS, workload{Kind: loadRefresh, Tokens: s.tokens})
}

func (s *speed) put(rate, milli string, w workload) {
	w.URLs, w.Clients, w.For = []string{s.server.URL}, manyClients, roundTime
	before := processorTime(s.b, s.server)
	end := s.clients.put(w)
	s.figures.add(rate, end.rate())
	s.figures.add(milli, end.each(processorTime(s.b, s.server)-before))
}

func (s *speed) tell(t *table) {
	f := s.figures
	t.add(figureBare, f.spread(figureBare, "%.0f"))
	t.add(figureBareCPU, f.spread(figureBareCPU, "%.4f"))
	ofBare, ofRows := 100*f.ratio(figureGet, figureBare), 100*f.ratio(figureRefresh, figureRow)
	t.hold(fmt.Sprintf("%d %%", getOfBare), ofBare >= getOfBare, figureGet, f.spread(figureGet, "%.0f"), fmt.Sprintf("%.0f %%", ofBare))
	// The generator has its part of the processors in both rates, and hides what the service costs more than the handler.
	t.add("bare handler's CPU over a GET's", "", fmt.Sprintf("%.0f %%", 100*f.ratio(figureBareCPU, figureGetCPU)))
	t.hold(fmt.Sprintf("%.3f", getMilli), f.median(figureGetCPU) <= getMilli, figureGetCPU, f.spread(figureGetCPU, "%.4f"))
	t.add(figureRow, f.spread(figureRow, "%.0f"))
	t.add(figureRows, f.spread(figureRows, "%.0f"))
	t.hold(fmt.Sprintf("%d %%", refreshOfRows), ofRows >= refreshOfRows, figureRefresh, f.spread(figureRefresh, "%.0f"), fmt.Sprintf("%.0f %%", ofRows))
	t.hold(fmt.Sprintf("%.3f", refreshMilli), f.median(figureRefreshMS) <= refreshMilli, figureRefreshMS, f.spread(figureRefreshMS, "%.4f"))
	for _, name := range []string{figureBare, figureGet, figureGetCPU, figureRow, figureRefresh, figureRefreshMS} {
		t.keep(name, f.median(name))
	}
}

// latencies at a fixed rate, and what the machine does by itself.
func (s *speed) latencies(t *table) {
	one := workload{URLs: []string{s.server.URL}, Clients: manyClients, For: latencyTime}
	get, refresh := one, one
	get.Kind, get.Authorization, get.PerSecond = loadGet, s.authorization, getsASecond
	refresh.Kind, refresh.Tokens, refresh.PerSecond = loadRefresh, s.tokens, refreshes
	for _, w := range []workload{get, refresh} {
		end := s.clients.put(w)
		t.add(fmt.Sprintf("%s, %d a second: p50, p99, p99.9", w.Kind, w.PerSecond), fmt.Sprintf("%.2f, %.2f, %.2f ms", ms(end.P50), ms(end.P99), ms(end.P999)))
	}
	t.add("a byte there and back on loopback", fmt.Sprintf("%.4f ms", 1000/s.limits.measure(limitEcho, roundTime).PerSecond))
	for _, what := range []string{limitSign, limitVerify} {
		t.add("Ed25519, "+what, fmt.Sprintf("%.4f ms", s.limits.measure(what, roundTime/2).milli()))
	}
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// refreshTokens begins sessions of the administrator in a store, without a sign-in each, and returns a file of their
// tokens. They are made as the service makes them, with its own key.
func refreshTokens(b *testing.B, o store.Options, sessions int) string {
	b.Helper()
	ctx := context.Background()
	db, err := store.Open(ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var text strings.Builder
	for from := 0; from < sessions && err == nil; from += 1000 {
		err = db.InTx(ctx, func(tx *store.Tx) error { return beginSessions(ctx, tx, min(1000, sessions-from), &text) })
	}
	path := filepath.Join(b.TempDir(), "tokens")
	if err == nil {
		err = os.WriteFile(path, []byte(text.String()), 0o600)
	}
	if err != nil {
		b.Fatalf("begin sessions: %v", err)
	}
	return path
}

func beginSessions(ctx context.Context, tx *store.Tx, count int, to *strings.Builder) error {
	mac, err := macKey(ctx, tx)
	if err != nil {
		return err
	}
	org, err := tx.OrgByName(ctx, strings.ToLower(instance.Org))
	if err != nil {
		return err
	}
	user, err := tx.UserByEmail(ctx, org.UID, instance.Email)
	for n := 0; n < count && err == nil; n++ {
		err = beginSession(ctx, tx, mac, user, to)
	}
	return err
}

// macKey is what the service makes refresh tokens with.
func macKey(ctx context.Context, tx *store.Tx) ([]byte, error) {
	keys, err := tx.ServiceKeys(ctx)
	for _, key := range keys {
		if key.Purpose == store.KeyMAC && key.RetiredAt.IsZero() {
			return key.Secret, nil
		}
	}
	return nil, errors.Join(err, errors.New("the store has no key of that purpose"))
}

func beginSession(ctx context.Context, tx *store.Tx, mac []byte, user store.User, to *strings.Builder) error {
	uid, now := uuid.New(), time.Now()
	fmt.Fprintln(to, refreshToken(mac, uid, 1))
	return tx.InsertSession(ctx, store.Session{UID: uid.String(), OrgUID: user.OrgUID, UserUID: user.UID, Generation: 1, Address: "127.0.0.1",
		CreatedAt: now, IdleUntil: now.Add(sessionsFor), MaxUntil: now.Add(sessionsFor)})
}

// refreshToken is internal/auth's refreshToken.
func refreshToken(key []byte, session uuid.UUID, generation uint64) string {
	body := binary.BigEndian.AppendUint64(append([]byte{}, session[:]...), generation)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("regwarden refresh token v1\x00"))
	mac.Write(body)
	return "rt_" + base64.RawURLEncoding.EncodeToString(mac.Sum(body))
}
