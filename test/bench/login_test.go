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
	signers     = 32
	attackers   = 64
	loginRounds = 5
	stormTime   = 8 * time.Second // of a part
	hashMiB     = 19              // of argon2id as the service uses it
	aroundMiB   = 70              // what the service and its hashing process may hold beside the hashes
	beatLimit   = 10 * time.Millisecond
	beatTimes   = 5
	ofHashes    = 75 // percent of the machine's hashes that must be sign-ins
	userSecret  = "nine herons by the weir"
)

// BenchmarkLogin lets 32 clients sign in, then 64 try wrong passwords on many accounts, beside token-checked
// GETs at a fixed rate: a storm of sign-ins must cost nobody else anything.
func BenchmarkLogin(b *testing.B) {
	for range b.N {
		server := instance.Start(b, instance.Options{})
		l := &logins{b: b, server: server, caller: newCaller(b, server, &http.Transport{}), authorization: server.Client(b).SignIn().Authorization, bare: bareCaller(b), figures: series{}}
		l.makeUsers()
		t := &table{name: "Login storm", columns: []string{"", "figure", "statuses"}}
		slots := runtime.NumCPU() // the service's own default
		limit := (slots*hashMiB + aroundMiB) << 10

		limits, hashes := startLimits(b), series{}
		var good, wrong statuses
		var honest time.Duration // the longest
		for range loginRounds {
			measureHashes(limits, hashes)
			l.beside(quietly, func(context.Context) {})
			if good.all() == 0 {
				forgetPeak(b, server)
			}
			l.beside(besideSigners, func(ctx context.Context) { l.many(ctx, l.caller, signers, &good, l.right) })
			l.beside(besideAttackers, func(ctx context.Context) {
				var all sync.WaitGroup
				all.Go(func() { l.many(ctx, l.from(127, 0, 0, 3), attackers, &wrong, l.wrong) })
				time.Sleep(stormTime / 3)
				honest = max(honest, l.honest())
				all.Wait()
			})
		}
		peak := peakKiB(server)

		l.tellBeats(t)
		rate := float64(good.of(http.StatusOK)) / (loginRounds * stormTime.Seconds())
		part := 100 * rate / hashes.median(figurePlain)
		t.add(figurePlain, hashes.spread(figurePlain, "%.1f"))
		t.hold(fmt.Sprintf("%d %%", ofHashes), part >= ofHashes, "sign-ins", fmt.Sprintf("%.1f a second (%.0f %% of the hashes)", rate, part), good.String())
		t.add("wrong passwords", fmt.Sprintf("%.0f a second", float64(wrong.all())/(loginRounds*stormTime.Seconds())), wrong.String())
		t.hold("0", wrong.of(0) == 0 && wrong.of(http.StatusOK) == 0, "wrong passwords let in or not answered", strconv.Itoa(wrong.of(0)+wrong.of(http.StatusOK)))
		t.hold("10 s", honest < 10*time.Second, "the owner of an attacked account signs in after, at most", milli(honest))
		t.hold(mib(limit), peak <= limit, "peak memory", mib(peak))
		t.note("At a fixed rate of %d a second each, GET %s and GET %s are measured from the moment they were meant to leave; %d rounds of %v for each part.", beatsPerSecond, pathAlerts, pathProjects, loginRounds, stormTime)
		t.note("Memory: %d hash slots of %d MiB, and %d MiB.", slots, hashMiB, aroundMiB)
		t.tell(b)
	}
}

// What the beats are beside, and what they ask.
const (
	quietly         = "quiet"
	besideSigners   = "beside 32 clients signing in"
	besideAttackers = "beside 64 wrong passwords"
	askAlerts       = "alerts"
	askProjects     = "projects, which are read from the store"
	askBare         = "a bare net/http server"
)

// tellBeats tells the medians of what the rounds say.
func (l *logins) tellBeats(t *table) {
	f := l.figures
	p99 := f.median(askAlerts + quietly + "p99")
	within := min(ms(beatLimit), beatTimes*p99)
	for _, ask := range []string{askAlerts, askProjects, askBare} {
		for _, part := range []string{quietly, besideSigners, besideAttackers} {
			now := f.median(ask + part + "p99")
			cells := []string{ask + " " + part + ", ms: p50; p99", f.spread(ask+part+"p50", "%.1f") + "; " + f.spread(ask+part+"p99", "%.1f")}
			if ask == askAlerts && part != quietly {
				cells[1] += fmt.Sprintf("; %.1f × quiet", now/p99)
				t.hold(fmt.Sprintf("%.1f ms (%d × quiet, %v at most)", within, beatTimes, beatLimit), now <= within, cells...)
				continue
			}
			t.add(cells...)
		}
	}
	t.hold("0", l.bad == 0, "alerts and projects not answered 200", strconv.Itoa(l.bad))
}

type logins struct {
	b             *testing.B
	server        *instance.Server
	caller        *caller
	authorization string
	bare          *caller
	figures       series
	bad           int // beats that were not answered well
}

func email(i int) string { return fmt.Sprintf("user%d@acme.example", i) }

func (l *logins) makeUsers() {
	for i := range signers {
		l.server.Admin(l.b, userSecret+"\n", "user", "create", "--org", instance.Org, "--email", email(i), "--role", "member", "--password-stdin")
	}
}

// measureHashes is done before and after the storms: what sign-ins are held against is the service's own hash.
func measureHashes(limits *machineLimits, to series) {
	to.add(figurePlain, limits.measure(limitPlain, roundTime).PerSecond)
}

// beside does something beside the beats, for as long as a part takes.
func (l *logins) beside(part string, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(l.b.Context(), stormTime)
	defer cancel()
	gets := newCaller(l.b, l.server, &http.Transport{})
	beats := map[string]*beat{
		askAlerts:   startBeat(l.b, gets, l.authorization),
		askProjects: startBeatOf(l.b, gets, pathProjects, l.authorization, beatsPerSecond),
		askBare:     startBeat(l.b, l.bare, ""),
	}
	do(ctx)
	<-ctx.Done()
	for ask, one := range beats {
		took, bad := one.stop()
		l.figures.add(ask+part+"p50", ms(percentile(took, 50)))
		l.figures.add(ask+part+"p99", ms(percentile(took, 99)))
		l.bad += bad
	}
	gets.http.CloseIdleConnections()
}

// many clients sign in again and again until ctx ends. What is under way then is let end, and not counted.
func (l *logins) many(ctx context.Context, c *caller, clients int, to *statuses, body func(client int) string) {
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				status, _, _ := c.send(context.WithoutCancel(ctx), http.MethodPost, pathSignIn, body(i), "")
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

// from is a caller with an address of its own: failures are counted for each.
func (l *logins) from(a, b, c, d byte) *caller {
	own := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(a, b, c, d)}}
	return newCaller(l.b, l.server, &http.Transport{DialContext: own.DialContext, MaxIdleConnsPerHost: attackers})
}

// honest signs the owner of an attacked account in, from an address of its own, and tells how long it took.
// It tries again as answers tell it to.
func (l *logins) honest() time.Duration {
	c, began := l.from(127, 0, 0, 2), time.Now()
	for time.Since(began) < stormTime {
		status, _, header := c.send(l.b.Context(), http.MethodPost, pathSignIn, l.right(0), "")
		if status == http.StatusOK {
			return time.Since(began)
		}
		seconds, _ := strconv.Atoi(header.Get("Retry-After")) // 0 where there is none
		time.Sleep(time.Duration(max(seconds, 1)) * time.Second)
	}
	return stormTime * 2 // not at all
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
