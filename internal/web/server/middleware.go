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
	"github.com/regwarden/regwarden/internal/web/scim"
)

// record has the attributes of one request in the access log. It has the template of the path: the path of a refresh
// contains the refresh token, which must not be logged.
type record struct {
	origin   audit.Origin
	template string
	outcome  string
	cause    error
	status   int
}

// recordOf returns the record from the writer that envelope passed on. A context would copy the request.
func recordOf(w http.ResponseWriter) *record {
	if own, ok := w.(*recorder); ok {
		return &own.record
	}
	return &record{} // the request did not pass through envelope, as in a unit test
}

func setOutcome(w http.ResponseWriter, outcome string, cause error) {
	rec := recordOf(w)
	rec.outcome, rec.cause = outcome, cause
}

// statusClientGone is in the log and the metrics for a request that failed since its client had disconnected: an alert on the rate of
// 500 must not follow from that. nginx uses the same number.
const statusClientGone = 499

// envelope wraps every request: request id, security headers, access log, recovery from panics.
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
			if writer.outcome == fault.CodeClientGone {
				writer.status = statusClientGone
			}
			took := time.Since(started)
			s.Metrics.Request(writer.template, knownMethod(r.Method), writer.status, took)
			if s.Traced != nil {
				s.Traced(r.Context(), writer.template, knownMethod(r.Method), writer.status, writer.outcome)
			}
			s.logAccess(r, &writer.record, took)
			if aborted {
				panic(p) // net/http closes the connection
			}
		}()
		next.ServeHTTP(writer, r)
	})
}

// fixedHeaders are set on every response. All responses share their values, so a handler must replace a value and not
// change it.
var fixedHeaders = map[string][]string{
	"X-Content-Type-Options":  {"nosniff"},
	"Cache-Control":           {"no-store"},
	"Referrer-Policy":         {"no-referrer"},
	"Content-Security-Policy": {"default-src 'none'; frame-ancestors 'none'"},
}

var jsonType, scimType = []string{"application/json"}, []string{api.SCIMType}

// typeOf returns the media type of the responses at a path.
func typeOf(r *http.Request) []string {
	if scim.Serves(r.URL.Path) {
		return scimType
	}
	return jsonType
}

func (s *Server) setHeaders(w http.ResponseWriter, r *http.Request, id string) {
	h := w.Header()
	maps.Copy(h, fixedHeaders)
	h.Set(api.HeaderRequestID, id)
	if s.TLS {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	// net/http drops Content-Length when both framings are sent, so the smuggling case of RFC 9112 section 6.1 looks
	// like a chunked request. The connection closes after either.
	if len(r.TransferEncoding) > 0 {
		h.Set("Connection", "close")
	}
}

// recovered sends the response for a handler that panicked. It does not log the panic's value, which may contain data
// of the request; its type and the stack are enough.
func (s *Server) recovered(w *recorder, r *http.Request, p any) {
	s.Log.ErrorContext(r.Context(), "handler panicked", "ref", w.origin.RequestID, "type", fmt.Sprintf("%T", p), "stack",
		string(fault.StackOf(p)))
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

// accessLevel logs failures of the service as errors, also those of health checks. Successful health checks would fill
// the log.
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
	if r.Context().Err() != nil { // the client went away, so errors are expected
		level = slog.LevelDebug
	}
	s.Log.Log(r.Context(), level, "request failed", "ref", recordOf(w).origin.RequestID, "error", err)
}

// knownMethod replaces unknown methods, which may be any text, in the log.
func knownMethod(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE":
		return method
	default:
		return "other"
	}
}

// HairpinHeader contains Server.Hairpin in every request of the engine and of webhooks.
const HairpinHeader = "Regwarden-Hairpin"

// refuseHairpin refuses a validation of this service that reached the service itself through a load balancer or address
// translation, which the egress policy cannot see.
func (s *Server) refuseHairpin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Hairpin != "" && r.Header.Get(HairpinHeader) == s.Hairpin {
			s.fail(w, r, &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden,
				Message: "This service does not validate itself."})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuseUncleanPath returns 404 for a path that ServeMux would redirect to its cleaned form. The redirect would repeat the
// path, possibly with a refresh token, and Go clients turn a redirected POST into a GET.
func (s *Server) refuseUncleanPath(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		if !isClean(escaped) || r.Method == http.MethodConnect {
			s.unknownPath(w, r)
			return
		}
		mux.ServeHTTP(w, withRoutableSlash(r, escaped))
	})
}

func isClean(escaped string) bool {
	return strings.HasPrefix(escaped, "/") && (path.Clean(escaped) == escaped || escaped == pathConsole)
}

// withRoutableSlash doubles a path parameter that is one slash: ServeMux treats a lone %2F as the trailing slash of a
// path, which no parameter matches. Neither form names a resource, and clients must get the response for an unknown
// resource.
func withRoutableSlash(r *http.Request, escaped string) *http.Request {
	const slash = "%2F"
	if !strings.Contains(escaped, "/%2") { // almost always
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

// unknownPath never returns ResourceNotFound: public clients would drop the resource from their state.
func (s *Server) unknownPath(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, &fault.Error{Kind: fault.NotFound, Code: fault.CodePathNotFound, Message: "Path not found."})
}

// address returns the client address of a request. X-Forwarded-For counts only from trusted proxies, read from the
// right: the client may have sent everything left of the first untrusted address.
func (s *Server) address(r *http.Request) string {
	if r.RemoteAddr == localAddress {
		return localAddress
	}
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

// recorder writes the response and updates the record of the request.
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

// Unwrap allows http.ResponseController to reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
