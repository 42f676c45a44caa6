package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// The generator of load is a part: it shares the processors with what it measures, so it has to cost little, and what
// it costs is told. Requests are written before, connections are kept, and of an answer only the status, the
// length and a refresh token are read. net/http's client takes about three times as long for the same.

// Kinds of load.
const (
	loadGet     = "get"     // a token-checked GET
	loadRefresh = "refresh" // each client spends the refresh tokens of its own sessions, in any order
	loadSignIn  = "signIn"  // with right passwords, each time as any of the users
	loadOne     = "one"     // see oneToken
)

// workload is what clients do to servers.
type workload struct {
	URLs          []string // each client has one of them
	Kind          string
	Clients       int
	For           time.Duration
	PerSecond     int    // 0: whoever has an answer sends the next request at once, for rates
	Authorization string // of a GET
	Users         int    // who sign in: user 0 up to as many
	Tokens        string // a file of refresh tokens, one a line; it is read once, and goes on where it stood
}

// loadEnd is what came of it. Times are measured from the moment a request was meant to leave, which
// without a fixed rate is when it left.
type loadEnd struct {
	Done, Bad            int
	Took, Processor      time.Duration // Processor is the generator's own time
	P50, P99, P999, Most time.Duration
	First                string // of the answers that were not good
	Rotations, Doubled   int    // of one token
	Token                string // the newest of one session, at the end
}

func (e loadEnd) rate() float64 { return float64(e.Done) / e.Took.Seconds() }

// each is a time of all, spread over the requests, in milliseconds.
func (e loadEnd) each(all time.Duration) float64 { return float64(all) / 1e6 / float64(max(e.Done, 1)) }

// generator is the part's state: the newest refresh tokens, by the file that they came from.
type generator struct{ tokens map[string][]string }

// answer is asked with a workload and answers with its end, both JSON.
func (g *generator) answer(asked string) (string, error) {
	runtime.GOMAXPROCS(1) // threads that look for each other's work would take it from the server
	var l workload
	if err := json.Unmarshal([]byte(asked), &l); err != nil {
		return "", err
	}
	if l.Tokens != "" && g.tokens[l.Tokens] == nil {
		text, err := os.ReadFile(l.Tokens)
		if err != nil {
			return "", err
		}
		g.tokens[l.Tokens] = strings.Fields(string(text))
	}
	end, err := g.run(l)
	return instance.JSON(end), err
}

func (g *generator) run(l workload) (end loadEnd, err error) {
	clients := make([]*rawClient, l.Clients)
	for i := range clients {
		url := strings.TrimPrefix(l.URLs[i%len(l.URLs)], "http://")
		conn, err := net.Dial("tcp", url)
		if err != nil {
			return end, err
		}
		defer conn.Close()
		clients[i] = &rawClient{conn: conn, host: url, load: l, answer: make([]byte, 0, 16<<10)}
		for n := i; n < len(g.tokens[l.Tokens]); n += l.Clients {
			clients[i].own = append(clients[i].own, &g.tokens[l.Tokens][n])
		}
	}
	if l.Kind == loadOne {
		return oneToken(clients, g.tokens[l.Tokens][0], l.For)
	}
	used, began := ownTime(), time.Now()
	meant := l.times(began)
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { c.run(meant, began.Add(l.For)) })
	}
	all.Wait()
	end.Took, end.Processor = time.Since(began), ownTime()-used
	var took []time.Duration
	for _, c := range clients {
		took, end.Bad = append(took, c.took...), end.Bad+c.bad
		end.First = strings.TrimSpace(end.First + " " + c.first)[:min(len(end.First)+len(c.first), 300)]
	}
	slices.Sort(took)
	end.Done = len(took) - end.Bad
	end.P50, end.P99, end.P999, end.Most = perMille(took, 500), perMille(took, 990), perMille(took, 999), perMille(took, 1000)
	return end, nil
}

// times gives the moments at which requests are meant to leave, nil when there are none. A client that is late
// finds them waiting, since an answer that is late must not hold up the next request.
func (l workload) times(began time.Time) <-chan time.Time {
	if l.PerSecond == 0 {
		return nil
	}
	count := int(l.For.Seconds() * float64(l.PerSecond))
	meant := make(chan time.Time, count)
	go func() {
		defer close(meant)
		for n := range count {
			at := began.Add(time.Duration(n) * time.Second / time.Duration(l.PerSecond))
			time.Sleep(time.Until(at))
			meant <- at
		}
	}()
	return meant
}

// rawClient is one connection.
type rawClient struct {
	conn    net.Conn
	host    string
	load    workload
	own     []*string // newest refresh tokens of its sessions
	request []byte
	answer  []byte
	took    []time.Duration
	bad     int
	first   string
}

