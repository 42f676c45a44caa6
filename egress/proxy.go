package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
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

// ProxyError says why the proxy did not give a connection.
type ProxyError struct {
	Host   string // of the proxy; empty when its setting cannot be used
	Status int    // of its response; 0: it could not be reached, or its response is not HTTP
	Err    error
}

func (e *ProxyError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("proxy %s answered %d", e.Host, e.Status)
	}
	return fmt.Sprintf("proxy %s: %v", e.Host, e.Err)
}

func (e *ProxyError) Unwrap() error { return e.Err }

// dialProxy connects to the proxy and requests a tunnel, unless the proxy forwards requests.
func (g *Guard) dialProxy(ctx context.Context, t *Target) (net.Conn, error) {
	conn, err := g.dialProxyHost(ctx, t.proxy)
	if err != nil {
		return nil, &ProxyError{Host: t.proxy.Host, Err: err}
	}
	if t.Forward() != nil {
		return conn, nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	status, err := tunnel(conn, t.proxy, t.HostPort())
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || status/100 != 2 {
		_ = conn.Close()
		return nil, &ProxyError{t.proxy.Host, status, err}
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
