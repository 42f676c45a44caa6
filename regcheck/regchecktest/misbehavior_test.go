package regchecktest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Each server of the TLS matrix fails a plain Go client in the way of its name.
func TestTLSMatrix(t *testing.T) {
	unknown := func(err error) bool { _, ok := errors.AsType[x509.UnknownAuthorityError](err); return ok }
	name := func(err error) bool { _, ok := errors.AsType[x509.HostnameError](err); return ok }
	dates := func(err error) bool {
		invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
		return ok && invalid.Reason == x509.Expired
	}
	alert := func(err error) bool {
		remote, ok := errors.AsType[*net.OpError](err)
		return ok && remote.Op == "remote error"
	}
	none := func(err error) bool { return err == nil }
	for server, good := range map[string]func(error) bool{
		"tls-private-ca": unknown, "tls-chain": unknown, "tls-chain-with-root": unknown, "tls-missing-intermediate": unknown,
		"tls-missing-intermediate-unsaid": unknown, "tls-self-signed": unknown, "tls-expired-ca": unknown,
		"tls-wrong-name": name, "tls-no-san": name, "tls-ip-without-san": name,
		"tls-expired": dates, "tls-not-yet-valid": dates, "tls-private-ca-expired": dates,
		"tls-client-required": alert, "tls-client-required-1.2": alert, "tls-1.1": alert, "tls-1.0": alert, "tls-alert": alert,
		"tls-expires-soon": none, "tls-1.2": none, "tls-ip": none, "tls-client-optional": none, "tls-client-requested": none,
		"tls-client-nginx": none,
		"tls-http-server":  func(err error) bool { return errors.Is(err, http.ErrSchemeMismatch) },
		"accept-close":     func(err error) bool { return errors.Is(err, io.EOF) },
	} {
		t.Run(server, func(t *testing.T) {
			g := Start(t, server)
			response, err := client(t, g, nil).Get(g.Endpoint + "/v2/")
			if err == nil {
				_ = response.Body.Close()
			}
			if !good(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

// With the right words for ca and client certificate the same servers let a client in.
func TestTLSMatrixFixed(t *testing.T) {
	for server, trust := range map[string]string{"tls-private-ca": "ca", "tls-chain": "ca", "tls-missing-intermediate": "intermediate",
		"tls-self-signed": "server", "tls-client-required": "systemCA", "tls-client-nginx": "systemCA"} {
		t.Run(server, func(t *testing.T) {
			g := Start(t, server)
			words, err := g.Words()
			if err != nil {
				t.Fatal(err)
			}
			pair, err := tls.X509KeyPair([]byte(words["clientCertificate"]), []byte(words["clientKey"]))
			if err != nil {
				t.Fatal(err)
			}
			c := client(t, g, &tls.Config{Certificates: []tls.Certificate{pair}})
			c.Transport.(*http.Transport).TLSClientConfig.RootCAs = x509.NewCertPool()
			c.Transport.(*http.Transport).TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(words[trust]))
			if a := ask(t, c, g.Endpoint+"/v2/", basic(User, Password)); a.status != 200 {
				t.Errorf("%+v", a)
			}
		})
	}
}

// The hostile servers do not stop by themselves, and do when their client leaves.
func TestHostileServersRequireLimit(t *testing.T) {
	for _, server := range []string{"slow", "drip-headers", "drip-body", "endless-body", "accept-silent"} {
		t.Run(server, func(t *testing.T) {
			g := Start(t, server)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.Endpoint+"/v2/", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client(t, g, nil).Do(r)
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ended by itself: %v", err)
			}
		})
	}
	for _, server := range []string{"endless-headers", "flood-1xx", "big-header", "cut-body", "close-without-response",
		"garbage-response", "bad-length"} {
		t.Run(server, func(t *testing.T) {
			g := Start(t, server)
			c := client(t, g, nil)
			c.Transport.(*http.Transport).MaxResponseHeaderBytes = 64 << 10
			response, err := c.Get(g.Endpoint + "/v2/")
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			if err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("no error at once: %v", err)
			}
		})
	}
}

func TestGzipBombSize(t *testing.T) {
	g := Start(t, "gzip-bomb")
	response, err := client(t, g, nil).Get("https://registry.test/v2/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	const plenty = 4 << 20 // four times what a careful client takes
	if n, err := io.CopyN(io.Discard, response.Body, plenty); err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A client that parses the challenge gets a token, in each spelling.
func TestChallengeSpellings(t *testing.T) {
	for server := range bearerSpellings {
		g := Start(t, server)
		c := client(t, g, nil)
		bare := ask(t, c, "https://registry.test/v2/", nil)
		if bare.status != 401 || len(bare.challenge) == 0 || strings.Contains(strings.Join(bare.challenge, ""), "%!") {
			t.Errorf("%s: %+v", server, bare)
		}
		given := token(t, ask(t, c, "https://registry.test/token", basic(User, Password)))
		if a := ask(t, c, "https://registry.test/v2/", given); a.status != 200 {
			t.Errorf("%s: %+v", server, a)
		}
	}
}

func TestProxies(t *testing.T) {
	for server, status := range map[string]int{"proxy": 200, "proxy-407": 407, "proxy-403": 403, "proxy-502": 502} {
		t.Run(server, func(t *testing.T) {
			g := Start(t, server)
			c := client(t, g, nil)
			var seen int
			transport := c.Transport.(*http.Transport)
			transport.Proxy = http.ProxyURL(g.ProxyURL())
			transport.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
				seen = r.StatusCode
				return nil
			}
			response, err := c.Get("https://registry.test/v2/")
			if err == nil {
				_ = response.Body.Close()
			}
			if seen != status || (err == nil) != (status == 200) {
				t.Errorf("the proxy returned %d, %v", seen, err)
			}
			if dials := g.Dials(); len(dials) != 1 || !strings.HasSuffix(dials[0], ":3128") {
				t.Errorf("dialed %v", dials)
			}
		})
	}
}
