package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	pathLogin    = "/v1/auth/authenticate"
	pathRefresh  = "/v1/auth/refresh/"
	pathAlerts   = "/v1/projects/alerts" // served from memory
	pathProjects = "/v1/projects"        // served from the store
	manyClients  = 32
)

// client sends requests without holding the responses against the API description, which would cost more than the service.
type client struct {
	url       string
	transport *http.Transport
}

// newClient returns a client with connections of its own, from another loopback address if one is given.
func newClient(b *testing.B, url string, from ...string) *client {
	dialer := &net.Dialer{}
	if len(from) > 0 {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from[0])}
	}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 1024, DisableCompression: true,
		ResponseHeaderTimeout: time.Minute}
	b.Cleanup(transport.CloseIdleConnections)
	return &client{url, transport}
}

type response struct {
	status int
	body   string
	header http.Header
}

// send returns the response and an error unless its status is 2xx.
func (c *client) send(ctx context.Context, method, path, body, authorization string) (response, error) {
	var text strings.Builder
	r, err := c.roundTrip(ctx, method, path, body, authorization, &text)
	if r.body = text.String(); err == nil && r.status/100 != 2 {
		err = fmt.Errorf("status %d: %.300s", r.status, r.body)
	}
	return r, err
}

// roundTrip writes the body of the response.
func (c *client) roundTrip(ctx context.Context, method, path, body, authorization string, to io.Writer) (r response, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return r, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	resp, err := c.transport.RoundTrip(request)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(to, resp.Body)
	return response{status: resp.StatusCode, header: resp.Header}, err
}

// get returns a function that sends a GET and drops the body of the response.
func (c *client) get(path, authorization string) func(int) error {
	return func(int) error {
		r, err := c.roundTrip(context.Background(), http.MethodGet, path, "", authorization, io.Discard)
		if err == nil && r.status != http.StatusOK {
			err = fmt.Errorf("status %d", r.status)
		}
		return err
	}
}

func (c *client) login(email, org, password string) (response, error) {
	return c.send(context.Background(), http.MethodPost, pathLogin, instance.Credentials(email, org, password), "")
}

// refresh presents a refresh token and returns its successor.
func (c *client) refresh(ctx context.Context, token string) (string, error) {
	r, err := c.send(ctx, http.MethodGet, pathRefresh+token, "", "")
	if err != nil {
		return "", err
	}
	return r.refreshToken()
}

func (r response) refreshToken() (string, error) {
	_, rest, _ := strings.Cut(r.body, `"refreshToken":"`)
	token, _, found := strings.Cut(rest, `"`)
	if !found {
		return "", fmt.Errorf("the response has no refresh token: %.100q", r.body)
	}
	return token, nil
}

// refreshes returns a function that refreshes a random session of those that belong to the worker. The workers use the clients in turn.
func refreshes(tokens []string, workers int, clients ...*client) func(worker int) error {
	return func(worker int) (err error) {
		own := (len(tokens) - worker + workers - 1) / workers
		token := &tokens[worker+workers*rand.IntN(own)]
		*token, err = clients[worker%len(clients)].refresh(context.Background(), *token)
		return err
	}
}

// logins returns a function that logs one of so many users in, and tries again when the service is too busy.
func logins(c *client, users int) func(int) error {
	return func(int) error {
		r, err := c.login(email(rand.IntN(users)), instance.Org, userPassword)
		for r.status == http.StatusServiceUnavailable {
			r, err = c.login(email(rand.IntN(users)), instance.Org, userPassword)
		}
		return err
	}
}

// measure has workers call do for the time of a round, each again as soon as its last call returned. It adds to the samples of
// a row the rate and the processor time of each call, and returns the number of calls.
func (s samples) measure(b *testing.B, row string, workers int, cpu func() time.Duration, do func(worker int) error) (calls float64) {
	b.Helper()
	before := cpu()
	calls, rate := closedLoop(b, workers, *roundTime, do)
	s.add(row+" /s", rate)
	s.add(row+" cpu-ms", ms(cpu()-before)/calls)
	return calls
}

// closedLoop has workers call do for so long, at least once each, and returns the number of calls, and that in a second.
func closedLoop(b *testing.B, workers int, long time.Duration, do func(worker int) error) (calls, rate float64) {
	b.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	began := time.Now()
	for worker := range workers {
		all.Go(func() {
			own, err := 1.0, do(worker)
			for ; time.Since(began) < long && err == nil; own++ {
				err = do(worker)
			}
			mu.Lock()
			defer mu.Unlock()
			calls, failed = calls+own, errors.Join(failed, err)
		})
	}
	all.Wait()
	noError(b, failed)
	return calls, calls / time.Since(began).Seconds()
}

// openLoop calls a function at a fixed rate, whether earlier calls have returned or not. Latencies count from the moment a call
// was due, so that a stall is not hidden by the calls that it delayed.
type openLoop struct {
	mu        sync.Mutex
	latencies []time.Duration
	failed    float64
	cancel    context.CancelFunc
	done      sync.WaitGroup
}

const checksPerSecond = 50 // requests that show whether others are delayed

func startOpenLoop(b *testing.B, perSecond int, do func(int) error) *openLoop {
	ctx, cancel := context.WithCancel(b.Context())
	l := &openLoop{cancel: cancel}
	l.done.Go(func() {
		began := time.Now()
		for n := 1; ctx.Err() == nil; n++ {
			due := began.Add(time.Duration(n) * time.Second / time.Duration(perSecond))
			time.Sleep(time.Until(due))
			l.done.Go(func() {
				err := do(n)
				took := time.Since(due)
				l.mu.Lock()
				defer l.mu.Unlock()
				if l.latencies = append(l.latencies, took); err != nil {
					l.failed++
				}
			})
		}
	})
	return l
}

// stop returns the latencies, sorted, and the number of calls that failed.
func (l *openLoop) stop() (latencies []time.Duration, failed float64) {
	l.cancel()
	l.done.Wait()
	slices.Sort(l.latencies)
	return l.latencies, l.failed
}

// percentile is the value in milliseconds that so many percent of the sorted ones do not exceed.
func percentile(sorted []time.Duration, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return ms(sorted[(len(sorted)*percent+99)/100-1])
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// tally counts outcomes.
type tally struct {
	mu   sync.Mutex
	seen map[string]float64
}

func (t *tally) count(outcome string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = map[string]float64{}
	}
	t.seen[outcome]++
}

// metrics are how often each outcome was seen.
func (t *tally) metrics() (metrics []metric) {
	for outcome, seen := range t.seen {
		metrics = append(metrics, figure(seen, outcome))
	}
	return metrics
}
