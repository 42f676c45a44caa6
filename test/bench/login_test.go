package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	attackers     = 64
	otherMiB      = 70 // for everything except the hashes; 10 of it for the runtime of the child process
	delayedMS     = 10 // 99th percentile of other requests
	delayedTimes  = 5  // of the same without logins
	ownerSeconds  = 10
	attackPause   = 50 * time.Millisecond
	refusedPause  = 20 * time.Millisecond
	attackAddress = "127.0.0.3"
	userAddress   = "127.0.0.2"

	// Parts of a round.
	quiet       = "quiet"
	whileLogins = "during_logins"
	whileWrong  = "during_wrong_passwords"

	userRate     = 4 // logins a second
	userWithin   = 2 * time.Second
	userSucceeds = 95 // percent
	otherOrg     = "Other"

	users        = 32
	userPassword = "nine herons by the weir"
	hashMiB      = 19   // of argon2id as the service uses it
	ofHashes     = 75   // percent of the hashes that the machine makes, with isolation
	ofHashesNone = 95   // percent, without isolation
	overOneHash  = 1.03 // processor time of a login over that of a hash
	startSlackMS = 50
	idleMiB      = 25
	idleAfter    = 5 * time.Second
)

// BenchmarkLogin has 32 clients log in, then 64 try wrong passwords for many accounts, while other requests are sent at a
// fixed rate. Those must not be delayed.
func BenchmarkLogin(b *testing.B) {
	bare, figures, r := newClient(b, startChild(b, false, "bare").line), samples{}, &report{b: b}
	var bursts []*loginBurst
	for _, t := range startTargets(b) {
		createUsers(b, t.Server, instance.Org)
		bursts = append(bursts, &loginBurst{b: b, target: t, figures: figures, others: map[string]func(int) error{
			"alerts": newClient(b, t.URL).get(pathAlerts, t.Client(b).Login().Authorization),
			// Other connections, so that neither waits for the other.
			"projects": newClient(b, t.URL).get(pathProjects, t.Client(b).Login().Authorization), "bare_handler": bare.get(pathAlerts, ""),
		}})
	}
	for range *rounds {
		figures.measure(b, "hash", runtime.NumCPU(), ownCPU, hash)
		for _, l := range bursts {
			l.round()
		}
	}
	r.row("argon2id", figure(figures.median("hash /s"), "hashes/s"))
	for _, l := range bursts {
		l.report(r)
	}
	r.end()
}

type loginBurst struct {
	b *testing.B
	target
	figures samples
	others  map[string]func(int) error // what is requested at a fixed rate
	failed  float64                    // of those
	wrong   tally
}

func (l *loginBurst) round() {
	partTime := 4 * *roundTime
	l.during(quiet, func() { time.Sleep(partTime) })
	peak := watchPeak(l.b, l.Server)
	l.during(whileLogins, func() {
		_, rate := closedLoop(l.b, users, partTime, logins(newClient(l.b, l.URL), users))
		l.figures.add(l.prefix+"logins /s", rate)
	})
	l.during(whileWrong, func() {
		var attack sync.WaitGroup
		attack.Go(func() { closedLoop(l.b, attackers, partTime, l.wrongPassword(newClient(l.b, l.URL, attackAddress))) })
		time.Sleep(partTime / 3)
		l.figures.add(l.prefix+"owner s", l.ownerLogin().Seconds())
		attack.Wait()
	})
	l.figures.add(l.prefix+"memory MiB", peak())
}

// during does something while other requests are sent, and adds their latencies to the figures.
func (l *loginBurst) during(part string, do func()) {
	loops := map[string]*openLoop{}
	for name, other := range l.others {
		loops[name] = startOpenLoop(l.b, checksPerSecond, other)
	}
	do()
	for name, loop := range loops {
		took, failed := loop.stop()
		row := l.prefix + name + "/" + part
		l.figures.add(row+" p50-ms", percentile(took, 50))
		l.figures.add(row+" p99-ms", percentile(took, 99))
		l.failed += failed
	}
}

