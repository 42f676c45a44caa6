package regcheck_test

import (
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
)

// BenchmarkRoundTrips prints how many round trips a check takes over a line of 20 ms each way, next
// to how many it says it took. The floor for TLS with Basic is 3 (TCP, TLS 1.3, HTTP), for Bearer
// with a token service elsewhere 3 + 3 + 1.
func BenchmarkRoundTrips(b *testing.B) {
	const oneWay = 20 * time.Millisecond
	for _, server := range []string{"htpasswd", "htpasswd-http2", "htpasswd-http", "bearer", "bearer-other-host", "dockerhub", "harbor", "harbor-refuses-scopeless", "gitea", "open"} {
		b.Run(server, func(b *testing.B) {
			said, took := 0, time.Duration(0)
			for range b.N {
				g, err := regchecktest.Open(server)
				if err != nil {
					b.Fatal(err)
				}
				c := &regcheck.Checker{Resolver: g, Dialer: g.Far(oneWay), Roots: g.Roots()}
				d := regcheck.Definition{Endpoint: g.Endpoint, BasePath: g.BasePath,
					Auth: &regcheck.Auth{Username: regchecktest.User, Password: secret.String(regchecktest.Password)}}
				begin := time.Now()
				report, err := c.Check(b.Context(), d, nil)
				took += time.Since(begin)
				g.Close()
				if err != nil || !report.Valid {
					b.Fatalf("%v %+v", err, report)
				}
				said = report.RoundTrips
			}
			b.ReportMetric(float64(took)/float64(b.N)/float64(2*oneWay), "round-trips")
			b.ReportMetric(float64(said), "reported")
			b.ReportMetric(0, "ns/op")
		})
	}
}
