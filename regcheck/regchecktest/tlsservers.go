package regchecktest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"strings"
	"time"
)

// The TLS matrix: one server per way in which a handshake or a certificate goes wrong.

func tlsServers() map[string]builder {
	all := map[string]builder{}
	for name, make := range leaves() {
		all[name] = func(g *Registry) { g.tlsAt("registry.test:443", make(g.pki), nil) }
	}
	for name, change := range handshakes {
		all[name] = func(g *Registry) {
			g.tlsAt("registry.test:443", leaf{}, func(c *tls.Config) { change(g.pki, c) })
		}
	}
	all["tls-ip"] = func(g *Registry) {
		g.Endpoint = "https://10.20.30.40"
		g.tlsAt("10.20.30.40:443", leaf{addresses: []string{"10.20.30.40"}}, nil)
	}
	all["tls-ip-without-san"] = func(g *Registry) {
		g.Endpoint = "https://10.20.30.40"
		g.tlsAt("10.20.30.40:443", leaf{commonName: "10.20.30.40"}, nil)
	}
	all["tls-hostile-names"] = func(g *Registry) { // the subject is shown to the user
		g.tlsAt("registry.test:443", leaf{selfSigned: true, commonName: "\x1b[31mevil\u202e" + strings.Repeat("x", 3000)}, nil)
	}
	all["tls-expired-ca"] = buildExpiredCA
	all["tls-huge-key"] = buildHugeKey
	for name, sent := range map[string]int{"tls-longest-chain": 9, "tls-endless-chain": 10} { // after the leaf
		all[name] = func(g *Registry) { g.chainOf(sent) }
	}
	all["tls-http-server"] = func(g *Registry) { // plain HTTP where TLS is expected
		g.start(&site{host: "registry.test:443", handler: g.openRegistry(), endpoint: true})
	}
	all["tls-client-nginx"] = buildNginxClientCertificate
	all["tls-client-forbidden"] = buildForbidsWithoutCertificate
	for name, change := range clientCertificateHosts {
		all["tls-"+name] = func(g *Registry) { g.clientCertificate(change, false) }
		all["token-"+name] = func(g *Registry) { g.tokensBehind(&tokenService{g: g, post: true}, change, false) }
		all["redirect-to-"+name] = func(g *Registry) { g.redirectToTLS(leaf{names: []string{"other.test"}}, change) }
	}
	required := clientCertificateHosts["client-required"]
	all["tls-client-required-http2"] = func(g *Registry) { g.clientCertificate(required, true) }
	all["token-client-required-http2"] = func(g *Registry) { g.tokensBehind(&tokenService{g: g, post: true}, required, true) }
	all["token-client-nginx"] = func(g *Registry) { // which reports the missing certificate over HTTP
		page := status(400, "text/html", nginxPage("No required SSL certificate was sent"))
		g.tokensBehind(page, func(p *pki, c *tls.Config) { p.wantClient(c, tls.RequestClientCert, 0) }, false)
	}
	all["redirect-to-private-ca"] = func(g *Registry) {
		g.redirectToTLS(leaf{names: []string{"other.test"}, by: g.pki.private}, nil)
	}
	all["redirect-to-wrong-name"] = func(g *Registry) { g.redirectToTLS(leaf{}, nil) }
	all["tls-client-other-host-token"] = buildClientCertificateAndTokenHost
	return all
}

// tlsAt starts an htpasswd registry behind a certificate.
func (g *Registry) tlsAt(host string, l leaf, change func(*tls.Config)) {
	config := g.tls(l)
	if change != nil {
		change(config)
	}
	g.start(&site{host: host, tls: config, handler: g.htpasswdRegistry("Registry Realm"), trusted: true, endpoint: true})
}

