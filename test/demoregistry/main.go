// Command demoregistry is a real OCI registry (distribution) on loopback for "make demo": TLS by a
// private CA, one user, one Helm chart. It serves until it is stopped and stores nothing on disk.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd" // registers itself
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory" // registers itself
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// The one user, and the one chart.
const (
	user     = "demo"
	password = "correct-horse-battery-staple"
	chart    = "charts/hello"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: demoregistry DIR   (writes DIR/ca.pem, and DIR/address once it serves)")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "demoregistry:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	logrus.SetOutput(io.Discard) // the demo shows the log of regwarden only
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	certificate, ca, err := issue()
	if err != nil {
		return err
	}
	handler, err := registry(ctx, dir)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}))
	}()
	address := listener.Addr().String()
	if err := push(ctx, address, ca); err != nil {
		return fmt.Errorf("push the chart: %w", err)
	}
	caPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), caPEM, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "address"), []byte(address), 0o600); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return server.Close()
	}
}

func registry(ctx context.Context, dir string) (http.Handler, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		return nil, err
	}
	users := filepath.Join(dir, "htpasswd")
	if err := os.WriteFile(users, []byte(user+":"+string(hash)+"\n"), 0o600); err != nil {
		return nil, err
	}
	config := &configuration.Configuration{
		Storage: configuration.Storage{"inmemory": configuration.Parameters{}},
		Auth:    configuration.Auth{"htpasswd": configuration.Parameters{"realm": "demo", "path": users}},
	}
	config.HTTP.Secret = rand.Text()
	config.Catalog.MaxEntries = 1000 // the default of a configuration file
	return handlers.NewApp(ctx, config), nil
}

// push puts a chart into the registry as "helm push" does.
func push(ctx context.Context, address string, ca *x509.Certificate) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	repository, err := remote.NewRepository(address + "/" + chart)
	if err != nil {
		return err
	}
	repository.Client = &auth.Client{
		Client:     &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}},
		Credential: auth.StaticCredential(address, auth.Credential{Username: user, Password: password}),
	}
	store := memory.New()
	config, err := oras.PushBytes(ctx, store, "application/vnd.cncf.helm.config.v1+json", []byte(`{"name":"hello","version":"1.0.0","apiVersion":"v2"}`))
	if err != nil {
		return err
	}
	layer, err := oras.PushBytes(ctx, store, "application/vnd.cncf.helm.chart.content.v1.tar+gzip", []byte("a chart"))
	if err != nil {
		return err
	}
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_0, "", oras.PackManifestOptions{ConfigDescriptor: &config, Layers: []v1.Descriptor{layer}})
	if err != nil {
		return err
	}
	if err := store.Tag(ctx, manifest, "1.0.0"); err != nil {
		return err
	}
	_, err = oras.Copy(ctx, store, "1.0.0", repository, "1.0.0", oras.DefaultCopyOptions)
	return err
}

// issue makes a private CA and a server certificate below it for 127.0.0.1.
func issue() (tls.Certificate, *x509.Certificate, error) {
	now := time.Now()
	caTemplate := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Demo Private CA"}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca, caKey, err := sign(caTemplate, nil, nil)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	leaf, leafKey, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "demo registry"}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 6, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, caKey)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{leaf.Raw, ca.Raw}, PrivateKey: leafKey}, ca, nil
}

// sign signs the template by parent, by itself when there is none.
func sign(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return certificate, key, err
}
