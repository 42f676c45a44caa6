package regchecktest

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
)

// Words are what data files may write instead of values that differ in each test network:
// "${endpoint}", "${ca}", "${clientCertificate}", …
func (g *Registry) Words() (map[string]string, error) {
	words := map[string]string{
		"endpoint": g.Endpoint, "basePath": g.BasePath, "loopback": g.Loopback(),
		"user": User, "password": Password, "token": Token,
		"robot": RobotUser, "robotPassword": RobotPassword,
		"admin": AdminUser, "adminPassword": AdminPassword,
		"expiredPassword": ExpiredPassword, "wrongPassword": WrongPassword, "wrongToken": WrongToken,
		"systemCA": pemOf(g.pki.system.certificate), "ca": pemOf(g.pki.private.certificate),
		"intermediate": pemOf(g.pki.middle.certificate), "otherCA": pemOf(g.pki.other.certificate),
		"server": g.serverPEM(),
	}
	for prefix, l := range map[string]leaf{
		"client":        {by: g.pki.clients, client: true, commonName: "regwarden"},
		"foreignClient": {by: g.pki.other, client: true, commonName: "unknown client"},
		"soonClient":    {by: g.pki.clients, client: true, commonName: "soon", until: g.pki.now.AddDate(0, 0, 10)},
		"expiredClient": {by: g.pki.clients, client: true, commonName: "late", from: g.pki.now.AddDate(-1, 0, 0),
			until: g.pki.now.AddDate(0, 0, -1)},
	} {
		made, err := g.pki.certificate(l)
		if err != nil {
			return nil, err
		}
		key, err := pemOfKey(made.PrivateKey)
		if err != nil {
			return nil, err
		}
		words[prefix+"Certificate"], words[prefix+"Key"] = pemOf(made.Leaf), key
	}
	return words, nil
}

// serverPEM is the certificate that the endpoint's server shows, "" when it shows none.
func (g *Registry) serverPEM() string {
	for _, s := range g.sites {
		if s.endpoint && s.tls != nil {
			return pemOfTLS(s.tls.Certificates[0])
		}
	}
	return ""
}

func pemOfTLS(c tls.Certificate) string {
	parsed, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return ""
	}
	return pemOf(parsed)
}

// Expand replaces the words in a text.
func Expand(text string, words map[string]string) string {
	pairs := make([]string, 0, 2*len(words))
	for word, value := range words {
		pairs = append(pairs, "${"+word+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
