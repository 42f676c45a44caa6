package serve

import (
	"context"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// A user of a local store gets the reason why it cannot be used; an error that a repetition may end is that of the API.
func TestLocalStoreExplainsItself(t *testing.T) {
	full := sqldb.Translate(&pgconn.PgError{Code: "53100"})
	for _, tt := range []struct {
		status int
		ready  error
		reason string // "" for the response
	}{
		{http.StatusServiceUnavailable, full, "The disk of the database server is full. Free space there."},
		{http.StatusServiceUnavailable, nil, ""},
		{http.StatusOK, full, ""},
	} {
		api := explained{fixed(tt.status), func(context.Context) error { return tt.ready }}
		resp, err := api.RoundTrip(&http.Request{})
		if reason, _ := sqldb.Reason(err); reason != tt.reason || (resp == nil) != (err != nil) {
			t.Errorf("%d, %v: %q", tt.status, tt.ready, reason)
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
	}
}

// fixed responds to each request with a status.
type fixed int

func (f fixed) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(f), Body: http.NoBody}, nil
}
