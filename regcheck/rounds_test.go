package regcheck_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// Each stage reports its part of the round trips, and the other origins that it used.
func TestRoundTripsAndHopsOfStages(t *testing.T) {
	for server, want := range map[string]struct {
		definition string
		trips      map[regcheck.Stage]int
		hops       map[regcheck.Stage][]string
	}{
		"docker-auth": {`{"auth": {"type": "basic", "username": "${user}", "password": "${password}"}}`,
			map[regcheck.Stage]int{"connect": 1, "tls": 1, "api": 1, "auth": 2},
			map[regcheck.Stage][]string{"auth": {"https://auth.test"}}},
		"redirect-cross-origin": {`{"auth": {"type": "noAuth"}}`,
			map[regcheck.Stage]int{"connect": 1, "tls": 1, "api": 4}, map[regcheck.Stage][]string{"api": {"https://other.test"}}},
	} {
		t.Run(server, func(t *testing.T) {
			g := regchecktest.Start(t, server)
			one := matrixRow{Definition: json.RawMessage(want.definition)}
			report, err := checker(g, egress.Policy{}, one).Check(t.Context(), regcheck.MustParse(t, mustDefinition(t, g, one)), nil)
			if err != nil {
				t.Fatal(err)
			}
			trips, hops, sum := map[regcheck.Stage]int{}, map[regcheck.Stage][]string{}, 0
			for _, stage := range report.Stages {
				if sum += stage.RoundTrips; stage.RoundTrips > 0 {
					trips[stage.Name] = stage.RoundTrips
				}
				if stage.Hops != nil {
					hops[stage.Name] = stage.Hops
				}
			}
			// The connection to the token service may have been opened concurrently.
			atLeast := func(got, want int) bool { return got >= want }
			if sum != report.RoundTrips || !maps.EqualFunc(trips, want.trips, atLeast) || !maps.EqualFunc(hops, want.hops, slices.Equal) {
				t.Errorf("%d round trips: %v, %v, want %v, %v", report.RoundTrips, trips, hops, want.trips, want.hops)
			}
		})
	}
}

// What a check with a content path costs. docker_auth listens on a host of its own, so that seven round trips are
// over before any content is asked for.
func TestRoundTripsOfContent(t *testing.T) {
	for _, row := range []struct {
		server, path, user string
		rounds, requests   int
	}{
		{"docker-auth", "charts/nginx", "user", 10, 10},
		{"docker-auth", "charts/nginx:1.2.3", "user", 9, 9},
		{"docker-auth", "charts", "user", 10, 11},
		{"docker-auth", "charts/unknown", "user", 10, 11},
		{"docker-auth", "charts", "robot", 10, 9},
		{"docker-auth", "images", "robot", 12, 11}, // refused: the catalog may list what may be read
		{"docker-auth", "Charts", "robot", 8, 7},
		{"htpasswd-http2", "charts/nginx", "user", 6, 6},
		{"htpasswd-http2", "charts/nginx:1.2.3", "user", 5, 5},
		{"htpasswd-http2", "charts", "user", 8, 8},
	} {
		t.Run(row.server+" "+row.path+" "+row.user, func(t *testing.T) {
			g := regchecktest.Start(t, row.server)
			definition, err := json.Marshal(map[string]any{"baseContentPath": row.path,
				"auth": map[string]string{"type": "basic", "username": "${" + row.user + "}",
					"password": "${" + map[string]string{"user": "password", "robot": "robotPassword"}[row.user] + "}"}})
			if err != nil {
				t.Fatal(err)
			}
			one := matrixRow{Definition: definition}
			report, err := checker(g, egress.Policy{}, one).Check(t.Context(), regcheck.MustParse(t, mustDefinition(t, g, one)), nil)
			if err != nil {
				t.Fatal(err)
			}
			// One that is sent at the same time as others is left out when their responses come first.
			leftOut := row.requests - len(g.Requests())
			if report.RoundTrips > row.rounds || leftOut < 0 || leftOut > 1 {
				t.Errorf("%d round trips and %d requests, want at most %d, and %d or one less: %v", report.RoundTrips, len(g.Requests()),
					row.rounds, row.requests, g.Requests())
			}
		})
	}
}

// oneConnection opens one connection. Others are still being opened when the check ends, and the first has no response for a blob before
// another one was asked for.
type oneConnection struct {
	egress.Dialer
	dials  atomic.Int32
	second chan struct{}
}

func (d *oneConnection) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	switch d.dials.Add(1) {
	case 1:
		conn, err := d.Dialer.DialContext(ctx, network, address)
		return &heldConn{Conn: conn, until: d.second}, err
	case 2:
		close(d.second)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// heldConn delays what it reads after a request for a blob.
type heldConn struct {
	net.Conn
	until chan struct{}
	blob  atomic.Bool
}

func (c *heldConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("/blobs/")) {
		c.blob.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *heldConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.blob.Load() {
		<-c.until
	}
	return n, err
}

// A request that waits for the connection of another one takes as many round trips as with a connection that is opened for it, so the
// number does not depend on which is faster.
func TestWaitForAConnectionIsARoundTrip(t *testing.T) {
	g := regchecktest.Start(t, "htpasswd-http")
	one := matrixRow{Definition: json.RawMessage(withContent(goodLogin, "charts/nginx"))}
	c := checker(g, egress.Policy{}, one)
	single := &oneConnection{Dialer: g, second: make(chan struct{})}
	c.Dialer = single
	report, err := c.Check(t.Context(), regcheck.MustParse(t, mustDefinition(t, g, one)), nil)
	if err != nil {
		t.Fatal(err)
	}
	content := report.Stages[len(report.Stages)-1]
	if !report.Valid || single.dials.Load() < 2 || content.RoundTrips != 4 { // tags, manifest, connection or wait, blobs
		t.Errorf("valid %t, %d connections, %d round trips: %s", report.Valid, single.dials.Load(), content.RoundTrips, content.Detail)
	}
}
