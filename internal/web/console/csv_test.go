package console

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
)

// download is a response that fails after some writes. It records the read deadline of its request.
type download struct {
	*httptest.ResponseRecorder
	readDeadline time.Time
	onWrite      func()
}

func (d *download) SetReadDeadline(t time.Time) error {
	d.readDeadline = t
	return nil
}

func (d *download) Write(b []byte) (int, error) {
	d.onWrite()
	return d.ResponseRecorder.Write(b)
}

// A file has no deadline of its request. If it ends early, ServePage says so.
func TestCSVIsCompleteOrAborted(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	for range 101 { // records of more than one page
		w.mustLogin()
	}
	for _, fails := range []bool{false, true} {
		d := &download{httptest.NewRecorder(), time.Now(), func() {
			if fails {
				_ = w.db.Close()
			}
		}}
		request := httptest.NewRequestWithContext(t.Context(), "GET", pathAudit+".csv", nil)
		request.Header.Set("Cookie", cookie)
		err := w.ServePage(d, request, audit.Origin{})
		if d.Code != http.StatusOK || !d.readDeadline.IsZero() || !strings.HasPrefix(d.Body.String(), "uid,at,") {
			t.Errorf("%d, deadline %v: %.100s", d.Code, d.readDeadline, d.Body)
		}
		if rows := strings.Count(d.Body.String(), "\n"); errors.Is(err, http.ErrAbortHandler) != fails || (rows > 101) == fails {
			t.Errorf("fails %v: %d rows, %v", fails, rows, err)
		}
	}
}
