package main

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
	"time"
)

// authority is the private CA of the demo.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority() (*authority, error) {
	return (*authority)(nil).sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "Demo Private CA"}, NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
}

// PEM returns the certificate as definitions have it.
func (a *authority) PEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}))
}

// server returns a configuration with a certificate for this machine.
func (a *authority) server(until time.Time) (*tls.Config, error) {
	leaf, err := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "registry"}, NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, err
	}
	certificate := tls.Certificate{Certificate: [][]byte{leaf.certificate.Raw, a.certificate.Raw}, PrivateKey: leaf.key}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

// sign signs a certificate, by itself if the authority is nil.
func (a *authority) sign(template *x509.Certificate) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, err
	}
	signer := a
	if signer == nil {
		signer = &authority{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, key.Public(), signer.key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate, key}, err
}
