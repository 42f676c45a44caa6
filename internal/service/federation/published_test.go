package federation

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/testport"
)

// A test asks the stored provider, also one by which no user can log in, and says what is wrong without a word of its response: the issuer
// may be any server that this one reaches.
func TestProviderIsTested(t *testing.T) {
	p := mustProvider(t, func(s *directory.Provider) { s.Disabled = true })
	found, failure, err := p.sso.Test(t.Context(), p.org.UID)
	if want := (Published{other + "/authorize", other + "/token", "", other + "/logout"}); found != want || failure != "" || err != nil {
		t.Errorf("%+v %q %v", found, failure, err)
	}
	const internal = "internal-text"
	for name, row := range map[string]struct {
		status     int
		body, want string
	}{
		"an error":       {http.StatusForbidden, internal, "the response is HTTP 403"},
		"no JSON":        {http.StatusOK, internal, "cannot be read"},
		"another issuer": {http.StatusOK, `{"issuer":"https://` + internal + `.example.com"}`, "names another issuer"},
		"no keys": {http.StatusOK, `{"issuer":"` + other + `","jwks_uri":"` + other + `/` + internal +
			`","authorization_endpoint":"https://a.example"}`, "its keys at jwks_uri cannot be read"},
	} {
		p.set(func() {
			p.at = p.at.Add(time.Minute)
			p.serve = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/openid-configuration") {
					w.WriteHeader(http.StatusNotFound)
					return true
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(row.status)
				_, _ = w.Write([]byte(row.body))
				return true
			}
		})
		_, failure, err := p.sso.Test(t.Context(), p.org.UID)
		if err != nil || !strings.Contains(failure, row.want) || strings.Contains(failure, internal) {
			t.Errorf("%s: %q %v", name, failure, err)
		}
	}
	p.set(func() {
		p.serve = func(w http.ResponseWriter, _ *http.Request) bool {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, err = connection.Write([]byte(internal + "\r\n\r\n"))
				err = errors.Join(err, connection.Close())
			}
			if err != nil {
				t.Error(err)
			}
			return true
		}
	})
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	redirect := func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "/"+internal, http.StatusFound)
		return true
	}
	for _, row := range []struct {
		change func()
		want   string
	}{
		{func() {}, "its response is not HTTP"},
		{func() { p.serve = redirect }, "its response is a redirect"},
		{func() { p.address = plain.Listener.Addr().String() }, "its port does not use TLS"},
		{func() { p.address = testport.Unused(t) }, "the connection to it failed"},
		{func() { delete(p.hosts, hostOf(other)) }, "its host does not exist"},
	} {
		p.set(func() {
			p.at = p.at.Add(time.Minute)
			row.change()
		})
		_, failure, err := p.sso.Test(t.Context(), p.org.UID)
		if err != nil || !strings.Contains(failure, row.want) || strings.Contains(failure, internal) ||
			strings.Contains(failure, "127.0.0.1") {
			t.Errorf("%q %v, want %q", failure, err, row.want)
		}
	}
	if _, _, err := p.sso.Test(t.Context(), uuid.NewString()); fault.KindOf(err) != fault.NotFound {
		t.Errorf("without a provider: %v", err)
	}
}

func TestProxyIsNamed(t *testing.T) {
	for want, err := range map[string]egress.ProxyError{
		"it returned HTTP 407": {Host: "proxy", Requested: "h:443", Status: 407},
		"to it in time":        {Host: "proxy", Requested: "h:443", Err: os.ErrDeadlineExceeded},
		"could not be reached": {Host: "proxy", Err: &net.DNSError{Err: "no such host", Name: "proxy", IsNotFound: true}},
	} {
		if got := unreachable(&err); !strings.HasPrefix(got, "the outbound proxy ") || !strings.Contains(got, want) {
			t.Errorf("%v: %s", &err, got)
		}
	}
}
