package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/web/budget"
)

var (
	alice = auth.Principal{UserUID: "alice", OrgUID: "acme"}
	bob   = auth.Principal{UserUID: "bob", OrgUID: "acme"}
	carol = auth.Principal{UserUID: "carol", OrgUID: "acme"}
)

// pagesOf returns the words in pages of two, followed by err.
func pagesOf(words []string, err error) func(string) ([]string, bool, error) {
	return func(after string) ([]string, bool, error) {
		from := 0
		if after != "" {
			from = slices.Index(words, after) + 1
		}
		page := words[from:min(from+2, len(words))]
		if len(page) == 0 && err != nil {
			return nil, false, err
		}
		return page, len(page) == 2 || err != nil, nil
	}
}

// serveBody serves a body to everyone as the response of a handler called by a principal.
func serveBody(t *testing.T, s *Server, p auth.Principal, body any) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(s.envelope(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.succeed(&call{Request: r, w: w, principal: p}, response{http.StatusOK, body})
	})))
	t.Cleanup(server.Close)
	return server
}

func get(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, string(text), err
}

// All times of a response are in UTC, and their texts have the same length, at the top, in a list and after it.
func TestTimesHaveMilliseconds(t *testing.T) {
	type times struct {
		At   time.Time  `json:"at"`
		Set  *time.Time `json:"set"`
		Null *time.Time `json:"null"`
		Zero time.Time  `json:"zero,omitzero"`
	}
	whole := time.Date(2026, 11, 23, 13, 0, 0, 0, time.FixedZone("", 3600))
	tenth := whole.Add(100*time.Millisecond + time.Microsecond)
	body := times{At: whole, Set: &tenth}
	const want = `{"at":"2026-11-23T12:00:00.000Z","set":"2026-11-23T12:00:00.100Z","null":null}`
	list := items[times]{read: func(times) ([]times, bool, error) { return []times{body}, false, nil },
		show: func(b times) any { return b }, tail: func() any { return body }}
	for text, body := range map[string]any{want: body, `{"items":[` + want + `],` + want[1:]: list} {
		_, got, err := get(t, serveBody(t, &Server{Log: slog.New(slog.DiscardHandler)}, alice, body).URL)
		if err != nil || strings.TrimSpace(got) != text {
			t.Errorf("%v\n%s, want\n%s", err, got, text)
		}
	}
}

func wordList(words []string, err error) items[string] {
	return items[string]{read: pagesOf(words, err), show: func(word string) any {
		if word == "hidden" {
			return nil
		}
		return word
	}, tail: func() any { return map[string]int{"count": len(words)} }}
}

func TestListIsSentCompletely(t *testing.T) {
	words := []string{"a", "<b>", "hidden", "ü\n", strings.Repeat("long", pieceBytes)}
	for n := range len(words) + 1 {
		server := serveBody(t, edge(io.Discard), alice, wordList(words[:n], nil))
		_, text, err := get(t, server.URL)
		var read struct {
			Items []string
			Count int
		}
		want := slices.DeleteFunc(slices.Clone(words[:n]), func(word string) bool { return word == "hidden" })
		if err != nil || json.Unmarshal([]byte(text), &read) != nil || read.Items == nil || !slices.Equal(read.Items, want) ||
			read.Count != n {
			t.Errorf("%d items are %.200s, %v", n, text, err)
		}
		if n > 1 && !strings.Contains(text, "<b>") {
			t.Errorf("escaped: %.200s", text)
		}
	}
}

// A fault before the first byte is an error response. A later one closes the connection, so that a part is not taken
// for the whole.
func TestListFailsWhileReading(t *testing.T) {
	away := fault.Busy("The store does not respond.", 0)
	var log bytes.Buffer
	s := edge(&log)
	response, text, err := get(t, serveBody(t, s, alice, wordList([]string{"a", "b"}, away)).URL)
	if err != nil || response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, `"Unavailable"`) {
		t.Errorf("before the first byte: %s, %v", text, err)
	}
	long := []string{"a", strings.Repeat("long", pieceBytes)}
	response, text, err = get(t, serveBody(t, s, alice, wordList(long, away)).URL)
	if err == nil || response != nil && response.StatusCode != http.StatusOK {
		t.Errorf("after the first byte: %.100s, %v, want a broken connection", text, err)
	}
	if !strings.Contains(log.String(), "ResponseNotSent") || !strings.Contains(log.String(), "The store does not respond") {
		t.Errorf("the log lacks the failure: %s", log.String())
	}
}

// A list of several pieces, or another large response, reserves its share of the budget before it begins.
func TestLargeResponsesOverTheBudget(t *testing.T) {
	long := strings.Repeat("long", pieceBytes)
	for name, c := range map[string]struct {
		held []auth.Principal // each holds an eighth
		body any
		want int
	}{
		"nothing is held":           {nil, wordList([]string{long}, nil), http.StatusOK},
		"the user's share is held":  {[]auth.Principal{alice}, wordList([]string{long}, nil), http.StatusServiceUnavailable},
		"not a list":                {[]auth.Principal{alice}, long, http.StatusServiceUnavailable},
		"small responses need none": {[]auth.Principal{alice}, wordList([]string{"a", "b", "c"}, nil), http.StatusOK},
		"another user of the organization holds its share": {[]auth.Principal{bob}, wordList([]string{long}, nil), http.StatusOK},
		"the organization's is held": {[]auth.Principal{bob, carol}, wordList([]string{long}, nil),
			http.StatusServiceUnavailable},
		"another organization's":              {manyUsers(2), wordList([]string{long}, nil), http.StatusOK},
		"other organizations hold everything": {manyUsers(8), long, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := edge(io.Discard)
			s.Responses = budget.NewResponses(8 * listBytes)
			for _, p := range c.held {
				if _, err := s.Responses.Reserve(p, listBytes); err != nil {
					t.Fatal(err)
				}
			}
			response, text, err := get(t, serveBody(t, s, alice, c.body).URL)
			if err != nil || response.StatusCode != c.want || (response.Header.Get("Retry-After") != "") != (c.want != http.StatusOK) {
				t.Errorf("%.200s, %v", text, err)
			}
		})
	}
}

// manyUsers returns users of as many organizations.
func manyUsers(n int) (all []auth.Principal) {
	for i := range n {
		all = append(all, auth.Principal{UserUID: fmt.Sprint("user ", i), OrgUID: fmt.Sprint("org ", i)})
	}
	return all
}

func TestBudgetIsReleased(t *testing.T) {
	s := edge(io.Discard)
	s.Responses = budget.NewResponses(8 * listBytes)
	long := []string{strings.Repeat("long", pieceBytes)}
	for range 3 {
		if _, _, err := get(t, serveBody(t, s, alice, wordList(long, nil)).URL); err != nil {
			t.Fatal(err)
		}
		_, _, _ = get(t, serveBody(t, s, alice, wordList(append(long, "more"), errors.New("away"))).URL)
	}
	if _, err := s.Responses.Reserve(alice, 8*listBytes+1); err != nil { // more than the limit, so only possible while nothing is held
		t.Error(err)
	}
}
