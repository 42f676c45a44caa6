// Package servercert has the certificate of the server, which it reads again when its files change, and renews if it made it itself.
package servercert

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/web/selfsigned"
)

// interval is the time between looks at the files.
const interval = 5 * time.Second

// Settings name the files of a certificate and its key, or have one made in the data directory for the address. Both empty means
// plain HTTP.
type Settings struct {
	CertFile, KeyFile string
	SelfSigned        bool
	DataDir, Listen   string
}

// Certificate is the certificate of the server, nil for plain HTTP. Only Watch changes it; TrustFile is for the time before.
type Certificate struct {
	certFile, keyFile string
	selfSigned        func() error // renews it before it expires; nil for the operator's own
	log               *slog.Logger

	current  atomic.Pointer[tls.Certificate]
	read     [sha256.Size]byte // digest of the files of current
	reported string            // the newest error in the log
}

// Load reads the certificate. It returns nil for plain HTTP.
func Load(from Settings, log *slog.Logger, now func() time.Time) (*Certificate, error) {
	s := &Certificate{certFile: from.CertFile, keyFile: from.KeyFile, log: log}
	if from.SelfSigned {
		if err := os.MkdirAll(from.DataDir, 0o700); err != nil { // with PostgreSQL it may not exist yet
			return nil, fmt.Errorf("create the data directory: %w", err)
		}
		s.selfSigned = func() (err error) {
			if s.certFile, s.keyFile, err = selfsigned.Files(from.DataDir, from.Listen, now()); err != nil {
				return fmt.Errorf("generate a certificate: %w", err)
			}
			return nil
		}
		if err := s.selfSigned(); err != nil {
			return nil, err
		}
	}
	if s.certFile == "" {
		return nil, nil
	}
	if _, err := s.load(); err != nil {
		return nil, errors.Join(errors.New("tls-cert, tls-key: must be a certificate and its key"), err)
	}
	return s, nil
}

// Config returns the TLS configuration of the server, nil for plain HTTP.
func (s *Certificate) Config() *tls.Config {
	if s == nil {
		return nil
	}
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.current.Load(), nil },
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
	}
}

// TrustFile returns the file of a self-signed certificate for clients to trust, "" if there is none.
func (s *Certificate) TrustFile() string {
	if s == nil || s.selfSigned == nil {
		return ""
	}
	return s.certFile
}

// Watch reads the files again when they change, until ctx ends.
func (s *Certificate) Watch(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.refresh()
		}
	}
}

// refresh serves the certificate of the files if they changed. While they cannot be used, such as between the writes of certificate and
// key, the former one is served.
func (s *Certificate) refresh() {
	var err error
	if s.selfSigned != nil {
		err = s.selfSigned()
	}
	changed, loadErr := s.load()
	if err = errors.Join(err, loadErr); err != nil {
		if s.reported != err.Error() {
			s.log.Warn("certificate not read; the former one is served", "error", err)
		}
		s.reported = err.Error()
		return
	}
	s.reported = ""
	if changed {
		s.log.Info("certificate read", "expires", s.current.Load().Leaf.NotAfter)
	}
}

// load reads the files, and reports whether they are another usable pair.
func (s *Certificate) load() (changed bool, err error) {
	chain, key, err := readKeyPair(s.certFile, s.keyFile)
	if err != nil {
		return false, err
	}
	digest := sha256.Sum256(slices.Concat(chain, key))
	if digest == s.read {
		return false, nil
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return false, err
	}
	s.read = digest
	s.current.Store(&pair)
	return true, nil
}

// readKeyPair reads a certificate and its key, and checks the mode of the key file.
func readKeyPair(certFile, keyFile string) (chain, key []byte, err error) {
	if chain, err = seal.ReadFile(certFile); err != nil {
		return nil, nil, err
	}
	text, err := seal.ReadSecretFile(keyFile)
	return chain, []byte(text.Reveal()), err
}
