package bench

import (
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	signInTime  = 3 * time.Second
	overOneHash = 1.03
	idleMiB     = 25
	idleAfter   = 5 * time.Second
	aloneTime   = 75 * time.Second // more than the idle minute after which the hashing process ends
	startSlack  = 50 * time.Millisecond
	figurePlain = "argon2id of golang.org/x/crypto, all cores at once, a second"
	milliOf     = ", ms of CPU each"
)

// isolations are the ways to hash, and how much of the machine's hashes sign-ins have to reach in each, in percent.
var isolations = []struct {
	name   string
	atIt   float64
	flag   string
	server *instance.Server
}{{"process", 75, "--login-isolation=process", nil}, {"none", 95, "--login-isolation=none", nil}}

// BenchmarkSignIn measures sign-ins beside what they are made of, the hashing of passwords; a start up to the first
// sign-in; and the memory of a server that nobody uses.
func BenchmarkSignIn(b *testing.B) {
	for range b.N {
		t := &table{name: "Sign-in", columns: []string{"", "median (least to most)", "of the limit"}}
		disturbance, figures := watchOthers(), series{}
		clients, limits := startClients(b), startLimits(b)
		for i, way := range isolations {
			isolations[i].server = instance.Start(b, instance.Options{LogFile: filepath.Join(b.TempDir(), "log"), Flags: []string{way.flag}})
			(&logins{b: b, server: isolations[i].server}).makeUsers()
		}
		for range rounds {
			hash := limits.measure(limitPlain, roundTime)
			figures.add(figurePlain, hash.PerSecond)
			figures.add(figurePlain+milliOf, hash.milli())
			for _, way := range isolations {
				before := processorTime(b, way.server)
				end := clients.put(workload{URLs: []string{way.server.URL}, Kind: loadSignIn, Clients: signers, For: signInTime, Users: signers})
				figures.add(way.name, end.rate())
				figures.add(way.name+" CPU", end.each(processorTime(b, way.server)-before))
			}
		}
		tellSignIns(t, figures)
		tellAlone(b, t, clients, tellStarts(b, t, isolations[0].server, figures.median(figurePlain+milliOf)))
		disturbance.tell(b, t)
		t.note("%d clients sign in again and again, each time as any of %d users: %d rounds of %v, in turn with hashes on all cores, without isolation.", signers, signers, rounds, signInTime)
		t.tell(b)
	}
}

// tellSignIns compares logins with the hashes that the machine can compute.
func tellSignIns(t *table, f series) {
	t.add(figurePlain, f.spread(figurePlain, "%.1f"))
	t.add("the same"+milliOf, f.spread(figurePlain+milliOf, "%.2f"))
	t.keep(figurePlain, f.median(figurePlain))
	for _, way := range isolations {
		name := "sign-in, isolation " + way.name
		t.add(name+", a second", f.spread(way.name, "%.1f"))
		t.add(name+", ms of server CPU", f.spread(way.name+" CPU", "%.2f"))
		t.keep(name+", a second", f.median(way.name))
		t.keep(name+", ms of server CPU", f.median(way.name+" CPU"))
		part, cpu := 100*f.ratio(way.name, figurePlain), f.ratio(way.name+" CPU", figurePlain+milliOf)
		t.hold(fmt.Sprintf("%.0f %%", way.atIt), part >= way.atIt, name+", of the library's hashes", "", fmt.Sprintf("%.1f %%", part))
		t.hold(fmt.Sprintf("%.2f", overOneHash), cpu <= overOneHash, name+", CPU over one of the library's hashes", "", fmt.Sprintf("%.3f", cpu))
		t.keep(name+", CPU over one of the library's hashes", cpu)
	}
}

// tellStarts stops and starts a server again and again, and times it from the start of the process to the answer of the first
// sign-in. It returns the last one started, which has hashed nothing yet.
func tellStarts(b *testing.B, t *table, server *instance.Server, hash float64) *instance.Server {
	b.Helper()
	figures := series{}
	folder := server.DataDir
	for range rounds {
		server.Stop(syscall.SIGTERM)
		server = instance.Start(b, instance.Options{DataDir: folder})
		figures.add("start", ms(server.Started+signInOnce(b, server)))
		fresh := instance.Start(b, instance.Options{})
		figures.add("fresh", ms(fresh.Started+signInOnce(b, fresh)))
		fresh.Kill()
	}
	limit := hash + ms(startSlack)
	t.hold(fmt.Sprintf("%.0f ms", limit), figures.median("start") <= limit, "start to first sign-in, ms", figures.spread("start", "%.0f"))
	t.add("the same on an empty folder: keys, tables, and the hash of the administrator's password", figures.spread("fresh", "%.0f"))
	server.Stop(syscall.SIGTERM)
	server = instance.Start(b, instance.Options{DataDir: folder})
	time.Sleep(idleAfter)
	idle := server.ResidentKiB()
	t.hold(mib(idleMiB<<10), idle <= idleMiB<<10, fmt.Sprintf("resident memory %v after a start", idleAfter), mib(idle))
	t.keep("start to first sign-in, ms", figures.median("start"))
	t.keep("idle memory, MiB", float64(idle)/1024)
	return server
}

// tellAlone tells the memory of a server that has hashed as many passwords at once as it can, and is left alone then.
func tellAlone(b *testing.B, t *table, clients *clients, server *instance.Server) {
	b.Helper()
	clients.put(workload{URLs: []string{server.URL}, Kind: loadSignIn, Clients: signers, For: signInTime, Users: signers})
	time.Sleep(aloneTime)
	t.add(fmt.Sprintf("resident memory %v after %d clients signed in for %v", aloneTime, signers, signInTime), mib(server.ResidentKiB()))
}

func signInOnce(b *testing.B, server *instance.Server) time.Duration {
	b.Helper()
	c := newCaller(b, server, &http.Transport{})
	began := time.Now()
	if status, text, _ := c.send(b.Context(), http.MethodPost, pathSignIn, instance.Credentials(instance.Email, instance.Org, instance.Password), ""); status != http.StatusOK {
		b.Fatalf("sign in: %d %s", status, text)
	}
	return time.Since(began)
}
