package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/regcheck"
)

// record is what the access log tells of one request. The template stands for the path: a refresh
// token is part of the path, and must not reach a log.
type record struct {
	id       string
	template string
	outcome  string
	cause    error
}

type recordKey struct{}

func recordOf(r *http.Request) *record {
	if rec, ok := r.Context().Value(recordKey{}).(*record); ok {
		return rec
	}
	return &record{} // a request that did not come through envelope, as in a unit test
}

func requestID(r *http.Request) string             { return recordOf(r).id }
func setTemplate(r *http.Request, template string) { recordOf(r).template = template }

func noteOutcome(r *http.Request, outcome string, cause error) {
	rec := recordOf(r)
	rec.outcome, rec.cause = outcome, cause
}

// envelope is around every request: its id, the security headers, one log line, and no panic.
func (s *Server) envelope(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &record{id: newRequestID(), template: "unknown"}
		r = r.WithContext(context.WithValue(r.Context(), recordKey{}, rec))
		s.setHeaders(w, r, rec.id)
		writer := &statusWriter{ResponseWriter: w}
		started := time.Now()
		defer func() {
			if p := recover(); p != nil {
				s.recovered(writer, r, p)
			}
			took := time.Since(started)
			s.Metrics.request(rec.template, knownMethod(r.Method), writer.status, took)
			s.logAccess(r, rec, writer.status, took)
		}()
		next.ServeHTTP(writer, r)
	})
}

func (s *Server) setHeaders(w http.ResponseWriter, r *http.Request, id string) {
	h := w.Header()
	h.Set(api.HeaderRequestID, id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
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
func (s *Server) recovered(w *statusWriter, r *http.Request, p any) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	s.Log.ErrorContext(r.Context(), "handler panicked", "ref", requestID(r), "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
	if w.status == 0 {
		s.fail(w, r, &fault.Error{Kind: fault.Internal})
	}
}

func (s *Server) logAccess(r *http.Request, rec *record, status int, took time.Duration) {
	attrs := []slog.Attr{
		slog.String("ref", rec.id), slog.String("method", knownMethod(r.Method)), slog.String("path", rec.template),
		slog.Int("status", status), slog.Duration("took", took.Round(time.Microsecond)), slog.String("from", s.origin(r).Address),
	}
	if rec.outcome != "" {
		attrs = append(attrs, slog.String("code", rec.outcome))
	}
	if rec.cause != nil {
		attrs = append(attrs, slog.String("cause", rec.cause.Error()))
	}
	s.Log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
}

func (s *Server) logInternal(r *http.Request, err error) {
	level := slog.LevelError
	if r.Context().Err() != nil { // the client went away; what broke off because of it is no fault of ours
		level = slog.LevelDebug
	}
	s.Log.Log(r.Context(), level, "request failed", "ref", requestID(r), "error", err)
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

// refuseHairpin answers a validation of ours that was led back to us, round the egress policy, by a
// balancer or address translation.
func (s *Server) refuseHairpin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Hairpin != "" && r.Header.Get(regcheck.HairpinHeader) == s.Hairpin {
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
		mux.ServeHTTP(w, r)
	})
}

func (s *Server) unknownPath(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, &fault.Error{Kind: fault.NotFound, Code: fault.CodeResourceNotFound, Message: "There is nothing at this path."})
}

// origin tells where the request came from. X-Forwarded-For counts only from trusted proxies, read
// from the right: everything left of the first untrusted address is the client's own claim.
func (s *Server) origin(r *http.Request) audit.Origin {
	origin := audit.Origin{RequestID: requestID(r)}
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return origin
	}
	client := remote.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && s.trusted(client); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		client = hop.Unmap().WithZone("")
	}
	origin.Address = client.String()
	return origin
}

func (s *Server) trusted(addr netip.Addr) bool {
	for _, prefix := range s.TrustedProxies {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

func newRequestID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return "ref-" + hex.EncodeToString(b[:])
}

// statusWriter remembers the status for the log.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
