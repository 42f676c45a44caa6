package regchecktest

import (
	"crypto/tls"
	"net/http"
)

// tokensBehind puts a token service onto "https://auth.test", with change made to its TLS, before a registry that names it.
func (g *Registry) tokensBehind(service http.Handler, change func(*pki, *tls.Config), http2 bool) error {
	config, err := g.tls(leaf{commonName: "auth.test"})
	if err != nil {
		return err
	}
	if change != nil {
		change(g.pki, config)
	}
	if err := g.start(&site{host: "auth.test:443", tls: config, handler: service, trusted: true, http2: http2}); err != nil {
		return err
	}
	return g.at(g.tokenRegistry("https://auth.test/token", "registry.test"))
}
