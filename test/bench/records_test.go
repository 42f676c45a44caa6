package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	records        = 10_000
	makers         = 32
	watchInterval  = time.Minute // 15 times as often as in earnest
	watchPlaces    = 48          // three times the default: that many more checks are under way
	realInterval   = 15 * time.Minute
	firstPass      = 3 * time.Minute
	leastWindow    = 30 * time.Second
	recordsBeats   = 5 // a second
	quietBeats     = 10 * time.Second
	summaryLimit   = 100 * time.Millisecond
	recordsMiB     = 150
	recordPassword = "five swans over the lock"
	pathRecords    = "/v1/registries/oci/basic"
	pathSummary    = "/v1/registries/oci/summary"
)

// BenchmarkRecords keeps 10,000 definitions of one organization and watches them, first as in earnest, beside which the
// list of all must stay quick, and then far more often: none must wait longer than its period, and memory stay small.
func BenchmarkRecords(b *testing.B) {
	for range b.N {
		t := &table{name: "Kept definitions", columns: []string{"", "figure"}}
		r := &kept{b: b, table: t, visits: startPart(b, partVisits), bare: bareCaller(b)}
		r.earnest(r.makeRecords(true))
		r.watch(r.makeRecords(false)) // others: those were spread over a quarter of an hour
		t.note("One organization has %d definitions. The list of all is asked for %d times a second and measured from the moment it was meant to leave.", records, recordsBeats)
		t.note("A bare net/http server in another process answers nothing meanwhile: what the machine was busy with otherwise.")
		t.note("The watch's interval is %v, jitter of a tenth included up to %v; %v would be %.0f checks a second.", watchInterval, longest(), realInterval, records/realInterval.Seconds())
		t.tell(b)
	}
}

// longest is the longest time between two checks that is meant.
func longest() time.Duration { return watchInterval * 11 / 10 }

type kept struct {
	b             *testing.B
	table         *table
	visits        *part
	registry      string
	server        *instance.Server
	caller        *caller
	bare          *caller
	authorization string
}

func (r *kept) start(folder string, interval time.Duration) {
	r.b.Helper()
	r.server = instance.Start(r.b, instance.Options{DataDir: folder, Flags: []string{"--watch-interval", interval.String(), "--watch-concurrency", strconv.Itoa(watchPlaces),
		"--check-per-minute", strconv.Itoa(60 * records)}}) // so that first checks need not wait their turn
	r.caller = newCaller(r.b, r.server, &http.Transport{})
	r.authorization = r.server.Client(r.b).SignIn().Authorization
}

// makeRecords has the definitions kept while nothing watches them, and measures the list of all if told to.
func (r *kept) makeRecords(measured bool) (folder string) {
	r.b.Helper()
	var err error
	if r.registry, err = r.visits.ask(""); err != nil {
		r.b.Fatal(err)
	}
	r.start("", 0)
	began := time.Now()
	r.fill()
	took := time.Since(began)
	if measured {
		r.table.add("made, each durable", fmt.Sprintf("%.0f a second by %d clients", records/took.Seconds(), makers))
		r.summary("without the watch", true, func() { time.Sleep(quietBeats) })
	}
	if code := r.server.Stop(syscall.SIGTERM); code != 0 {
		r.b.Fatalf("exit code %d", code)
	}
	return r.server.DataDir
}

func (r *kept) fill() {
	r.b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	var failed atomic.Value
	for range makers {
		all.Go(func() {
			for i := int(next.Add(1)); i <= records && failed.Load() == nil; i = int(next.Add(1)) {
				if status, text, _ := r.caller.send(r.b.Context(), http.MethodPost, pathRecords, r.record(i), r.authorization); status != http.StatusCreated {
					failed.Store(fmt.Sprint(status, " ", text))
				}
			}
		})
	}
	all.Wait()
	if why := failed.Load(); why != nil {
		r.b.Fatalf("keep a definition: %v", why)
	}
}

func (r *kept) record(i int) string {
	return instance.JSON(map[string]any{
		"metadata": map[string]string{"name": "registry of team " + strconv.Itoa(i)},
		"spec": map[string]any{"endpoint": r.registry + pathOf(i), "providerType": "helm", "isSyncSupported": false,
			"auth": map[string]any{"type": "basic", "username": "team" + strconv.Itoa(i), "password": recordPassword, "tls": map[string]any{"enabled": true}}},
	})
}

