package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/web/auxiliary"
	"github.com/regwarden/regwarden/internal/web/server"
	"github.com/regwarden/regwarden/internal/web/servercert"
)

// listeners are the addresses that the service has.
type listeners struct {
	main           net.Listener
	limited        *server.Listener        // main with bounds on its connections
	certificate    *servercert.Certificate // nil: no TLS
	address        string                  // the URL of main for clients
	metrics, debug net.Listener            // nil: off
}

// listen listens on all addresses.
func (p *process) listen(context.Context) error {
	c := &p.settings.Config
	main, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("%w; choose another address with --listen", err)
	}
	p.atEnd(func() { _ = main.Close() }) // the server closes it too; this is for earlier returns
	at := &p.listeners
	at.main = main
	if at.metrics, err = auxiliary.Listen(c.MetricsListen, "metrics"); err != nil {
		return err
	}
	if at.debug, err = listenDebug(c); err != nil {
		return err
	}
	at.certificate, err = servercert.Load(servercert.Settings{CertFile: c.TLSCert, KeyFile: c.TLSKey, SelfSigned: c.TLSSelfSigned,
		DataDir: c.DataDir, Listen: c.Listen}, p.log, time.Now)
	if err != nil {
		return err
	}
	proxies, err := c.Proxies()
	if err != nil {
		return err
	}
	at.address = publicAddress(main.Addr(), at.certificate != nil)
	at.limited = server.NewListener(main, server.ConnLimits{
		Connections: c.MaxConnections, PerSource: c.MaxConnectionsPerSource, Bytes: int64(c.RequestMemory) << 20, Proxies: proxies,
	})
	return nil
}

// listenDebug listens for requests of profiles, which show the content of memory.
func listenDebug(c *settings.Config) (net.Listener, error) {
	debug, err := auxiliary.Listen(c.DebugListen, "profiles")
	if err != nil || debug == nil {
		return nil, err
	}
	if at := debug.Addr().String(); !settings.IsLoopback(at) { // "localhost" may be any address
		return nil, fmt.Errorf("debug-listen: must be a loopback address such as 127.0.0.1:6060, but %s is %s here", c.DebugListen, at)
	}
	return debug, nil
}

// served is the listener of the HTTP server.
func (l listeners) served() net.Listener {
	if l.certificate != nil {
		return l.limited.WithTLS(l.certificate.Config())
	}
	return l.limited
}

// printURL prints where metrics or profiles are served, if they are: with port 0 only the listener knows.
func printURL(out io.Writer, what string, listener net.Listener, path string) {
	if listener != nil {
		fmt.Fprintf(out, "%s: %s%s\n", what, publicAddress(listener.Addr(), false), path)
	}
}

// publicAddress returns the URL of a listener for clients.
func publicAddress(addr net.Addr, tls bool) string {
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return scheme + addr.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + net.JoinHostPort(host, port)
}
