package requestbody

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/web/budget"
)

const source = "192.0.2.1"

// connection is a response whose read deadlines are recorded.
type connection struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (c *connection) SetReadDeadline(t time.Time) error {
	c.deadlines = append(c.deadlines, t)
	return nil
}

func TestBodiesThatAreNotReadHaveCauseAndCloseTheConnection(t *testing.T) {
	cut := io.MultiReader(strings.NewReader("x"), &failing{})
	for name, c := range map[string]struct {
		body   io.Reader
		length int64 // announced; -1 means chunked
		budget *budget.Requests
		code   string
	}{
		"announced as too large": {strings.NewReader(""), 2 << 10, nil, fault.CodeRequestTooLarge},
		"too large":              {strings.NewReader(strings.Repeat("x", 2<<10)), -1, nil, fault.CodeRequestTooLarge},
		"ends early":             {cut, 2, nil, fault.CodeInvalidRequest},
		"no memory":              {strings.NewReader("xx"), 2, occupied(t), fault.CodeUnavailable},
		"no memory for more":     {strings.NewReader("xx"), -1, occupied(t), fault.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w := &connection{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", c.body)
			r.ContentLength = c.length
			err := Reader{c.budget}.Bound(w, r, auth.Principal{}, source, 1<<10)
			if err == nil {
				_, err = io.ReadAll(r.Body)
			}
			if f := fault.Visible(Fault(w, err, "form", 1<<10)); f.Code != c.code || w.Header().Get("Connection") != "close" {
				t.Errorf("%v is %+v, header %v", err, f, w.Header())
			}
		})
	}
}

// occupied returns a budget in which the client address of the test already has its share.
func occupied(t *testing.T) *budget.Requests {
	t.Helper()
	b := budget.NewRequests(0)
	held := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("x"))
	if err := b.Reserve(auth.Principal{}, source, held, 1); err != nil {
		t.Fatal(err)
	}
	return b
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// The time for a body does not end what the handler does afterwards.
func TestDeadlinesEndWithTheBody(t *testing.T) {
	w := &connection{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("x"))
	before := time.Now()
	if err := (Reader{}).Bound(w, r, auth.Principal{}, "", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r.Body); err != nil {
		t.Fatal(err)
	}
	last := len(w.deadlines) - 1
	if last < 1 || w.deadlines[0].Before(before.Add(pause)) || w.deadlines[0].After(time.Now().Add(pause)) || !w.deadlines[last].IsZero() {
		t.Errorf("deadlines %v", w.deadlines)
	}
}