// wrongPassword tries accounts of which one in ten exists. The attacker does not wait as long as Retry-After says.
func (l *loginBurst) wrongPassword(c *client) func(int) error {
	return func(int) error {
		r, _ := c.login(email(rand.IntN(10*users)), instance.Org, "wrong "+strconv.Itoa(rand.Int()))
		l.wrong.count(strconv.Itoa(r.status))
		if r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable {
			time.Sleep(refusedPause)
		}
		return nil
	}
}

// ownerLogin logs the owner of an attacked account in, from another address, and retries as Retry-After says.
func (l *loginBurst) ownerLogin() time.Duration {
	c, began := newClient(l.b, l.URL, userAddress), time.Now()
	for time.Since(began) < 2*ownerSeconds*time.Second {
		r, err := c.login(email(0), instance.Org, userPassword)
		if err == nil {
			break
		}
		seconds, _ := strconv.Atoi(r.header.Get("Retry-After")) // 0 without the header
		time.Sleep(time.Duration(max(seconds, 1)) * time.Second)
	}
	return time.Since(began)
}

func (l *loginBurst) report(r *report) {
	f := l.figures
	alerts := l.prefix + "alerts/"
	quietP99 := f.median(alerts + quiet + " p99-ms")
	for _, name := range []string{"alerts", "projects", "bare_handler"} {
		for _, part := range []string{quiet, whileLogins, whileWrong} {
			row := l.prefix + name + "/" + part
			limit := noLimit
			if row == alerts+whileLogins || row == alerts+whileWrong {
				limit = min(delayedMS, delayedTimes*quietP99)
			}
			r.row(row, append(f.againstOld(row, "p99-ms"), figure(f.median(row+" p50-ms"), "p50-ms"),
				atMost(f.median(row+" p99-ms"), "p99-ms", limit))...)
		}
	}
	logins := l.prefix + "logins"
	r.row(logins, append(f.againstOld(logins, "/s"), figure(f.median(logins+" /s"), "logins/s"),
		atLeast(f.percent(logins+" /s", "hash /s"), "%-of-hashes", ofHashes))...)
	r.row(l.prefix+"wrong_passwords", append(l.wrong.metrics(), atMost(l.wrong.seen["200"]+l.wrong.seen["0"], "let-in-or-no-response", 0),
		atMost(l.failed, "other-requests-failed", 0), atMost(slices.Max(f[l.prefix+"owner s"]), "login-of-owner-s", ownerSeconds))...)
	// By default the service makes as many hashes at once as there are processors.
	r.row(l.prefix+"memory", append(f.againstOld(l.prefix+"memory", "MiB"),
		atMost(slices.Max(f[l.prefix+"memory MiB"]), "MiB", float64(runtime.NumCPU()*hashMiB+otherMiB)))...)
}

// attack is one way to keep the hashing of passwords busy.
type attack struct {
	name        string
	connections int
	createUsers bool   // as an administrator; otherwise log in with wrong passwords
	address     string // of the attacker
}

// BenchmarkFairness has users log in from one address while another address, or the administrator of another
// organization, keeps the hashing of passwords busy.
func BenchmarkFairness(b *testing.B) {
	r := &report{b: b}
	for _, a := range []attack{
		{"100_wrong_passwords", 100, false, attackAddress},
		{"200_wrong_passwords", 200, false, attackAddress},
		{"120_user_creations", 120, true, attackAddress},
		{"100_wrong_passwords_same_address", 100, false, userAddress}, // whose users have logged in before
	} {
		for _, t := range startTargets(b) {
			a.measure(r, t)
			t.Kill()
		}
	}
	r.end()
}

func (a attack) measure(r *report, server target) {
	server.Admin(r.b, "", "org", "create", otherOrg)
	createUsers(r.b, server.Server, otherOrg)
	user, attacker := newClient(r.b, server.URL, userAddress), newClient(r.b, server.URL, a.address)
	login := func(n int) error {
		_, err := user.login(email(n%users), otherOrg, userPassword)
		return err
	}
	for n := 0; n < users && a.address == userAddress; n++ {
		noError(r.b, login(n))
	}
	authorization := server.Client(r.b).Login().Authorization
	var responses tally
	var attacks sync.WaitGroup
	attacks.Go(func() {
		closedLoop(r.b, a.connections, 5**roundTime, func(int) error {
			responses.count(strconv.Itoa(a.send(attacker, authorization).status))
			time.Sleep(attackPause)
			return nil
		})
	})
	time.Sleep(*roundTime / 2)
	loop := startOpenLoop(r.b, userRate, login)
	time.Sleep(4 * *roundTime)
	took, failed := loop.stop()
	attacks.Wait()
	inTime, _ := slices.BinarySearch(took, userWithin+1)
	// As if those that failed had been quick.
	r.row(server.prefix+a.name, append(responses.metrics(),
		atLeast(100*(float64(inTime)-failed)/float64(len(took)), "%-within-2s", userSucceeds),
		figure(percentile(took, 50), "p50-ms"), figure(percentile(took, 99), "p99-ms"))...)
}

