package regchecktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"time"
)

// authority is a certificate that signs others.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// pki signs the certificates of a world.
type pki struct {
	serial int64
	now    time.Time
	authorities
}

// authorities are the same in all worlds of a process: their keys and certificates took a tenth of the matrix' time. They
// live in memory.
type authorities struct {
	system  *authority // stands for the roots of the operating system
	private *authority // a company's own root: what auth.tls.ca is for
	middle  *authority // an intermediate below private
	other   *authority // a root that has nothing to do with any server
	clients *authority // signs client certificates that servers take
}

var sharedAuthorities = sync.OnceValues(makeAuthorities)

func newPKI() (*pki, error) {
	shared, err := sharedAuthorities()
	return &pki{serial: 100, now: time.Now(), authorities: shared}, err
}

func makeAuthorities() (authorities, error) {
	p := &pki{now: time.Now()}
	for _, one := range []struct {
		into  **authority
		name  string
		above **authority
	}{
		{&p.system, "System Root", nil}, {&p.private, "Example Corp Root CA", nil}, {&p.other, "Unrelated Root CA", nil},
		{&p.clients, "Example Corp Client CA", nil}, {&p.middle, "Example Corp Issuing CA", &p.private},
	} {
		var above *authority
		if one.above != nil {
			above = *one.above
		}
		made, err := p.authority(one.name, above, p.now.Add(-time.Hour), p.now.AddDate(10, 0, 0))
		if err != nil {
			return authorities{}, err
		}
		*one.into = made
	}
	return p.authorities, nil
}

func (p *pki) authority(name string, above *authority, from, until time.Time) (*authority, error) {
	template := p.template(name, from, until)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	certificate, key, err := sign(template, above)
	return &authority{certificate, key}, err
}

func (p *pki) template(name string, from, until time.Time) *x509.Certificate {
	p.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(p.serial),
		Subject:      pkix.Name{CommonName: name, Organization: []string{"Example Corp"}},
		NotBefore:    from, NotAfter: until,
	}
}

// sign makes a key and its certificate; above nil means that it signs itself.
func sign(template *x509.Certificate, above *authority) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	parent, signer := template, key
	if above != nil {
		parent, signer = above.certificate, above.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return certificate, key, err
}

// leaf describes a server's or client's certificate. The zero value is a good one of the system's
// root for registry.test, valid for a year.
type leaf struct {
	by          *authority   // nil: system root
	names       []string     // nil: registry.test and auth.test; empty: no SAN at all
	commonName  string       // "registry.test"
	addresses   []string     // IP SANs
	from, until time.Time    // zero: an hour ago, in a year
	issuerURL   string       // where the issuer can be fetched
	selfSigned  bool         // not by a CA
	send        []*authority // sent after the leaf
	client      bool
}

func (p *pki) certificate(l leaf) (tls.Certificate, error) {
	if l.from.IsZero() {
		l.from = p.now.Add(-time.Hour)
	}
	if l.until.IsZero() {
		l.until = p.now.AddDate(1, 0, 0)
	}
	if l.by == nil && !l.selfSigned {
		l.by = p.system
	}
	if l.commonName == "" {
		l.commonName = "registry.test"
	}
	if l.names == nil {
		l.names = []string{"registry.test", "auth.test"}
	}
	template := p.template(l.commonName, l.from, l.until)
	template.DNSNames = l.names
	for _, a := range l.addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(a))
	}
	if l.issuerURL != "" {
		template.IssuingCertificateURL = []string{l.issuerURL}
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if l.client {
		template.ExtKeyUsage, template.DNSNames = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, nil
	}
	certificate, key, err := sign(template, l.by)
	if err != nil {
		return tls.Certificate{}, err
	}
	chain := tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key, Leaf: certificate}
	for _, a := range l.send {
		chain.Certificate = append(chain.Certificate, a.certificate.Raw)
	}
	return chain, nil
}

func pemOf(certificate *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
}

func pemOfKey(key any) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}