// summary measures the list of all beside something, and holds it to its limit if it is to be.
func (r *kept) summary(beside string, held bool, do func()) {
	r.b.Helper()
	status, text, _ := r.caller.send(r.b.Context(), http.MethodGet, pathSummary, "", r.authorization)
	var list struct{ Items []struct{} }
	if err := json.Unmarshal([]byte(text), &list); err != nil || status != http.StatusOK || len(list.Items) != records {
		r.b.Fatalf("the list: status %d, %d items, %v", status, len(list.Items), err)
	}
	reader := newCaller(r.b, r.server, &http.Transport{})
	reader.discard = true
	beat := startBeatOf(r.b, reader, pathSummary, r.authorization, recordsBeats)
	bare := startBeat(r.b, r.bare, "")
	do()
	took, bad := beat.stop()
	machine, _ := bare.stop()
	reader.http.CloseIdleConnections()
	p99 := percentile(took, 99)
	what := fmt.Sprintf("list of all (%.1f MB) %s, p50 and p99; a bare server's p99", float64(len(text))/1e6, beside)
	figure := fmt.Sprintf("%s, %s; %s", milli(percentile(took, 50)), milli(p99), milli(percentile(machine, 99)))
	if !held {
		r.table.add(what, figure)
		return
	}
	r.table.hold(summaryLimit.String(), p99 < summaryLimit && bad == 0, what, figure)
}

// earnest watches at the interval that people have. What is new is checked within the first interval.
func (r *kept) earnest(folder string) {
	r.b.Helper()
	r.start(folder, realInterval)
	from := time.Now()
	r.summary("beside the watch", true, func() { time.Sleep(2 * quietBeats) })
	r.table.add("checks a second meanwhile", fmt.Sprintf("%.0f", float64(r.seen(from).Checks)/time.Since(from).Seconds()))
	if code := r.server.Stop(syscall.SIGTERM); code != 0 {
		r.b.Fatalf("exit code %d", code)
	}
}

// pass starts the watch and waits until everything was checked since.
func (r *kept) pass(folder string, interval time.Duration) (took time.Duration) {
	r.b.Helper()
	began := time.Now()
	r.start(folder, interval)
	forgetPeak(r.b, r.server)
	for r.seen(began).Paths < records {
		if time.Since(began) > firstPass {
			r.b.Fatalf("%d of %d definitions were checked after %v", r.seen(began).Paths, records, firstPass)
		}
		time.Sleep(time.Second)
	}
	return time.Since(began)
}

// watch lets everything be checked once, as after a start, and measures until each definition has had to be
// checked again.
func (r *kept) watch(folder string) {
	r.b.Helper()
	pass := r.pass(folder, watchInterval)
	r.table.add("all checked once after a start", fmt.Sprintf("%.0f s, %.0f a second", pass.Seconds(), records/pass.Seconds()))
	from, used := time.Now(), processorTime(r.b, r.server)
	r.summary("beside the watch at that rate", false, func() { time.Sleep(max(leastWindow, longest()+overdue+time.Second-pass)) })
	used = processorTime(r.b, r.server) - used
	long := time.Since(from).Seconds()
	r.period(from, long, used)
	peak := peakKiB(r.server)
	r.table.hold(mib(recordsMiB<<10), peak <= recordsMiB<<10, "peak memory, watching and listing", mib(peak))
}

// period holds what the registry saw against the interval.
func (r *kept) period(from time.Time, long float64, used time.Duration) {
	r.b.Helper()
	seen := r.seen(from)
	rate := float64(seen.Checks) / long
	r.table.hold(fmt.Sprintf("%.0f", records/realInterval.Seconds()), rate >= records/realInterval.Seconds(),
		"checks a second", fmt.Sprintf("%.0f; the service takes %.0f %% of a processor for them and the lists", rate, 100*used.Seconds()/long))
	limit := longest() + overdue
	for _, of := range []struct {
		what string
		took []time.Duration
	}{{"time between two checks, p50, p99 and most", seen.Gaps}, {"time since the last check, at the end, p50, p99 and most", seen.Ages}} {
		most := percentile(of.took, 100)
		r.table.hold(fmt.Sprintf("%.0f s", limit.Seconds()), most <= limit && len(of.took) > 0, of.what,
			fmt.Sprintf("%.1f s, %.1f s, %.1f s", percentile(of.took, 50).Seconds(), percentile(of.took, 99).Seconds(), most.Seconds()))
	}
	r.table.hold(strconv.Itoa(records), len(seen.Ages) == records, "definitions under watch", strconv.Itoa(len(seen.Ages)))
}

// overdue is how late a check may be: what a claim takes, and the turns.
const overdue = 2 * time.Second

func (r *kept) seen(since time.Time) (seen visited) {
	r.b.Helper()
	said, err := r.visits.ask(since.Format(time.RFC3339Nano))
	if err == nil {
		err = json.Unmarshal([]byte(said), &seen)
	}
	if err != nil {
		r.b.Fatal(err)
	}
	return seen
}