func (a attack) send(c *client, authorization string) (r response) {
	if !a.createUsers {
		r, _ = c.login(fmt.Sprintf("invented%d@acme.example", rand.Int()), instance.Org, "wrong")
		return r
	}
	body := instance.JSON(map[string]any{"metadata": map[string]any{},
		"spec": map[string]any{"emailId": fmt.Sprintf("new%d@acme.example", rand.Int()), "password": userPassword}})
	r, _ = c.send(context.Background(), http.MethodPost, "/v1/users", body, authorization)
	return r
}

// BenchmarkSignIn measures logins next to password hashes, a start up to the first login, and the memory of an idle server.
func BenchmarkSignIn(b *testing.B) {
	ways := []struct {
		name    string
		atLeast float64
		targets []target
	}{{"isolated", ofHashes, startTargets(b)}, {"not_isolated", ofHashesNone, startTargets(b, "--login-isolation=none")}}
	for _, way := range ways {
		for _, t := range way.targets {
			createUsers(b, t.Server, instance.Org)
		}
	}
	figures := samples{}
	for range *rounds {
		figures.measure(b, "hash", runtime.NumCPU(), ownCPU, hash)
		for _, way := range ways {
			for _, t := range way.targets {
				figures.measure(b, t.prefix+way.name, users, cpuOf(t.PID()), logins(newClient(b, t.URL), users))
			}
		}
	}
	r := &report{b: b}
	r.row("argon2id", figure(figures.median("hash /s"), "hashes/s"), figure(figures.median("hash cpu-ms"), "cpu-ms/hash"))
	for _, way := range ways {
		for _, t := range way.targets {
			row := t.prefix + way.name
			r.row(row, append(figures.againstOld(row, "/s", "cpu-ms"), figure(figures.median(row+" /s"), "logins/s"),
				figure(figures.median(row+" cpu-ms"), "cpu-ms/login"),
				atLeast(figures.percent(row+" /s", "hash /s"), "%-of-hashes", way.atLeast),
				atMost(figures.percent(row+" cpu-ms", "hash cpu-ms")/100, "cpu-of-one-hash", overOneHash))...)
		}
	}
	r.starts(ways[0].targets[0].Server, figures.median("hash cpu-ms")+startSlackMS)
	r.end()
}

// hash is a hash of the library, as the service makes it.
func hash(int) error {
	argon2.IDKey([]byte(userPassword), make([]byte, 16), 2, hashMiB<<10, 1, 32)
	return nil
}

// starts stops and starts a server, and measures the time from the start of the process to the response to the first login.
func (r *report) starts(server *instance.Server, limitMS float64) {
	dir, figures := server.DataDir, samples{}
	for range *rounds {
		server.Stop(syscall.SIGTERM)
		server = start(r.b, instance.Options{DataDir: dir})
		began := time.Now()
		loginTokens(r.b, server, 1)
		figures.add("start", ms(server.Started+time.Since(began)))
	}
	r.row("start_to_first_login", atMost(figures.median("start"), "ms", limitMS))
	server.Stop(syscall.SIGTERM)
	server = start(r.b, instance.Options{DataDir: dir})
	time.Sleep(idleAfter)
	r.row("idle", atMost(memoryMiB(server, "VmRSS"), "MiB", idleMiB))
}

func email(i int) string { return fmt.Sprintf("user%d@acme.example", i) }

func createUsers(b *testing.B, server *instance.Server, org string) {
	b.Helper()
	for i := range users {
		server.Admin(b, userPassword+"\n", "user", "create", "--org", org, "--email", email(i), "--role", "member", "--password-stdin")
	}
}
