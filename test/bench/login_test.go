package bench

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	signers    = 32
	attackers  = 64
	quietTime  = 10 * time.Second
	stormTime  = 15 * time.Second
	hashMiB    = 19 // of argon2id as the service uses it
	aroundMiB  = 60 // what the service may hold beside its hashes
	beatLimit  = 10 * time.Millisecond
	beatTimes  = 5
	ofHashes   = 80 // percent of the machine's hashes that must be sign-ins
	userSecret = "nine herons by the weir"
)

// BenchmarkLogin lets 32 clients sign in, then 64 try wrong passwords on many accounts, beside token-checked
// GETs at a fixed rate: a storm of sign-ins must cost nobody else anything.
func BenchmarkLogin(b *testing.B) {
	for range b.N {
		server := instance.Start(b, instance.Options{})
		l := &logins{b: b, server: server, caller: newCaller(b, server, &http.Transport{}), authorization: server.Client(b).SignIn().Authorization, bare: bareCaller(b)}
		l.makeUsers()
		t := &table{name: "Login storm", columns: []string{"", "figure", "statuses"}}
		slots := runtime.NumCPU() // the service's own default
		limit := (slots*hashMiB + aroundMiB) << 10

		limits, hashes := startLimits(b), series{}
		measureHashes(limits, hashes)
		quiet, _ := l.beside(quietTime, func(context.Context) {})
		forgetPeak(b, server)
		var good, wrong statuses
		signing, bad := l.beside(stormTime, func(ctx context.Context) { l.many(ctx, signers, &good, l.right) })
		var honest time.Duration
		attacked, bad2 := l.beside(stormTime, func(ctx context.Context) {
			var all sync.WaitGroup
			all.Go(func() { l.many(ctx, attackers, &wrong, l.wrong) })
			time.Sleep(stormTime / 3)
			honest = l.honest()
			all.Wait()
		})
		peak := peakKiB(b, server)
		measureHashes(limits, hashes)

		p99 := percentile(quiet, 99)
		t.add("alerts quiet, p50 and p99", milli(percentile(quiet, 50))+", "+milli(p99))
		within := min(beatLimit, beatTimes*p99)
		for i, took := range [][]time.Duration{signing, attacked} {
			name := []string{fmt.Sprintf("alerts beside %d clients signing in, p50 and p99", signers), fmt.Sprintf("alerts beside %d wrong passwords, p50 and p99", attackers)}[i]
			now := percentile(took, 99)
			t.hold(fmt.Sprintf("%s (%d × quiet, %v at most)", milli(within), beatTimes, beatLimit), now <= within,
				name, fmt.Sprintf("%s, %s (%.1f ×)", milli(percentile(took, 50)), milli(now), float64(now)/float64(p99)))
		}
		t.add("a bare net/http server meanwhile, p99: quiet and beside each", fmt.Sprintf("%s, %s, %s",
			milli(percentile(l.machine[0], 99)), milli(percentile(l.machine[1], 99)), milli(percentile(l.machine[2], 99))))
		t.hold("0", bad+bad2 == 0, "alerts not answered 200", strconv.Itoa(bad+bad2))
		l.tellStored(t)
		rate := float64(good.of(http.StatusOK)) / stormTime.Seconds()
		part := 100 * rate / hashes.median(figureHash)
		t.add(figurePlain, hashes.spread(figurePlain, "%.1f"))
		t.add(figureHash, hashes.spread(figureHash, "%.1f"))
		t.hold(fmt.Sprintf("%d %%", ofHashes), part >= ofHashes, "sign-ins", fmt.Sprintf("%.1f a second (%.0f %% of regwarden's hashes)", rate, part), good.String())
		t.add("wrong passwords", fmt.Sprintf("%.0f a second", float64(wrong.all())/stormTime.Seconds()), wrong.String())
		t.hold("0", wrong.of(0) == 0 && wrong.of(http.StatusOK) == 0, "wrong passwords let in or not answered", strconv.Itoa(wrong.of(0)+wrong.of(http.StatusOK)))
		t.hold("10 s", honest > 0 && honest < 10*time.Second, "the owner of an attacked account signs in after", milli(honest))
		t.hold(mib(limit), peak <= limit, "peak memory", mib(peak))
		t.note("At a fixed rate of %d a second each, GET %s and GET %s are measured from the moment they were meant to leave; each part takes %v.", beatsPerSecond, pathAlerts, pathProjects, stormTime)
		t.note("Memory: %d hash slots of %d MiB, and %d MiB.", slots, hashMiB, aroundMiB)
		t.tell(b)
	}
}