func (c *rawClient) run(meant <-chan time.Time, until time.Time) {
	for {
		at := time.Now()
		if meant != nil {
			var more bool
			if at, more = <-meant; !more {
				return
			}
		} else if !at.Before(until) {
			return
		}
		if err := c.once(); err != nil {
			if c.bad++; c.first == "" {
				c.first = err.Error()
			}
			if _, refused := errors.AsType[badStatus](err); !refused {
				return // without its connection
			}
		}
		c.took = append(c.took, time.Since(at))
	}
}

// once sends a request and reads its answer.
func (c *rawClient) once() error {
	switch c.load.Kind {
	case loadRefresh:
		return c.refresh(c.own[rand.IntN(len(c.own))])
	case loadSignIn:
		body := instance.Credentials(email(rand.IntN(c.load.Users)), instance.Org, userSecret)
		c.request = fmt.Appendf(c.request[:0], "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", pathSignIn, c.host, len(body), body)
	default:
		if c.request == nil {
			c.request = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\n\r\n", pathAlerts, c.host, c.load.Authorization)
		}
	}
	_, err := c.exchange()
	return err
}

const pathRefresh = "/v1/auth/refresh/"

var (
	tokenBefore = []byte(`"refreshToken":"`)
	lengthOf    = []byte("\r\nContent-Length: ")
	headEnd     = []byte("\r\n\r\n")
)

func (c *rawClient) refresh(token *string) error {
	c.request = append(append(append(c.request[:0], "GET "+pathRefresh...), *token...), " HTTP/1.1\r\nHost: "...)
	c.request = append(append(c.request, c.host...), headEnd...)
	body, err := c.exchange()
	if err != nil {
		return err
	}
	*token, err = tokenIn(body)
	return err
}

func tokenIn(body []byte) (string, error) {
	_, rest, found := bytes.Cut(body, tokenBefore)
	end := bytes.IndexByte(rest, '"')
	if !found || end < 0 {
		return "", fmt.Errorf("no refresh token in %.100q", body)
	}
	return string(rest[:end]), nil
}

// badStatus is an answer other than 200.
type badStatus string

func (s badStatus) Error() string { return string(s) }

// exchange sends the request and returns the body of the answer, which is of a known length: our servers send their
// small answers so.
func (c *rawClient) exchange() ([]byte, error) {
	if _, err := c.conn.Write(c.request); err != nil {
		return nil, err
	}
	c.answer = c.answer[:0]
	whole := -1
	for head := 0; whole < 0 || len(c.answer) < whole; {
		if len(c.answer) == cap(c.answer) {
			c.answer = slices.Grow(c.answer, cap(c.answer))
		}
		n, err := c.conn.Read(c.answer[len(c.answer):cap(c.answer)])
		if err != nil {
			return nil, err
		}
		c.answer = c.answer[:len(c.answer)+n]
		if whole >= 0 {
			continue
		}
		if head = bytes.Index(c.answer, headEnd); head >= 0 {
			length, err := contentLength(c.answer[:head+2])
			if err != nil {
				return nil, err
			}
			whole = head + len(headEnd) + length
		}
	}
	if !bytes.HasPrefix(c.answer, []byte("HTTP/1.1 200")) {
		return nil, badStatus(c.answer[:min(len(c.answer), 12)])
	}
	_, body, _ := bytes.Cut(c.answer, headEnd)
	return body, nil
}

func contentLength(head []byte) (int, error) {
	_, rest, found := bytes.Cut(head, lengthOf)
	if !found {
		return 0, fmt.Errorf("an answer of no known length: %.200q", head)
	}
	return strconv.Atoi(string(rest[:bytes.IndexByte(rest, '\r')]))
}

// ownTime is what this process has used of the processors.
func ownTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err) // of no process but one that is not there
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// perMille is the value that so many of a thousand of the sorted ones do not exceed.
func perMille(sorted []time.Duration, of int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*of+999)/1000-1]
}

// clients is the running generator.
type clients struct {
	b    *testing.B
	part *part
}

func startClients(b *testing.B) *clients { b.Helper(); return &clients{b, startPart(b, partLoad)} }

// put puts a load on servers and fails when anything was not answered well.
func (c *clients) put(l workload) loadEnd {
	c.b.Helper()
	end := c.try(l)
	if end.Bad > 0 {
		c.b.Fatalf("%s: %d answers were not good: %s", l.Kind, end.Bad, end.First)
	}
	return end
}

// try puts a load on servers, however they answer.
func (c *clients) try(l workload) (end loadEnd) {
	c.b.Helper()
	said, err := c.part.ask(instance.JSON(l))
	if err == nil {
		err = json.Unmarshal([]byte(said), &end)
	}
	if err != nil {
		c.b.Fatalf("%s: %v", l.Kind, err)
	}
	return end
}