func leaves() map[string]func(*pki) leaf {
	day := 24 * time.Hour
	return map[string]func(*pki) leaf{
		"tls-private-ca":                  func(p *pki) leaf { return leaf{by: p.private} },
		"tls-chain":                       func(p *pki) leaf { return leaf{by: p.middle, send: []*authority{p.middle}} },
		"tls-chain-with-root":             func(p *pki) leaf { return leaf{by: p.private, send: []*authority{p.private}} },
		"tls-missing-intermediate":        func(p *pki) leaf { return leaf{by: p.middle, issuerURL: "http://pki.test/issuing.crt"} },
		"tls-missing-intermediate-unsaid": func(p *pki) leaf { return leaf{by: p.middle} },
		"tls-self-signed":                 func(*pki) leaf { return leaf{selfSigned: true} },
		"tls-wrong-name": func(*pki) leaf {
			return leaf{commonName: "other.test", names: []string{"other.test", "*.unrelated.test"}}
		},
		"tls-no-san":             func(*pki) leaf { return leaf{names: []string{}} },
		"tls-expired":            func(p *pki) leaf { return leaf{from: p.now.Add(-90 * day), until: p.now.Add(-day)} },
		"tls-not-yet-valid":      func(p *pki) leaf { return leaf{from: p.now.Add(3 * day), until: p.now.Add(90 * day)} },
		"tls-expires-soon":       func(p *pki) leaf { return leaf{until: p.now.Add(10 * day)} },
		"tls-private-ca-expired": func(p *pki) leaf { return leaf{by: p.private, from: p.now.Add(-90 * day), until: p.now.Add(-day)} },
	}
}

var handshakes = map[string]func(*pki, *tls.Config){
	"tls-client-optional":  func(p *pki, c *tls.Config) { p.wantClient(c, tls.VerifyClientCertIfGiven, 0) },
	"tls-client-requested": func(p *pki, c *tls.Config) { p.wantClient(c, tls.RequestClientCert, 0) },
	"tls-1.2":              func(_ *pki, c *tls.Config) { c.MaxVersion = tls.VersionTLS12 },
	"tls-1.1":              func(_ *pki, c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 },
	"tls-1.0":              func(_ *pki, c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10 },
	"tls-alert": func(_ *pki, c *tls.Config) {
		c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errNoConfig{} }
	},
}

type errNoConfig struct{}

func (errNoConfig) Error() string { return "no such host here" }

// buildExpiredCA has a valid leaf and an expired authority.
func buildExpiredCA(g *Registry) {
	old, err := g.pki.authority("Expired Root CA", nil, g.pki.now.AddDate(-2, 0, 0), g.pki.now.AddDate(0, 0, -2))
	g.fail(err)
	g.pki.private = old // what auth.tls.ca then holds
	g.tlsAt("registry.test:443", leaf{by: old}, nil)
}

// chainOf sends that many unneeded authorities after a valid leaf.
func (g *Registry) chainOf(sent int) {
	l := leaf{}
	for range sent {
		l.send = append(l.send, g.pki.middle)
	}
	g.tlsAt("registry.test:443", l, nil)
}

// buildHugeKey: a certificate whose RSA key would cost the client seconds of work.
func buildHugeKey(g *Registry) {
	huge, err := newHugeKey(16384)
	if err != nil {
		g.fail(err)
		return
	}
	template := g.pki.template("registry.test", g.pki.now.Add(-time.Hour), g.pki.now.AddDate(1, 0, 0))
	template.DNSNames = []string{"registry.test"}
	der, err := x509.CreateCertificate(rand.Reader, template, g.pki.system.certificate, &huge.public, g.pki.system.key)
	g.fail(err)
	g.tlsAt("registry.test:443", leaf{}, func(c *tls.Config) {
		c.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: huge}}
	})
}

// hugeKey is an RSA key that would take too long to generate: a number of its size, and signatures
// that are random. A client must not verify them.
type hugeKey struct{ public rsa.PublicKey }

func newHugeKey(bits int) (*hugeKey, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), uint(bits)))
	if err != nil {
		return nil, err
	}
	n.SetBit(n, bits-1, 1).SetBit(n, 0, 1)
	return &hugeKey{rsa.PublicKey{N: n, E: 65537}}, nil
}

func (k *hugeKey) Public() crypto.PublicKey { return &k.public }

func (k *hugeKey) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return make([]byte, k.public.Size()), nil
}

// Roots returns the roots that replace those of the operating system in this test network.
func (g *Registry) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(g.pki.system.certificate)
	return pool
}
