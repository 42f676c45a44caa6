// Package selfsigned creates the self-signed certificate of a server that is tried out.
package selfsigned

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

const (
	lifetime    = 365 * 24 * time.Hour
	renewBefore = 30 * 24 * time.Hour // its end
)

// Files returns the files of a self-signed certificate for this machine. It is stored in the data directory, so that clients can
// continue to trust it, and renewed if it expires soon or does not have the listening address.
func Files(dataDir, listen string, now time.Time) (certFile, keyFile string, err error) {
	certFile = filepath.Join(dataDir, "self-signed.crt")
	keyFile = filepath.Join(dataDir, "self-signed.key")
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return "", "", err
	}
	if pair, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil {
		if leaf := pair.Leaf; leaf.NotAfter.Sub(now) > renewBefore && leaf.VerifyHostname(nameOf(host)) == nil {
			return certFile, keyFile, nil
		}
	}
	certPEM, keyPEM, err := generate(nameOf(host), now)
	if err != nil {
		return "", "", err
	}
	if err := os.WriteFile(keyFile, keyPEM, 0o600); err != nil {
		return "", "", err
	}
	return certFile, keyFile, os.WriteFile(certFile, certPEM, 0o644) // #nosec G306 -- a certificate is public
}

// nameOf returns the name that clients use for a listening host: localhost for an unspecified address.
func nameOf(host string) string {
	if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr.IsUnspecified() {
		return "localhost"
	}
	return host
}

func generate(host string, now time.Time) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "regwarden (self-made)"},
		NotBefore:   now.Add(-time.Hour), // clocks differ
		NotAfter:    now.Add(lifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else if host != "localhost" {
		template.DNSNames = append(template.DNSNames, host)
	}
	if name, err := os.Hostname(); err == nil {
		template.DNSNames = append(template.DNSNames, name)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), nil
}
