package regchecktest

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
)

// Hosts that require a client certificate: the registry itself, its token service, the target of its redirect.

// clientCertificateHosts are the ways in which a host ends the connection of a client without certificate. With
// TLS 1.3 the client has finished its handshake by then.
var clientCertificateHosts = map[string]func(*pki, *tls.Config){
	"client-required":           func(p *pki, c *tls.Config) { p.wantClient(c, tls.RequireAndVerifyClientCert, 0) },
	"client-required-1.2":       func(p *pki, c *tls.Config) { p.wantClient(c, tls.RequireAndVerifyClientCert, tls.VersionTLS12) },
	"client-required-reset":     func(p *pki, c *tls.Config) { p.resetWithoutClient(c, 0) },
	"client-required-reset-1.2": func(p *pki, c *tls.Config) { p.resetWithoutClient(c, tls.VersionTLS12) },
}

func (p *pki) wantClient(c *tls.Config, how tls.ClientAuthType, maxVersion uint16) {
	c.ClientAuth, c.MaxVersion = how, maxVersion
	c.ClientCAs = x509.NewCertPool()
	c.ClientCAs.AddCert(p.clients.certificate)
}

// resetWithoutClient resets the connection of a client without certificate instead of sending an alert.
func (p *pki) resetWithoutClient(c *tls.Config, maxVersion uint16) {
	p.wantClient(c, tls.VerifyClientCertIfGiven, maxVersion)
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		own := c.Clone()
		own.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) > 0 {
				return nil
			}
			reset(hello.Conn)
			return net.ErrClosed
		}
		return own, nil
	}
}

// reset closes a TCP connection by RST.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// buildNginxClientCertificate completes the handshake and rejects a missing certificate by HTTP.
func buildNginxClientCertificate(g *Registry) {
	config := g.tls(leaf{})
	g.pki.wantClient(config, tls.RequestClientCert, 0)
	s := g.htpasswdRegistry("Registry Realm")
	g.start(&site{host: "registry.test:443", tls: config, trusted: true, endpoint: true,
		handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v := &visit{w: w, r: r}
			switch sent := r.TLS.PeerCertificates; {
			case len(sent) == 0:
				v.send(400, "text/html", nginxPage("No required SSL certificate was sent"))
			case sent[0].CheckSignatureFrom(g.pki.clients.certificate) != nil:
				v.send(400, "text/html", nginxPage("The SSL certificate error"))
			default:
				s.ServeHTTP(w, r)
			}
		})})
}

// buildForbidsWithoutCertificate returns 403 to clients without a certificate, as Apache and HAProxy do.
func buildForbidsWithoutCertificate(g *Registry) {
	config := g.tls(leaf{})
	g.pki.wantClient(config, tls.RequestClientCert, 0)
	s := g.openRegistry()
	g.start(&site{host: "registry.test:443", tls: config, trusted: true, endpoint: true,
		handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.TLS.PeerCertificates) == 0 {
				http.Error(w, "Forbidden", http.StatusForbidden)
				return
			}
			s.ServeHTTP(w, r)
		})})
}

func nginxPage(title string) string {
	return "<html>\r\n<head><title>400 " + title + "</title></head>\r\n<body>\r\n<center><h1>400 Bad Request</h1></center>\r\n<center>" +
		title + "</center>\r\n<hr><center>nginx/1.26.3</center>\r\n</body>\r\n</html>\r\n"
}

// buildClientCertificateAndTokenHost: both hosts ask for a client certificate; only the endpoint may get it.
func buildClientCertificateAndTokenHost(g *Registry) {
	registry := g.tls(leaf{})
	g.pki.wantClient(registry, tls.RequireAndVerifyClientCert, 0)
	tokens := registry.Clone()
	tokens.ClientAuth = tls.RequestClientCert
	g.start(&site{host: "auth.test:443", tls: tokens, handler: &tokenService{g: g, post: true}, trusted: true})
	g.start(&site{host: "registry.test:443", tls: registry, trusted: true, endpoint: true,
		handler: g.tokenRegistry("https://auth.test/token", "registry.test")})
}

// clientCertificate: the registry itself requires one.
func (g *Registry) clientCertificate(change func(*pki, *tls.Config), http2 bool) {
	config := g.tls(leaf{})
	change(g.pki, config)
	g.start(&site{host: "registry.test:443", tls: config, handler: g.htpasswdRegistry("Registry Realm"), trusted: true,
		endpoint: true, http2: http2})
}

// tokensBehind puts a token service onto "https://auth.test", with change made to its TLS, before a registry that names it.
func (g *Registry) tokensBehind(service http.Handler, change func(*pki, *tls.Config), http2 bool) {
	config := g.tls(leaf{commonName: "auth.test"})
	if change != nil {
		change(g.pki, config)
	}
	g.start(&site{host: "auth.test:443", tls: config, handler: service, trusted: true, http2: http2})
	g.at(g.tokenRegistry("https://auth.test/token", "registry.test"))
}

// redirectToTLS redirects the whole registry to an open one on another host, with that certificate.
func (g *Registry) redirectToTLS(l leaf, change func(*pki, *tls.Config)) {
	config := g.tls(l)
	if change != nil {
		change(g.pki, config)
	}
	g.start(&site{host: "other.test:443", tls: config, handler: g.openRegistry()})
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://other.test"+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}))
}
