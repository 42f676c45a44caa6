package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/regcheck/internal/message"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// oversizedKey is an RSA key whose numbers fit together, but are no primes: making one costs an
// attacker milliseconds for any size.
func oversizedKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	one, e := big.NewInt(1), big.NewInt(65537)
	number := func() *big.Int {
		n, err := rand.Int(rand.Reader, new(big.Int).Lsh(one, uint(bits/2)))
		if err != nil {
			t.Fatal(err)
		}
		return n.SetBit(n, bits/2-1, 1).SetBit(n, 0, 1)
	}
	for {
		p, q := number(), number()
		p1, q1 := new(big.Int).Sub(p, one), new(big.Int).Sub(q, one)
		d := new(big.Int).ModInverse(e, new(big.Int).Mul(p1, q1))
		inverse := new(big.Int).ModInverse(q, p)
		if d == nil || inverse == nil {
			continue
		}
		key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: 65537}, D: d, Primes: []*big.Int{p, q}}
		key.Precomputed = rsa.PrecomputedValues{Dp: new(big.Int).Mod(d, p1), Dq: new(big.Int).Mod(d, q1), Qinv: inverse}
		return key
	}
}

func certificateFor(t *testing.T, public *rsa.PublicKey) string {
	t.Helper()
	issuer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, issuer)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// One signature with a key of 128 Kbit takes minutes, and no deadline can stop it.
func TestSlowKeysAreRejected(t *testing.T) {
	big9000 := oversizedKey(t, 9000)
	key := func(bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: bytes}))
	}
	for name, c := range map[string]struct {
		read     func([]byte) error
		text     string
		contains string
	}{
		"certificate of 9000 bits": {certificatesError, certificateFor(t, &big9000.PublicKey), "8192 bits"},
		"certificate of 128 KiB": {certificatesError,
			string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: make([]byte, 128<<10)})), "64 KiB"},
		"key of 9000 bits": {keyError, key(x509.MarshalPKCS1PrivateKey(big9000)), "8192 bits"},
		"key of 32 KiB":    {keyError, key(make([]byte, 32<<10)), "16 KiB"},
	} {
		if err := c.read([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.contains) {
			t.Errorf("%s: %v, want %q", name, err, c.contains)
		}
	}
	fine := oversizedKey(t, 4096)
	if err := certificatesError([]byte(certificateFor(t, &fine.PublicKey))); err != nil {
		t.Errorf("certificate of 4096 bits: %v", err)
	}
}

// A key of a file is recognized without computing with it: the check does that.
func TestKeysAreRecognized(t *testing.T) {
	block := func(kind string, size int) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: make([]byte, size)}))
	}
	certificate := certificateFor(t, &oversizedKey(t, 2048).PublicKey)
	for name, c := range map[string]struct{ certificate, key, want string }{
		"none":          {certificate, "", ""},
		"any":           {certificate, block("PRIVATE KEY", 100), ""},
		"no PEM":        {certificate, "x", "key must contain a PEM private key (-----BEGIN PRIVATE KEY-----)"},
		"another block": {certificate, block("PUBLIC KEY", 100), "key must contain a PEM private key (-----BEGIN PRIVATE KEY-----)"},
		"encrypted": {certificate, block("ENCRYPTED PRIVATE KEY", 100),
			"key must not be encrypted; decrypt it, for example with openssl pkey"},
		"large":          {certificate, block("RSA PRIVATE KEY", 32<<10), "key must not contain a private key larger than 16 KiB"},
		"no certificate": {"", block("PRIVATE KEY", 100), "key requires {auth.tls.certificate}"},
		"broken certificate": {block("CERTIFICATE", 100), block("PRIVATE KEY", 100),
			"certificate contains a certificate that cannot be parsed"},
	} {
		var got []string
		Read("", c.certificate, c.key, false, func(member string, problem message.Text) { got = append(got, member+" "+string(problem)) })
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func certificatesError(text []byte) error { _, err := Parse(text); return err }
func keyError(text []byte) error          { _, err := ParseKey(text); return err }

// mustBeClean fails when a text that we show could disturb a terminal or a log.
func mustBeClean(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text,
		func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
		t.Errorf("not clean: %q", text)
	}
}

func FuzzPEM(f *testing.F) {
	for _, seed := range []string{
		"", "x", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
		"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES,0\n\nAAAA\n-----END RSA PRIVATE KEY-----",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		certificates, err := Parse(text)
		if (len(certificates) == 0) == (err == nil) {
			t.Errorf("%d certificates and %v", len(certificates), err)
		}
		for _, c := range certificates {
			mustBeClean(t, describe(wire.CleanText, c)+strings.Join(subjectNames(wire.CleanText, c), " "))
		}
		if err != nil {
			mustBeClean(t, err.Error())
		}
		key, err := ParseKey(text)
		if (key == nil) == (err == nil) {
			t.Errorf("key %v and %v", key, err)
		}
		if err == nil && len(certificates) > 0 {
			Pair(certificates, key)
		}
	})
}
