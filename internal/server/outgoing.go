package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/regwarden/regwarden/internal/auth"
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

func encodeJSON(body any) ([]byte, error) { return json.Marshal(body, encoding) }

// ResponseBudget bounds the bytes of large responses held in memory for clients. An organization may hold a quarter of
// the total and a user an eighth; a single response may be larger. It is safe for concurrent use.
type ResponseBudget struct {
	limit int64

	mu   sync.Mutex
	held map[string]int64 // by uid of organization or user; "" is the total
}

// NewResponseBudget returns a budget of limit bytes in total.
func NewResponseBudget(limit int64) *ResponseBudget {
	return &ResponseBudget{limit: limit, held: map[string]int64{}}
}

// Reserve counts the bytes of a response to the caller until free is called. A nil budget and a caller who is not known
// have no limit.
//
// Faults: Unavailable.
func (b *ResponseBudget) Reserve(p auth.Principal, n int64) (free func(), err error) {
	if b == nil || p.UserUID == "" {
		return func() {}, nil
	}
	if !b.take(p, n) {
		return nil, fault.Busy("Too many large responses are being sent to you or your organization. Retry after the time in Retry-After.", time.Second)
	}
	return func() { b.release(p, n) }, nil
}

func (b *ResponseBudget) take(p auth.Principal, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, share := range []struct {
		holder string
		limit  int64
	}{{"", b.limit}, {p.OrgUID, b.limit / 4}, {p.UserUID, b.limit / 8}} {
		if held := b.held[share.holder]; held > 0 && held+n > share.limit {
			return false
		}
	}
	for _, holder := range []string{"", p.OrgUID, p.UserUID} {
		b.held[holder] += n
	}
	return true
}

func (b *ResponseBudget) release(p auth.Principal, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, holder := range []string{"", p.OrgUID, p.UserUID} {
		if b.held[holder] -= n; b.held[holder] == 0 {
			delete(b.held, holder)
		}
	}
}
