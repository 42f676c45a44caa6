package server

import (
	"bytes"
	"io"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
)

// outgoing is the response to one request. It begins with the first bytes of the body, so that an earlier failure still
// becomes an error response.
type outgoing struct {
	s      *Server
	c      *call
	status int
	begun  bool
	free   func() // ends hold; nil before it

	contentType []string // set before the first byte
}

// hold counts the bytes that the response keeps in memory until the client has read them. It is called once per
// response.
func (o *outgoing) hold(n int64) error {
	if o.free != nil {
		return nil
	}
	free, err := o.s.Responses.Reserve(o.c.principal, n)
	o.free = free
	return err
}

func (o *outgoing) Write(b []byte) (int, error) {
	if len(b) > pieceBytes {
		if err := o.hold(int64(len(b))); err != nil {
			return 0, err
		}
	}
	if !o.begun {
		o.begun = true
		o.c.w.Header()["Content-Type"] = o.contentType
		o.c.w.WriteHeader(o.status)
	}
	return o.c.w.Write(b)
}

// clearReadDeadline removes the read deadline of the request, which would cancel a slow response.
func (o *outgoing) clearReadDeadline() {
	_ = http.NewResponseController(o.c.w).SetReadDeadline(time.Time{}) // fails only on a closed connection
}

func (o *outgoing) release() {
	if o.free != nil {
		o.free()
	}
}

// writeBody encodes a body. A body that is not a list is encoded completely and sent with one Write.
func (o *outgoing) writeBody(body any) error {
	if list, ok := body.(interface{ writeTo(*outgoing) error }); ok {
		return list.writeTo(o)
	}
	text, err := encodeJSON(body)
	if err != nil {
		return err
	}
	_, err = o.Write(append(text, '\n'))
	return err
}

// timeFormat is how responses have times. RFC3339Nano, the format of package time, leaves out zeros at the end, so that the texts of
// times cannot be compared.
const timeFormat = "2006-01-02T15:04:05.000Z"

// encoding is that of encoding/json, except for times.
var encoding = json.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false),
	json.WithMarshalers(json.MarshalToFunc(func(encoder *jsontext.Encoder, at time.Time) error {
		return encoder.WriteToken(jsontext.String(at.UTC().Format(timeFormat)))
	})))

// headerEnds is called by net/http when it has read a header, or failed to (StateActive), and when a request ended.
func (s *Server) headerEnds(conn net.Conn, state http.ConnState) {
	inner := conn
	if encrypted, ok := conn.(interface{ NetConn() net.Conn }); ok {
		inner = encrypted.NetConn()
	}
	limited, ok := inner.(*limitedConn)
	if !ok {
		return
	}
	limited.inBody.Store(state == http.StateActive)
	if state == http.StateActive && limited.refused.Load() {
		refuseHeader(conn)
	}
}

// refuseHeader responds to a request whose header exceeds the limits of Listener, before net/http closes the connection.
func refuseHeader(conn net.Conn) {
	f := fault.Visible(tooManyBytes{})
	id := newRequestID()
	body, err := encodeJSON(&api.Error{Ref: id, Code: f.Code, Message: f.Message, Details: details(f)})
	if err != nil { // encoding strings cannot fail
		return
	}
	response := http.Response{StatusCode: f.Status(), ProtoMajor: 1, ProtoMinor: 1, Header: maps.Clone(fixedHeaders),
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)), Close: true}
	response.Header["Content-Type"] = jsonType
	response.Header.Set(api.HeaderRequestID, id)
	response.Header.Set("Retry-After", f.RetryAfterSeconds())
	if response.Write(conn) == nil {
		time.Sleep(lingerTime)
	}
}

// lingerTime is how long a connection stays open after a response to a client that may still be sending: bytes that arrive at a closed
// connection discard the response. net/http waits as long.
const lingerTime = 500 * time.Millisecond

func encodeJSON(body any) ([]byte, error) { return json.Marshal(body, encoding) }
