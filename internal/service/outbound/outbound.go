// Package outbound sends HTTP requests to hosts that users name: each over a new connection, to an address that the policy allows.
package outbound

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/egress"
)

const (
	connectTimeout  = 5 * time.Second
	responseTimeout = 15 * time.Second
	maxHeader       = 64 << 10
)

// Dialer connects to hosts that users name. The zero values are the system's resolver, dialer and roots, the zero policy and no proxy.
type Dialer struct {
	Egress       egress.Policy
	Resolver     egress.Resolver
	Dialer       egress.Dialer
	Roots        *x509.CertPool
	Proxy        func(target *url.URL) (*url.URL, error)
	ProxyConnect egress.ProxyConnect // the target that the proxy gets

	MaxBody int64 // of the response to RoundTrip; 0 means 64 KiB
}

// Guard returns the guard of the address policy.
func (d Dialer) Guard() *egress.Guard {
	return &egress.Guard{Policy: d.Egress, Resolver: d.Resolver, Dialer: d.Dialer, Proxy: d.Proxy, ProxyConnect: d.ProxyConnect,
		Roots: d.Roots}
}

// Open connects to an origin, or to its proxy.
func (d Dialer) Open(ctx context.Context, origin egress.Origin) (*egress.Target, net.Conn, error) {
	reachCtx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	guard := d.Guard()
	target, err := guard.Reach(reachCtx, origin)
	if err != nil {
		return nil, nil, err
	}
	dialCtx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, _, err := guard.Dial(dialCtx, target)
	return target, conn, err
}

// Transport returns a transport for one request, so that two share no connection, and its open connection. net/http would dial in a
// goroutine of its own, where a panic ends the program.
func (d Dialer) Transport(ctx context.Context, to *url.URL) (*http.Transport, net.Conn, error) {
	origin, err := egress.ReadOrigin(to)
	if err != nil {
		return nil, nil, err
	}
	target, conn, err := d.Open(ctx, origin)
	if err != nil {
		return nil, nil, err
	}
	t := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		TLSHandshakeTimeout: connectTimeout, ResponseHeaderTimeout: responseTimeout,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: d.Roots},
		DialContext:     func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	if proxy := target.Forward(); proxy != nil {
		t.Proxy = http.ProxyURL(proxy)
	}
	return t, conn, nil
}

// RoundTrip sends one request. It implements http.RoundTripper.
func (d Dialer) RoundTrip(r *http.Request) (*http.Response, error) {
	transport, conn, err := d.Transport(r.Context(), r.URL)
	if err != nil {
		return nil, err
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	response.Body = &limitedBody{http.MaxBytesReader(nil, response.Body, cmp.Or(d.MaxBody, maxHeader)), conn}
	return response, nil
}

// limitedBody ends the connection of a request with its response.
type limitedBody struct {
	io.ReadCloser
	conn net.Conn
}

// Close implements io.Closer.
func (b *limitedBody) Close() error {
	err := b.ReadCloser.Close()
	_ = b.conn.Close()
	return err
}
