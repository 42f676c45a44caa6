package bench

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

const (
	checksAtOnce = 64
	engineRounds = 5
)

// BenchmarkEngine measures validations of registries on this machine: what each takes of processor and memory, and how
// many are done in a second one after the other and 64 at once. Beside them stands what net/http takes for the least that
// could be asked of the same registry: a connection with TLS, and one GET with credentials.
func BenchmarkEngine(b *testing.B) {
	for range b.N {
		log.SetOutput(io.Discard) // of the registries: a check breaks off connections that it needs no more
		ca := testca.New(b, "registry authority")
		users := map[string]string{user: password}
		tokens := realregistry.NewTokenServer(b, realregistry.TokenRules{Users: users, CA: ca})
		registries := []struct{ name, endpoint string }{
			{"Basic", realregistry.Distribution(b, realregistry.Options{Users: users, CA: ca}).Endpoint},
			{"Bearer", realregistry.Distribution(b, realregistry.Options{Token: tokens, CA: ca}).Endpoint},
		}
		engine, figures, disturbance := startPart(b, partEngine), map[string]series{}, watchOthers()
		var names []string
		for round := range engineRounds {
			for _, r := range registries {
				for _, w := range []engineWork{{Bare: true, AtOnce: 1}, {AtOnce: 1}, {AtOnce: checksAtOnce}} {
					w.Endpoint, w.CA, w.For = r.endpoint, ca.PEM(), roundTime
					name := fmt.Sprintf("%s, %d at once", r.name, w.AtOnce)
					if w.Bare {
						name = r.name + ": net/http, TLS and one GET"
					}
					if round == 0 {
						names, figures[name] = append(names, name), series{}
					}
					noteWork(b, engine, w, figures[name])
				}
			}
		}
		t := &table{name: "Engine", columns: []string{"distribution, TLS", "a second", "CPU each, ms", "allocations each", "KiB each", "p99, ms"}}
		for _, name := range names {
			f := figures[name]
			t.add(name, f.spread("rate", "%.0f"), f.spread("cpu", "%.3f"), fmt.Sprintf("%.0f", f.median("objects")), fmt.Sprintf("%.0f", f.median("bytes")/1024), fmt.Sprintf("%.1f", f.median("p99")))
			t.keep(name+", CPU ms", f.median("cpu"))
			t.keep(name+", allocations", f.median("objects"))
		}
		disturbance.tell(b, t)
		t.note("%d rounds of %v each, in turn. CPU, allocations and memory are the engine's; the registries are processes of their own on the same processors, and bound the rate.", engineRounds, roundTime)
		t.tell(b)
	}
}

// engineWork is what the part does, again and again.
type engineWork struct {
	Endpoint, CA string
	Bare         bool // net/http alone
	AtOnce       int
	For          time.Duration
}

// engineEnd is what it took.
type engineEnd struct {
	limitEnd
	Objects, Bytes float64 // allocated for each
	P99            time.Duration
}

func noteWork(b *testing.B, engine *part, w engineWork, to series) {
	b.Helper()
	said, err := engine.ask(instance.JSON(w))
	var end engineEnd
	if err == nil {
		err = json.Unmarshal([]byte(said), &end)
	}
	if err != nil {
		b.Fatal(err)
	}
	for name, figure := range map[string]float64{"rate": end.PerSecond, "cpu": end.milli(), "objects": end.Objects, "bytes": end.Bytes, "p99": ms(end.P99)} {
		to.add(name, figure)
	}
}

// runEngine is asked with an engineWork and answers with an engineEnd, both JSON.
func runEngine(asked string) (string, error) {
	runtime.GOMAXPROCS(runtime.NumCPU())
	var w engineWork
	if err := json.Unmarshal([]byte(asked), &w); err != nil {
		return "", err
	}
	work := checking(w.Endpoint, w.CA)
	if w.Bare {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(w.CA))
		work = func(ctx context.Context) (int, error) {
			fresh := client(roots)
			defer fresh.CloseIdleConnections()
			_, err := get(ctx, fresh, w.Endpoint+"/v2/", func(r *http.Request) { r.SetBasicAuth(user, password) })
			return 0, err
		}
	}
	var mu sync.Mutex
	var took []time.Duration
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	per, err := repeat(func(int) error {
		began := time.Now()
		_, err := work(context.Background())
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(began))
		return err
	}, w.AtOnce, w.For)
	runtime.ReadMemStats(&after)
	slices.Sort(took)
	end := engineEnd{limitEnd: per, P99: perMille(took, 990)}
	end.Objects, end.Bytes = float64(after.Mallocs-before.Mallocs)/float64(len(took)), float64(after.TotalAlloc-before.TotalAlloc)/float64(len(took))
	return instance.JSON(end), err
}
