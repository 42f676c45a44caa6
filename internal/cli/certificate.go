package cli

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

// certificateInterval is the time between looks at the files of the certificate.
const certificateInterval = 5 * time.Second

// serverCertificate is the certificate of the server. It is read again when its files change.
type serverCertificate struct {
	certFile, keyFile string
	selfSigned        func() error // renews it before it expires; nil for the operator's own
	log               *slog.Logger

	current  atomic.Pointer[tls.Certificate]
	read     [sha256.Size]byte // digest of the files of current
	reported string            // the newest error in the log
}

// certificate reads the certificate of the server. It returns nil for plain HTTP.
func (c *Config) certificate(log *slog.Logger, now func() time.Time) (*serverCertificate, error) {
	s := &serverCertificate{certFile: c.TLSCert, keyFile: c.TLSKey, log: log}
	if c.TLSSelfSigned {
		if err := os.MkdirAll(c.DataDir, 0o700); err != nil { // with PostgreSQL it may not exist yet
			return nil, fmt.Errorf("create the data directory: %w", err)
		}
		s.selfSigned = func() (err error) {
			if s.certFile, s.keyFile, err = selfsigned.Files(c.DataDir, c.Listen, now()); err != nil {
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

// config returns the TLS configuration of the server, nil for plain HTTP.
func (s *serverCertificate) config() *tls.Config {
	if s == nil {
		return nil
	}
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.current.Load(), nil },
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
	}
}

// trustFile returns the file of a self-signed certificate for clients to trust, "" if there is none.
func (s *serverCertificate) trustFile() string {
	if s == nil || s.selfSigned == nil {
		return ""
	}
	return s.certFile
}

// watch reads the files again when they change, until ctx ends.
func (s *serverCertificate) watch(ctx context.Context) {
	ticker := time.NewTicker(certificateInterval)
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
func (s *serverCertificate) refresh() {
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
func (s *serverCertificate) load() (changed bool, err error) {
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
