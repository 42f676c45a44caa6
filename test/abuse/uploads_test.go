package abuse_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	memberEmail = "member@acme.example"

	uploadTime   = 4 * time.Second
	uploadPause  = 200 * time.Millisecond // before an attacker begins again
	fewerSources = 5
	moreSources  = 50
)

// TestSlowUploads sends large requests slowly, again and again, from several sources. Other clients can send theirs, and every refusal
// is a response of the service.
func TestSlowUploads(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources int
		conns   int                        // together they send more than --request-memory
		begin   func(member string) string // of each request, without its last bytes
		flags   []string
	}{
		{name: "files to scan, of one member", sources: fewerSources, conns: 100, begin: func(member string) string {
			return post(scanPath, 4<<20, "", "Authorization: "+member) + strings.Repeat("x", 1<<20)
		}},
		{name: "chunked files to scan, of one member", sources: fewerSources, conns: 100, begin: func(member string) string {
			return "POST " + scanPath + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nAuthorization: " + member + "\r\n\r\n" +
				strings.Repeat("10000\r\n"+strings.Repeat("x", 1<<16)+"\r\n", 16) + "10000\r\n"
		}},
		{name: "files to scan, of one member, through a proxy that does not buffer them", sources: 1, conns: 100,
			begin: func(member string) string {
				return post(scanPath, 4<<20, "", "Authorization: "+member, "X-Forwarded-For: 192.0.2.1") + strings.Repeat("x", 1<<20)
			}, flags: []string{"--trusted-proxies", "127.0.1.0/24"}},
		{name: "logins, through a proxy that does not buffer them", sources: 1, conns: 600, begin: func(string) string {
			return post(login, 64<<10, `{"emailId":"`, "X-Forwarded-For: 192.0.2.1") + strings.Repeat("x", 63<<10)
		}, flags: []string{"--trusted-proxies", "127.0.1.0/24"}},
		{name: "definitions, of one member", sources: fewerSources, conns: 100, begin: func(member string) string {
			return post(validatePath, 1<<20, `{"endpoint":"`, "Authorization: "+member) + strings.Repeat("x", 1<<19)
		}},
		{name: "logins", sources: fewerSources, conns: 600,
			begin: func(string) string { return post(login, 64<<10, `{"emailId":"`) + strings.Repeat("x", 63<<10) }},
		{name: "headers", sources: fewerSources, conns: 300, begin: func(string) string {
			return "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 60<<10)
		}},
		{name: "headers from many sources", sources: moreSources, conns: 300, begin: func(string) string {
			return "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 60<<10)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := start(t, c.flags...)
			client := newCustomer(t, server)
			uploads := startUploads(t, address(t, server), c.sources, c.conns, c.begin(newMember(t, server)))
			time.Sleep(time.Second)
			client.uploads(uploadTime)
			uploads.end(t)
			client.served(t)
			withinMemory(t, server)
		})
	}
}

// uploads sends small and middling bodies for a while, each on a connection of its own.
func (c *customer) uploads(d time.Duration) {
	const enough = 100
	file := func(size int) string {
		return instance.JSON(map[string]any{"auths": map[string]any{"registry.example": map[string]string{"auth": "YWRhOmh1bnRlcjI="}},
			"HttpHeaders": map[string]string{"a": strings.Repeat("a", size)}})
	}
	for i, end := 0, time.Now().Add(d); i < enough || time.Now().Before(end); i++ {
		c.took = append(c.took, c.try(http.MethodGet, "/v1/projects/alerts", "", "Authorization", c.authorization))
		switch i % 5 {
		case 0:
			c.try(http.MethodPost, login, instance.Credentials(instance.Email, instance.Org, instance.Password))
		case 1:
			c.try(http.MethodPost, scanPath, file(1<<10), "Authorization", c.authorization)
		case 2:
			if i%50 == 2 {
				c.try(http.MethodPost, scanPath, file(200<<10), "Authorization", c.authorization)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// slowUploads are requests of attackers, which begin again when they end.
type slowUploads struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu        sync.Mutex
	responses map[string]int // by status and code
}

func startUploads(t testing.TB, to string, sources, conns int, text string) *slowUploads {
	t.Helper()
	begin := []byte(text) // converted once, not for each of thousands of requests of up to 1 MiB
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	u := &slowUploads{cancel: cancel, responses: map[string]int{}}
	for n := range conns {
		from := fmt.Sprintf("127.0.1.%d", n%sources+1)
		u.all.Go(func() {
			for !stops(ctx, uploadPause) {
				u.count(upload(ctx, from, to, begin))
			}
		})
	}
	return u
}

func (u *slowUploads) count(response string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.responses[response]++
}

// upload sends a request whose last bytes come one a second, and returns the status and the code of the response, or its text if the
// service did not write it. A connection that ends without a response gives "closed".
func upload(ctx context.Context, from, to string, begin []byte) string {
	conn, err := dialFrom(ctx, from, to)
	if err != nil {
		return "refused"
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() {
		_, err := conn.Write(begin)
		for err == nil && !stops(ctx, time.Second) {
			_, err = io.WriteString(conn, "x")
		}
	}()
	received := bufio.NewReader(conn)
	response, err := http.ReadResponse(received, nil)
	if err != nil {
		return "closed"
	}
	defer response.Body.Close()
	var body struct{ Code string }
	text, _ := io.ReadAll(response.Body) // the text shows what is missing
	if json.Unmarshal(text, &body) != nil || response.StatusCode == http.StatusServiceUnavailable &&
		response.Header.Get("Retry-After") == "" {
		return fmt.Sprintf("%d %q", response.StatusCode, text)
	}
	return fmt.Sprint(response.StatusCode, " ", body.Code)
}

// stops waits, and reports whether ctx ended.
func stops(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(pause):
		return false
	}
}

// end stops the uploads, and fails the test when one had a response that is not the service's.
func (u *slowUploads) end(t testing.TB) {
	t.Helper()
	u.cancel()
	u.all.Wait()
	t.Logf("uploads ended: %v", u.responses)
	for response := range u.responses {
		switch response {
		case "400 InvalidRequest", "503 Unavailable", "closed", "refused":
		default:
			t.Errorf("an upload has the response %s", response)
		}
	}
}
