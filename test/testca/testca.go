// Package testca is a small certificate authority for tests: roots, intermediates, server and client
// certificates, and the ones that are out of date. Keys live in memory only.
package testca

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
	"testing"
	"time"
)

// CA signs certificates.
type CA struct {
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	chain string // PEM of the certificates between what this CA signs and its root
}

// Pair is a certificate with its key, in PEM. The certificate is followed by its intermediates.
type Pair struct {
	Certificate, Key string
}

// Options has what to sign. The zero value is a server certificate for 127.0.0.1 and localhost, valid now.
type Options struct {
	Name                string
	Hosts               []string // names and addresses
	Client              bool     // for clients instead of servers
	NotBefore, NotAfter time.Time
}

// New makes a root.
func New(t testing.TB, name string) *CA {
	t.Helper()
	key := newKey(t)
	template := authority(name)
	return &CA{cert: sign(t, template, template, &key.PublicKey, key), key: key}
}

// Intermediate makes an authority below ca. What it signs is served with its certificate.
func (ca *CA) Intermediate(t testing.TB, name string) *CA {
	t.Helper()
	key := newKey(t)
	cert := sign(t, authority(name), ca.cert, &key.PublicKey, ca.key)
	return &CA{cert: cert, key: key, chain: encode("CERTIFICATE", cert.Raw) + ca.chain}
}

// PEM is the authority's own certificate.
func (ca *CA) PEM() string { return encode("CERTIFICATE", ca.cert.Raw) }

// Pool holds the authority and nothing else.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

// Issue signs a certificate for a new key.
func (ca *CA) Issue(t testing.TB, options Options) Pair {
	t.Helper()
	key := newKey(t)
	return pair(t, sign(t, leaf(options), ca.cert, &key.PublicKey, ca.key), key, ca.chain)
}

func pair(t testing.TB, cert *x509.Certificate, key *ecdsa.PrivateKey, chain string) Pair {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatalf("encode a test key: %v", err)
	}
	return Pair{Certificate: encode("CERTIFICATE", cert.Raw) + chain, Key: encode("PRIVATE KEY", der)}
}

// SelfSigned makes a server certificate for 127.0.0.1 that is signed by its own key only.
func SelfSigned(t testing.TB) Pair {
	t.Helper()
	key := newKey(t)
	template := leaf(Options{Name: "self-signed"})
	return pair(t, sign(t, template, template, &key.PublicKey, key), key, "")
}

// TLS is the pair as the standard library wants it.
func (p Pair) TLS(t testing.TB) tls.Certificate {
	t.Helper()
	cert, err := tls.X509KeyPair([]byte(p.Certificate), []byte(p.Key))
	if err != nil {
		t.Fatalf("read back a test certificate: %v", err)
	}
	return cert
}

func authority(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
}

func leaf(options Options) *x509.Certificate {
	cert := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: options.Name},
		NotBefore: options.NotBefore, NotAfter: options.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if options.Client {
		cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	} else if len(options.Hosts) == 0 {
		options.Hosts = []string{"127.0.0.1", "localhost"}
	}
	if cert.NotBefore.IsZero() {
		cert.NotBefore = time.Now().Add(-time.Hour)
	}
	if cert.NotAfter.IsZero() { // past the 30 days in which an expiry is warned of
		cert.NotAfter = time.Now().Add(60 * 24 * time.Hour)
	}
	for _, host := range options.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, host)
		}
	}
	return cert
}

func sign(t testing.TB, template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatalf("sign a test certificate: %v", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("read back a test certificate: %v", err)
	}
	return cert
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("make a test key: %v", err)
	}
	return key
}

func serial() *big.Int { return new(big.Int).SetBytes([]byte(rand.Text()[:16])) }

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
