package servercert

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/web/selfsigned"
)

// served returns the number of the certificate that a client gets.
func served(t *testing.T, s *Certificate) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_ = tls.Server(conn, s.Config()).HandshakeContext(t.Context()) // the client reports failures
			_ = conn.Close()
		}
	}()
	conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true}) // #nosec G402 -- only the number is read
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// pair returns the files of a new certificate.
func pair(t *testing.T) (chain, key []byte) {
	t.Helper()
	certFile, keyFile, err := selfsigned.Files(t.TempDir(), "127.0.0.1:0", time.Now())
	chain, certErr := os.ReadFile(certFile)
	key, keyErr := os.ReadFile(keyFile)
	if err := errors.Join(err, certErr, keyErr); err != nil {
		t.Fatal(err)
	}
	return chain, key
}

// New files are served without a restart. A half-written pair is logged once, and the former certificate is served.
func TestCertificateIsReadAgain(t *testing.T) {
	dir, log := t.TempDir(), &bytes.Buffer{}
	c := Settings{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	write := func(file string, content []byte) {
		t.Helper()
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	chain, key := pair(t)
	write(c.CertFile, chain)
	write(c.KeyFile, key)
	s, err := Load(c, slog.New(slog.NewTextHandler(log, nil)), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	first := served(t, s)
	s.refresh()
	if log.Len() > 0 || served(t, s) != first {
		t.Errorf("unchanged files: %s", log)
	}
	newChain, newKey := pair(t)
	for _, half := range [][]byte{newChain, newChain[:len(newChain)/2]} {
		write(c.CertFile, half)
		log.Reset()
		s.refresh()
		s.refresh()
		if n := strings.Count(log.String(), "certificate not read"); n != 1 || served(t, s) != first ||
			strings.Contains(log.String(), "PRIVATE") {
			t.Errorf("a half-written pair is reported %d times: %s", n, log)
		}
	}
	write(c.CertFile, newChain)
	write(c.KeyFile, newKey)
	log.Reset()
	s.refresh()
	if second := served(t, s); second == first || !strings.Contains(log.String(), "certificate read") {
		t.Errorf("the new certificate is not served: %s", log)
	}
	if err := os.Remove(c.KeyFile); err != nil {
		t.Fatal(err)
	}
	s.refresh()
	served(t, s)
}

// A self-signed certificate is renewed while the server runs.
func TestSelfSignedCertificateIsRenewed(t *testing.T) {
	now := time.Now()
	c := Settings{DataDir: t.TempDir(), Listen: "127.0.0.1:0", SelfSigned: true}
	s, err := Load(c, slog.New(slog.DiscardHandler), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	first, expires := served(t, s), s.current.Load().Leaf.NotAfter
	for _, renewed := range []bool{false, true} {
		s.refresh()
		if is := served(t, s) != first; is != renewed || s.TrustFile() == "" {
			t.Errorf("%v before its end it is renewed: %t, want %t", expires.Sub(now), is, renewed)
		}
		now = expires.Add(-29 * 24 * time.Hour)
	}
	if left := s.current.Load().Leaf.NotAfter.Sub(now); left < 300*24*time.Hour {
		t.Errorf("the renewed certificate is valid for %v", left)
	}
}
