package wire

import (
	"crypto/x509"
	"time"
)

// Handshake describes a handshake, to explain its failure.
type Handshake struct {
	Host                 string // host:port
	Path                 string // of the endpoint as written, with its slash; "" for other hosts
	Home                 bool   // the origin of the endpoint, to which the client certificate is sent
	CertificateRequested bool   // the server requested a client certificate
	Sent                 bool   // and one was sent
	Leaf                 *x509.Certificate
	Acceptable           [][]byte
	Now                  time.Time
	Text                 func(string) string // Client.Text
}

func (c *Conn) Seen() *Handshake {
	w := c.Peer.wire
	s := &Handshake{Host: w.Sent.inText(c.Peer.HostPort()),
		Home: c.Peer.Origin == w.Home, CertificateRequested: c.CertificateRequested, Acceptable: c.acceptable, Now: w.Now(), Text: w.Text}
	if s.Home {
		s.Path = w.HomePath
	}
	if s.Home && w.ClientCert != nil {
		s.Sent, s.Leaf = true, w.ClientCert.Leaf
	}
	return s
}

// Unmet reports whether the server requested a client certificate and got none.
func (s *Handshake) Unmet() bool { return s.CertificateRequested && !s.Sent }