type logins struct {
	b             *testing.B
	server        *instance.Server
	caller        *caller
	authorization string
	bare          *caller
	machine       [][]time.Duration // of bare, for each part
	stored        [][]time.Duration // of GETs that read the store, for each part
	storedBad     int
}

func email(i int) string { return fmt.Sprintf("user%d@acme.example", i) }

func (l *logins) makeUsers() {
	for i := range signers {
		l.server.Admin(l.b, userSecret+"\n", "user", "create", "--org", instance.Org, "--email", email(i), "--role", "member", "--password-stdin")
	}
}

// measureHashes is done before and after the storms: what sign-ins are held against is the service's own hash.
func measureHashes(limits *machineLimits, to series) {
	for _, hash := range []struct{ figure, what string }{{figurePlain, limitPlain}, {figureHash, limitHash}} {
		to.add(hash.figure, limits.measure(hash.what, roundTime).PerSecond)
	}
}

func (l *logins) tellStored(t *table) {
	var all []string
	for _, took := range l.stored {
		all = append(all, milli(percentile(took, 50))+", "+milli(percentile(took, 99)))
	}
	t.add("projects, which are read from the store, p50 and p99: quiet and beside each", strings.Join(all, "; "))
	t.hold("0", l.storedBad == 0, "projects not answered 200", strconv.Itoa(l.storedBad))
}

// beside does something for that long beside the beats.
func (l *logins) beside(long time.Duration, do func(context.Context)) (took []time.Duration, bad int) {
	ctx, cancel := context.WithTimeout(l.b.Context(), long)
	defer cancel()
	gets := newCaller(l.b, l.server, &http.Transport{})
	beat, bare := startBeat(l.b, gets, l.authorization), startBeat(l.b, l.bare, "")
	projects := startBeatOf(l.b, gets, pathProjects, l.authorization, beatsPerSecond)
	do(ctx)
	<-ctx.Done()
	took, bad = beat.stop()
	machine, _ := bare.stop()
	stored, storedBad := projects.stop()
	l.machine, l.stored, l.storedBad = append(l.machine, machine), append(l.stored, stored), l.storedBad+storedBad
	gets.http.CloseIdleConnections()
	return took, bad
}

// many clients sign in again and again until ctx ends. What is under way then is let end, and not counted.
func (l *logins) many(ctx context.Context, clients int, to *statuses, body func(client int) string) {
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				status, _, _ := l.caller.send(context.WithoutCancel(ctx), http.MethodPost, pathSignIn, body(i), "")
				if ctx.Err() == nil {
					to.count(status)
				}
				if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
					time.Sleep(20 * time.Millisecond) // an attacker does not wait as long as the answer says
				}
			}
		})
	}
	all.Wait()
}

func (l *logins) right(client int) string {
	return instance.Credentials(email(client), instance.Org, userSecret)
}

// wrong aims at accounts that are there and at many more that are not.
func (l *logins) wrong(int) string {
	return instance.Credentials(email(rand.IntN(10*signers)), instance.Org, "wrong "+strconv.Itoa(rand.Int()))
}

// honest signs the owner of an attacked account in, from an address of its own, and tells how long it took.
// It tries again as answers tell it to.
func (l *logins) honest() time.Duration {
	own := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	c := newCaller(l.b, l.server, &http.Transport{DialContext: own.DialContext})
	began := time.Now()
	for time.Since(began) < stormTime {
		status, _, header := c.send(l.b.Context(), http.MethodPost, pathSignIn, l.right(0), "")
		if status == http.StatusOK {
			return time.Since(began)
		}
		seconds, _ := strconv.Atoi(header.Get("Retry-After")) // 0 where there is none
		time.Sleep(time.Duration(max(seconds, 1)) * time.Second)
	}
	return 0
}

// statuses counts answers.
type statuses struct {
	mu  sync.Mutex
	how map[int]int
}

func (s *statuses) count(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.how == nil {
		s.how = map[int]int{}
	}
	s.how[status]++
}

func (s *statuses) of(status int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.how[status]
}

func (s *statuses) all() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.how {
		n += one
	}
	return n
}

func (s *statuses) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, status := range slices.Sorted(maps.Keys(s.how)) {
		all = append(all, fmt.Sprintf("%d × %d", s.how[status], status))
	}
	return strings.Join(all, ", ")
}
