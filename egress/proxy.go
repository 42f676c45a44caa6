package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// maxProxyHeader bounds a proxy's response to CONNECT.
const maxProxyHeader = 64 << 10

// ProxyConnect selects what a proxy is asked to connect to. A proxy that gets a name resolves it itself, possibly to an
// address that the policy forbids.
type ProxyConnect uint8

const (
	// ConnectDefault is the checked address for https, where TLS carries the name, and the name for http, where the proxy
	// forwards single requests. A name that does not resolve here is left to the proxy.
	ConnectDefault ProxyConnect = iota
	// ConnectAddress is always a checked address, with a tunnel for http too. A name that does not resolve here cannot
	// be reached.
	ConnectAddress
	// ConnectName is always the name.
	ConnectName
)

// ErrProxyScheme is the cause of a ProxyError for a proxy of another protocol than HTTP, such as SOCKS.
var ErrProxyScheme = errors.New("only HTTP proxies are supported")

// ProxyError is why the proxy did not open a connection.
type ProxyError struct {
	Host      string // of the proxy; empty when its setting cannot be used
	Requested string // the address, or host and port, that the proxy was asked for; empty when it could not be reached
	ByAddress bool   // Requested is an address, although the target has a name
	Status    int    // of its response; 0: it could not be reached, or its response is not HTTP
	Err       error
}

func (e *ProxyError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("proxy %s returned %d", e.Host, e.Status)
	}
	return fmt.Sprintf("proxy %s: %v", e.Host, e.Err)
}

func (e *ProxyError) Unwrap() error { return e.Err }

// dialProxy connects to the proxy and requests a tunnel, unless the proxy forwards requests. It requests the next
// address when the proxy cannot reach one.
func (g *Guard) dialProxy(ctx context.Context, t *Target) (net.Conn, error) {
	if t.Forward() != nil {
		conn, err := g.dialProxyHost(ctx, t.proxy)
		if err != nil {
			return nil, &ProxyError{Host: t.proxy.Host, Err: err}
		}
		return conn, nil
	}
	var failed *ProxyError
	for _, to := range t.requested() {
		var conn net.Conn
		if conn, failed = g.dialTunnel(ctx, t.proxy, to); failed == nil {
			return conn, nil
		}
		failed.ByAddress = to != t.HostPort()
		if failed.Status < 500 || ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

// requested lists what the proxy is asked to connect to.
func (t *Target) requested() []string {
	if t.connect == ConnectName || len(t.Addresses) == 0 {
		return []string{t.HostPort()}
	}
	var all []string
	for _, a := range t.Addresses[:min(len(t.Addresses), maxAddresses)] {
		all = append(all, a.String())
	}
	return all
}

func (g *Guard) dialTunnel(ctx context.Context, proxy *url.URL, to string) (net.Conn, *ProxyError) {
	conn, err := g.dialProxyHost(ctx, proxy)
	if err != nil {
		return nil, &ProxyError{Host: proxy.Host, Err: err}
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	status, err := tunnel(conn, proxy, to)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || status/100 != 2 {
		_ = conn.Close()
		return nil, &ProxyError{Host: proxy.Host, Requested: to, Status: status, Err: err}
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, nil
}

func tunnel(conn net.Conn, proxy *url.URL, to string) (status int, err error) {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to}, Host: to, Header: http.Header{}}
	if auth := proxyAuthorization(proxy); auth != "" {
		request.Header.Set("Proxy-Authorization", auth)
	}
	if err := request.Write(conn); err != nil {
		return 0, err
	}
	// The other side sends nothing before we do, so the reader takes no byte of the tunnel.
	response, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, maxProxyHeader)), request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, nil
}

func (g *Guard) dialProxyHost(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	port := DefaultPort(proxy.Scheme)
	if text := proxy.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, err
		}
		port = uint16(n)
	}
	found, err := g.lookup(ctx, proxy.Hostname())
	if err != nil {
		return nil, err
	}
	var addresses []netip.AddrPort
	for _, a := range found {
		addresses = append(addresses, netip.AddrPortFrom(a.Unmap(), port))
	}
	conn, _, err := g.dialAny(ctx, addresses)
	if err != nil || proxy.Scheme != "https" {
		return conn, err
	}
	secured := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: proxy.Hostname(), RootCAs: g.Roots, Time: g.Now})
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

func proxyAuthorization(proxy *url.URL) string {
	if proxy.User == nil {
		return ""
	}
	password, _ := proxy.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+password))
}
