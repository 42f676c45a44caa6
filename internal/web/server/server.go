// Package server is the HTTP edge: routes, limits, authentication, encoding, and the mapping from faults and reports to
// statuses.
//
// It makes no decision about sessions, organizations or registries: it calls the domain packages with an authenticated
// principal.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/service/invitations"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/internal/service/tenants"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/web/budget"
	"github.com/regwarden/regwarden/internal/web/bulkhandlers"
	"github.com/regwarden/regwarden/internal/web/connlimit"
	"github.com/regwarden/regwarden/internal/web/expiryhandlers"
	"github.com/regwarden/regwarden/internal/web/metrics"
	"github.com/regwarden/regwarden/internal/web/mutehandlers"
	"github.com/regwarden/regwarden/internal/web/people"
	"github.com/regwarden/regwarden/internal/web/requestbody"
)

// Limits of a request (threat model: HTTP).
const (
	maxBody          = 1 << 20
	maxAnonymousBody = 64 << 10 // of routes that need no credentials
	maxHeader        = 64 << 10
	headerTimeout    = 5 * time.Second
	idleTimeout      = 60 * time.Second
)

// Server serves the HTTP API. All fields except Metrics, Responses, Requests, TrustedProxies and TLS are required; it is safe for
// concurrent use.
type Server struct {
	Auth        *auth.Service
	Directory   *directory.Directory
	Federation  *federation.Service
	SSO         *federation.SSO
	Devices     *federation.Devices
	Roles       *roles.Roles
	Settings    *tenants.Tenants
	Factors     *secondfactor.Service
	Registries  *registries.Service
	Checks      *checks.Service
	Watch       *watch.Service
	ContentSync *contentsync.Service
	Alerts      *alerts.Service
	Mutes       mutehandlers.Handlers
	Invitations *invitations.Service
	Expiry      expiryhandlers.Handlers
	Bulk        bulkhandlers.Handlers
	Ready       func(context.Context) error // a nil error means that the server accepts requests
	Log         *slog.Logger
	Metrics     *metrics.Metrics // nil disables metrics
	// Traced is called at the end of each request, with what its log line has; nil is not called.
	Traced         func(ctx context.Context, template, method string, status int, code string)
	Responses      *budget.Responses // nil means no limit
	Requests       *budget.Requests  // nil means no limit
	TrustedProxies []netip.Prefix    // proxies whose X-Forwarded-For is trusted
	TLS            bool              // served over TLS, so that HSTS is sent
	ScanBytes      int64             // maximum size of a file to scan; 0 means that of other bodies
	Hairpin        string            // sent in validations of this service; requests that contain it are refused
	Console        Pages             // nil: no console
	Version        string            // of the program
	AWSAccounts    map[string]string // of the operator, by partition
}

// Paths of the console and of the API reference, which the console serves. They are prefixes of pages too.
const (
	pathConsole = "/console/"
	pathDocs    = "/docs"
)

// Pages serves the pages of the console, each with the response of its error, if any. The error is returned for the log; it wraps
// http.ErrAbortHandler if the response ends early. The pattern of the request is set to that of the page: log and metrics have it instead
// of the path.
type Pages interface {
	ServePage(http.ResponseWriter, *http.Request, audit.Origin) error
}

// ofPeople returns the routes of operations in the form of package people.
func ofPeople(operations []people.Operation) (routes []route) {
	for _, o := range operations {
		needs := byPermission
		switch {
		case o.Public:
			needs = byAnyone
		case o.Own:
			needs = byUser
		}
		routes = append(routes, route{method: o.Method, path: o.Path, auth: needs, announced: o.Announced, scim: o.SCIM,
			handle: func(c *call) (response, error) {
				status, body, err := o.Handle(people.Call{Request: c.Request, Origin: c.origin, Principal: c.principal,
					Header: c.w.Header(), Body: c.body, Form: c.form, Read: c.read})
				switch given := body.(type) {
				case people.List:
					body = items[any]{read: given.Read, show: func(item any) any { return item }, tail: given.Tail}
				case people.Text:
					body = text(given)
				}
				return response{status, body}, err
			}})
	}
	return routes
}

// unservedPaths are paths of the public API that are not served, but match a path of ours with a parameter. Without them the response
// would be ResourceNotFound, by which public clients drop a resource from their state.
var unservedPaths = []string{"/v1/registries/oci/image", "/v1/users/meta"}

// Handler returns the whole API as one handler.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string]methodSet{}
	for _, r := range s.routes() {
		if methods[r.path] == nil {
			methods[r.path] = methodSet{}
		}
		methods[r.path][r.method] = r
	}
	for path, set := range methods {
		mux.Handle(path, s.perMethod(path, set))
	}
	for _, path := range unservedPaths {
		mux.HandleFunc(path, s.unknownPath)
	}
	mux.HandleFunc("/", s.unknownPath)
	if s.Console != nil {
		for _, pages := range []string{pathConsole, pathDocs, pathDocs + "/"} {
			mux.HandleFunc(pages, s.page)
		}
		mux.HandleFunc("/{$}", s.start)
	}
	return s.envelope(s.refuseHairpin(s.refuseUncleanPath(mux)))
}

// page serves a page of the console.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	defer func() { recordOf(w).template = pageTemplate(r.Pattern) }()
	if err := s.Console.ServePage(w, r, recordOf(w).origin); err != nil {
		s.noteFault(w, r, err)
		if errors.Is(err, http.ErrAbortHandler) { // so that no browser takes a file for complete
			panic(http.ErrAbortHandler)
		}
	}
}

// pageTemplate returns the path of a pattern.
func pageTemplate(pattern string) string {
	_, path, hasMethod := strings.Cut(pattern, " ")
	if !hasMethod {
		path = pattern
	}
	if !strings.HasPrefix(path, pathConsole) && !strings.HasPrefix(path, pathDocs) {
		return "unknown"
	}
	return strings.TrimSuffix(path, "{$}")
}

// start leads browsers to the console.
func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !reads || !strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html") {
		s.unknownPath(w, r)
		return
	}
	recordOf(w).template = "/"
	http.Redirect(w, r, pathConsole, http.StatusSeeOther)
}

// HTTPServer returns a server for Handler with all limits except those of writing, which are Listener's.
func (s *Server) HTTPServer() *http.Server {
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		// The deadline for the whole request; package requestbody sets earlier ones, and removes it at the
		// end of the body, since it would cancel a longer validation.
		ReadTimeout:    headerTimeout + requestbody.Timeout,
		IdleTimeout:    idleTimeout,
		ConnState:      s.headerEnds,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		// OPTIONS * is routed like any other request and gets the error body.
		DisableGeneralOptionsHandler: true,
	}
	connlimit.Track(server, connlimit.NewTurns(runtime.GOMAXPROCS(0)))
	return server
}
