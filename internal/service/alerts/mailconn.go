package alerts

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/wneessen/go-mail"
)

// maxMailResponse is how much a mail server may send before the next command. The SMTP client reads lines of any length and number
// into memory.
const maxMailResponse = 64 << 10

var errLongMailResponse = errors.New("the mail server's response is longer than 64 KiB")

// mailSession is a connection to the mail server that is ready for messages. It ends with the attempt.
type mailSession struct {
	*mail.Client
	conn     net.Conn
	lastSend time.Time // no message is begun after it
}

// connect opens a session. ctx must have a deadline: the end of the attempt.
func (m *Mail) connect(ctx context.Context) (*mailSession, error) {
	conn, err := m.dial(ctx)
	if err != nil {
		return nil, err
	}
	client, err := m.client(conn)
	if err == nil {
		err = client.DialWithContext(ctx)
	}
	if err != nil {
		_ = conn.Close() // go-mail does not
		return nil, err
	}
	end, _ := ctx.Deadline()
	return &mailSession{client, conn, end.Add(-cmp.Or(m.reserve, smtpTimeout))}, nil
}

// late reports whether the rest of the attempt is too short for another message.
func (s *mailSession) late() bool { return time.Now().After(s.lastSend) }

// Close ends the session and closes the connection.
func (s *mailSession) Close() error {
	return errors.Join(s.Client.Close(), s.conn.Close())
}

// dial connects to the mail server, within the deadline of ctx.
func (m *Mail) dial(ctx context.Context) (net.Conn, error) {
	end, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, smtpTimeout)
	defer cancel()
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(m.Host, strconv.Itoa(m.Port)))
	if err != nil {
		return nil, err
	}
	conn := &mailConn{plain, end, maxMailResponse}
	if m.TLS != DirectTLS {
		return conn, nil
	}
	secured := tls.Client(conn, m.tlsConfig())
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, err
	}
	return secured, nil
}

// client returns an SMTP client on a connection of dial.
func (m *Mail) client(conn net.Conn) (*mail.Client, error) {
	options := []mail.Option{
		mail.WithPort(m.Port), mail.WithTimeout(smtpTimeout), mail.WithoutNoop(), mail.WithTLSConfig(m.tlsConfig()),
		mail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return conn, nil }),
	}
	switch m.TLS {
	case DirectTLS:
		options = append(options, mail.WithTLSPolicy(mail.TLSOpportunistic)) // conn uses TLS already
	case NoTLS:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if m.Username != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.Username),
			mail.WithPassword(m.Password.Reveal()))
	}
	return mail.NewClient(m.Host, options...)
}

func (m *Mail) tlsConfig() *tls.Config {
	return &tls.Config{ServerName: m.Host, MinVersion: tls.VersionTLS12, RootCAs: m.Roots}
}

// mailConn limits how much is read from a connection, and until when.
type mailConn struct {
	net.Conn
	end  time.Time // of the attempt
	left int       // bytes to read before the next write
}

func (c *mailConn) SetDeadline(t time.Time) error {
	if t.After(c.end) {
		t = c.end
	}
	return c.Conn.SetDeadline(t)
}

func (c *mailConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errLongMailResponse
	}
	n, err := c.Conn.Read(p)
	c.left -= n
	return n, err
}

func (c *mailConn) Write(p []byte) (int, error) {
	c.left = maxMailResponse
	return c.Conn.Write(p)
}
