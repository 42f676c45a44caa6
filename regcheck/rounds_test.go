package regcheck_test

import (
	"encoding/json"
	"testing"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// What a check with a content path costs. docker_auth listens on a host of its own, so that seven round trips are
// over before any content is asked for.
func TestRoundTripsOfContent(t *testing.T) {
	for _, row := range []struct {
		server, path, user string
		rounds, requests   int
	}{
		{"docker-auth", "charts/nginx", "user", 9, 8},
		{"docker-auth", "charts", "user", 10, 11},
		{"docker-auth", "charts/unknown", "user", 10, 11},
		{"docker-auth", "charts", "robot", 10, 9},
		{"docker-auth", "images", "robot", 10, 9},
		{"docker-auth", "Charts", "robot", 8, 7},
		{"htpasswd-http2", "charts/nginx", "user", 5, 4},
		{"htpasswd-http2", "charts", "user", 7, 6},
	} {
		t.Run(row.server+" "+row.path+" "+row.user, func(t *testing.T) {
			g := regchecktest.Start(t, row.server)
			definition, err := json.Marshal(map[string]any{"baseContentPath": row.path,
				"auth": map[string]string{"type": "basic", "username": "${" + row.user + "}", "password": "${" + map[string]string{"user": "password", "robot": "robotPassword"}[row.user] + "}"}})
			if err != nil {
				t.Fatal(err)
			}
			one := matrixRow{Definition: definition}
			report, err := checker(g, egress.Policy{}, one).Check(t.Context(), mustDefinition(t, g, one), nil)
			if err != nil {
				t.Fatal(err)
			}
			if report.RoundTrips > row.rounds || len(g.Requests()) != row.requests {
				t.Errorf("%d round trips and %d requests, want at most %d and %d: %v", report.RoundTrips, len(g.Requests()), row.rounds, row.requests, g.Requests())
			}
		})
	}
}
