package regcheck

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

const (
	maxAddresses = 8                      // of one name; the rest is not tried
	nextAddress  = 250 * time.Millisecond // RFC 8305, connection attempt delay
)

// dial opens TCP to the first judged address that answers, or to the proxy.
func (w *wire) dial(ctx context.Context, p *peer) (*turnConn, netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limits.Connect)
	defer cancel()
	conn, at, err := w.dialPeer(ctx, p)
	if err != nil {
		return nil, at, err
	}
	return w.turns.inTurn(conn), at, nil
}

func (w *wire) dialPeer(ctx context.Context, p *peer) (conn net.Conn, at netip.AddrPort, err error) {
	if p.proxyErr != nil {
		return nil, at, &proxyError{err: p.proxyErr}
	}
	if p.proxy != nil {
		conn, err = w.dialProxy(ctx, p)
		return conn, at, err
	}
	return w.dialAny(ctx, p.addresses)
}

type dialled struct {
	conn net.Conn
	at   netip.AddrPort
	err  error
}

// dialAny starts with the first address and tries the next one when it fails or takes long. The
// first connection wins; the others are closed. Everything has ended when dialAny returns.
func (w *wire) dialAny(ctx context.Context, addresses []netip.AddrPort) (net.Conn, netip.AddrPort, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	addresses = addresses[:min(len(addresses), maxAddresses)]
	results := make(chan dialled)
	started, ended := 0, 0
	start := func() {
		at := addresses[started]
		started++
		w.work.do(func() {
			r := dialled{at: at, err: errPanicked}
			defer func() { results <- r }()
			r.conn, r.err = w.dialer.DialContext(ctx, "tcp", at.String())
		})
	}
	start()
	timer := time.NewTimer(nextAddress)
	defer timer.Stop()
	var won dialled
	var failures []error
	for ended < started {
		select {
		case r := <-results:
			ended++
			switch {
			case r.err != nil:
				failures = append(failures, r.err)
			case won.conn == nil:
				won = r
				cancel()
			default:
				_ = r.conn.Close()
			}
			if r.err != nil && won.conn == nil && started < len(addresses) && ctx.Err() == nil {
				start()
			}
		case <-timer.C:
			if won.conn == nil && started < len(addresses) {
				start()
				timer.Reset(nextAddress)
			}
		}
	}
	if won.conn != nil {
		return won.conn, won.at, nil
	}
	return nil, netip.AddrPort{}, errors.Join(failures...)
}

// proxyError is what an outbound proxy answered to CONNECT.
type proxyError struct {
	host   string
	status int // 0: it could not be reached, or spoke no HTTP
	err    error
}

func (e *proxyError) Error() string {
	if e.status != 0 {
		return fmt.Sprintf("proxy %s answered %d", e.host, e.status)
	}
	return fmt.Sprintf("proxy %s: %v", e.host, e.err)
}

func (e *proxyError) Unwrap() error { return e.err }

// dialProxy connects to the proxy; for TLS it asks it for a tunnel. The tunnel is asked for by name:
// proxies decide by name, and the operator chose to trust this one with the look-up.
func (w *wire) dialProxy(ctx context.Context, p *peer) (net.Conn, error) {
	conn, err := w.dialProxyHost(ctx, p.proxy)
	if err != nil {
		return nil, &proxyError{host: p.proxy.Host, err: err}
	}
	if p.scheme == "http" {
		return conn, nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	status, err := w.tunnel(conn, p)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || status/100 != 2 {
		_ = conn.Close()
		return nil, &proxyError{p.proxy.Host, status, err}
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, nil
}

func (w *wire) tunnel(conn net.Conn, p *peer) (status int, err error) {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: p.hostPort()}, Host: p.hostPort(), Header: http.Header{}}
	if auth := proxyAuthorization(p.proxy); auth != "" {
		request.Header.Set("Proxy-Authorization", auth)
	}
	if err := request.Write(conn); err != nil {
		return 0, err
	}
	// Nothing follows the answer before we speak, so the reader takes no byte of the tunnel along.
	answer, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, w.limits.Header)), request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, nil
}

func (w *wire) dialProxyHost(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	port := uint16(defaultPort(proxy.Scheme))
	if text := proxy.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, err
		}
		port = uint16(n)
	}
	addresses, err := w.proxyAddresses(ctx, proxy, port)
	if err != nil {
		return nil, err
	}
	conn, _, err := w.dialAny(ctx, addresses)
	if err != nil || proxy.Scheme != "https" {
		return conn, err
	}
	secured := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: proxy.Hostname(), RootCAs: w.roots, Time: w.now})
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

// proxyAddresses are not judged: the operator named the proxy, and no definition can.
func (w *wire) proxyAddresses(ctx context.Context, proxy *url.URL, port uint16) ([]netip.AddrPort, error) {
	host := proxy.Hostname()
	found := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		found = append(found, a)
	} else if found, err = w.resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	var addresses []netip.AddrPort
	for _, a := range found {
		addresses = append(addresses, netip.AddrPortFrom(a.Unmap(), port))
	}
	return addresses, nil
}

func proxyAuthorization(proxy *url.URL) string {
	if proxy.User == nil {
		return ""
	}
	password, _ := proxy.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+password))
}
