package server

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
)

// record is what the access log tells of one request. The template stands for the path: a refresh
// token is part of the path, and must not reach a log.
type record struct {
	origin   audit.Origin
	template string
	outcome  string
	cause    error
	status   int
}

// recordOf finds the record in the writer that envelope handed on. A context would have it copied with the request.
func recordOf(w http.ResponseWriter) *record {
	if own, ok := w.(*recorder); ok {
		return &own.record
	}
	return &record{} // a request that did not come through envelope, as in a unit test
}

func noteOutcome(w http.ResponseWriter, outcome string, cause error) {
	rec := recordOf(w)
	rec.outcome, rec.cause = outcome, cause
}

// envelope is around every request: its id, the security headers, one log line, and no panic.
func (s *Server) envelope(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := newRequestID()
		writer := &recorder{w, record{origin: audit.Origin{RequestID: id, Address: s.address(r)}, template: "unknown"}}
		s.setHeaders(w, r, id)
		started := time.Now()
		defer func() {
			p := recover()
			aborted := p == http.ErrAbortHandler //nolint:errorlint // net/http compares it like this, too
			if p != nil && !aborted {
				s.recovered(writer, r, p)
			}
			took := time.Since(started)
			s.Metrics.request(writer.template, knownMethod(r.Method), writer.status, took)
			s.logAccess(r, &writer.record, took)
			if aborted {
				panic(p) // net/http closes the connection
			}
		}()
		next.ServeHTTP(writer, r)
	})
}

// fixedHeaders are of every answer. Their values are shared by all answers: whoever sets another value sets another list.
var fixedHeaders = map[string][]string{
	"X-Content-Type-Options":  {"nosniff"},
	"Cache-Control":           {"no-store"},
	"Referrer-Policy":         {"no-referrer"},
	"Content-Security-Policy": {"default-src 'none'; frame-ancestors 'none'"},
}

var jsonType = []string{"application/json"}

func (s *Server) setHeaders(w http.ResponseWriter, r *http.Request, id string) {
	h := w.Header()
	maps.Copy(h, fixedHeaders)
	h.Set(api.HeaderRequestID, id)
	if s.TLS {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	// net/http drops Content-Length when both framings are sent, so the smuggling case of RFC 9112
	// section 6.1 can't be told from plain chunks: after either, the connection closes.
	if len(r.TransferEncoding) > 0 {
		h.Set("Connection", "close")
	}
}

// recovered answers for a handler that panicked. The panic's value stays out of the log, since it may
// hold what the request held; its type and the stack tell enough.
func (s *Server) recovered(w *recorder, r *http.Request, p any) {
	s.Log.ErrorContext(r.Context(), "handler panicked", "ref", w.origin.RequestID, "type", fmt.Sprintf("%T", p), "stack", string(fault.StackOf(p)))
	if w.status == 0 {
		s.fail(w, r, &fault.Error{Kind: fault.Internal})
	}
}

func (s *Server) logAccess(r *http.Request, rec *record, took time.Duration) {
	attrs := []slog.Attr{
		slog.String("ref", rec.origin.RequestID), slog.String("method", knownMethod(r.Method)), slog.String("path", rec.template),
		slog.Int("status", rec.status), slog.Duration("took", took.Round(time.Microsecond)), slog.String("from", rec.origin.Address),
	}
	if rec.outcome != "" {
		attrs = append(attrs, slog.String("code", rec.outcome))
	}
	if rec.cause != nil {
		attrs = append(attrs, slog.String("cause", rec.cause.Error()))
	}
	s.Log.LogAttrs(r.Context(), accessLevel(r, rec), "request", attrs...)
}

// accessLevel makes failures of the service errors, also of a probe. Probes that succeed would fill the log.
func accessLevel(r *http.Request, rec *record) slog.Level {
	switch {
	case rec.status >= http.StatusInternalServerError && r.Context().Err() == nil: // else the client went away
		return slog.LevelError
	case rec.template == api.PathHealth || rec.template == api.PathReady:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func (s *Server) logInternal(w http.ResponseWriter, r *http.Request, err error) {
	level := slog.LevelError
	if r.Context().Err() != nil { // the client went away; what broke off because of it is no fault of ours
		level = slog.LevelDebug
	}
	s.Log.Log(r.Context(), level, "request failed", "ref", recordOf(w).origin.RequestID, "error", err)
}

// knownMethod keeps a made-up method, which may be any text, out of the log.
func knownMethod(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE":
		return method
	default:
		return "other"
	}
}

// HairpinHeader carries Server.Hairpin in every request of the engine and of webhooks.
const HairpinHeader = "Regwarden-Hairpin"

// refuseHairpin answers a validation of ours that was led back to us, round the egress policy, by a
// balancer or address translation.
func (s *Server) refuseHairpin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Hairpin != "" && r.Header.Get(HairpinHeader) == s.Hairpin {
			s.fail(w, r, &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Message: "This service does not validate itself."})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuseUntidy answers 404 to a path that ServeMux would redirect to a tidier one: its redirect
// repeats the path, and with it a refresh token; and Go clients turn a redirected POST into a GET.
func (s *Server) refuseUntidy(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		if !strings.HasPrefix(escaped, "/") || path.Clean(escaped) != escaped || r.Method == http.MethodConnect {
			s.unknownPath(w, r)
			return
		}
		mux.ServeHTTP(w, withRoutableSlash(r, escaped))
	})
}

// withRoutableSlash doubles a path parameter that is one slash: ServeMux takes %2F alone for the slash at the end of a path,
// which no parameter matches. Neither names a resource, and clients must get the response for that.
func withRoutableSlash(r *http.Request, escaped string) *http.Request {
	const slash = "%2F"
	if !strings.Contains(escaped, "/%2") { // nearly always
		return r
	}
	segments := strings.Split(escaped, "/")
	for i, segment := range segments {
		if strings.EqualFold(segment, slash) {
			segments[i] = slash + slash
		}
	}
	routable := strings.Join(segments, "/")
	path, err := url.PathUnescape(routable)
	if err != nil || routable == escaped {
		return r
	}
	changed := r.Clone(r.Context())
	changed.URL.Path, changed.URL.RawPath = path, routable
	return changed
}

// unknownPath never answers ResourceNotFound: public clients would drop the resource that they asked for from their state.
func (s *Server) unknownPath(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, &fault.Error{Kind: fault.NotFound, Code: codePathNotFound, Message: "This service has no such path."})
}

// address tells where the request came from. X-Forwarded-For counts only from trusted proxies, read
// from the right: everything left of the first untrusted address is the client's own claim.
func (s *Server) address(r *http.Request) string {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	client := remote.Addr().Unmap()
	if !s.trusted(client) {
		return client.String()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && s.trusted(client); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		client = hop.Unmap().WithZone("")
	}
	return client.String()
}

func (s *Server) trusted(addr netip.Addr) bool { return contains(s.TrustedProxies, addr) }

func newRequestID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return "ref-" + hex.EncodeToString(b[:])
}

// recorder keeps the record of a request beside its answer.
type recorder struct {
	http.ResponseWriter
	record
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
