// Package console serves the pages of the service for browsers. They show what the domain packages return to the user
// who is logged in, and decide nothing themselves.
//
// A page is a route in routes, a handler that calls the domain and ends with call.show or call.redirect, and a template
// that defines "main". Pages work without JavaScript. Templates escape what they show; no page contains a secret.
package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/bulk"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/expiries"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/service/invitations"
	"github.com/regwarden/regwarden/internal/service/mutes"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/internal/service/tenants"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/web/budget"
	"github.com/regwarden/regwarden/internal/web/console/people"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/regcheck"
)

// Config has what the pages show. All fields but SSO, CountLogin, CountValidation, Reserve, Requests and Settings are required.
type Config struct {
	Auth        *auth.Service
	SSO         *federation.SSO // nil: no logins by identity providers
	Devices     *federation.Devices
	Factors     *secondfactor.Service
	Directory   *directory.Directory
	Roles       *roles.Roles
	Registries  *registries.Service
	Checks      *checks.Service
	Watch       *watch.Service
	Bulk        *bulk.Service
	ContentSync *contentsync.Service
	Alerts      *alerts.Service
	Mutes       *mutes.Mutes
	Invitations *invitations.Service
	Tenants     *tenants.Tenants
	Expiry      expiries.Service
	PublicURL   string           // at which people reach the service; empty if that is not set
	Requests    *budget.Requests // counts the bodies of requests; nil means no limit
	ScanBytes   int64            // maximum size of a file to scan; 0 means 1 MiB
	Secure      bool             // browsers use TLS, so cookies are for TLS only
	CountLogin  func(error)      // called with the outcome of each login

	CountValidation func(*regcheck.Report, error)                        // called with the outcome of each check
	Reserve         func(auth.Principal, int64) (free func(), err error) // counts the bytes of a large page while it is sent
	Settings        []Setting                                            // of the service, with secrets masked
	Now             func() time.Time
}

// Console is safe for concurrent use.
type Console struct {
	Config
	mux     *http.ServeMux
	nav     []route
	views   *views.Views
	forgery *http.CrossOriginProtection
}

// Paths that more than one page uses.
const (
	pathOverview = "/console/"
	pathLogin    = "/console/login"
	pathLogout   = "/console/logout"
	pathSSO      = "/console/sso"
	pathDevice   = "/console/device"
)

// route is a page or an action.
type route struct {
	method, path string
	handle       func(*call) error
	anonymous    bool  // needs no session
	maxBody      int64 // 0 means maxForm

	label, icon string            // of the entry in the navigation; empty: none
	permission  access.Permission // without it, the page is refused and the entry is left out
}

// peopleRoutes returns the routes of the pages of that package.
func peopleRoutes(pages []people.Page) (all []route) {
	for _, page := range pages {
		all = append(all, route{method: page.Method, path: page.Path, label: page.Label, icon: page.Icon, permission: page.Permission,
			maxBody: page.MaxBody, anonymous: page.Anonymous, handle: func(c *call) error {
				return page.Handle(people.Call{Request: c.Request, Principal: c.principal, Origin: c.origin, Show: c.show,
					ShowAgain: c.showAgain, Redirect: c.redirect})
			}})
	}
	return all
}

// New returns the console.
func New(config Config) (*Console, error) {
	if config.CountLogin == nil {
		config.CountLogin = func(error) {}
	}
	if config.CountValidation == nil {
		config.CountValidation = func(*regcheck.Report, error) {}
	}
	shown, err := views.Read(config.Now)
	if err != nil {
		return nil, err
	}
	s := &Console{Config: config, mux: http.NewServeMux(), views: shown, forgery: http.NewCrossOriginProtection()}
	byPath := map[string]map[string]route{}
	for _, r := range s.routes() {
		if byPath[r.path] == nil {
			byPath[r.path] = map[string]route{}
		}
		byPath[r.path][r.method] = r
		if r.label != "" {
			s.nav = append(s.nav, r)
		}
	}
	for path, methods := range byPath {
		s.mux.Handle(path, s.perMethod(methods))
	}
	s.mux.HandleFunc("GET "+s.views.Pattern(), func(w http.ResponseWriter, r *http.Request) {
		if !s.views.Serve(w, r) {
			callOf(w, r).showError(pathNotFound())
		}
	})
	s.mux.HandleFunc("/", s.serveNothing)
	s.mux.HandleFunc(views.PathStatic+"{hash}", s.serveNothing) // ServeMux would redirect it to the path with a slash
	return s, nil
}

// serveNothing serves a path that no page has.
func (s *Console) serveNothing(w http.ResponseWriter, r *http.Request) {
	s.serve(callOf(w, r), route{handle: func(*call) error { return pathNotFound() }})
}

func pathNotFound() error {
	return &fault.Error{Kind: fault.NotFound, Code: fault.CodePathNotFound, Message: "There is no page at this address."}
}

// ServePage serves a request below /console/ or /docs. It returns the error that the response shows, or with http.ErrAbortHandler the one
// that ended it early.
func (s *Console) ServePage(w http.ResponseWriter, r *http.Request, origin audit.Origin) error {
	c := &call{ResponseWriter: w, console: s, origin: origin}
	s.setHeaders(w.Header(), r.URL.Path)
	s.mux.ServeHTTP(c, r)
	return c.err
}

// perMethod dispatches by method, so that other methods get a page too.
func (s *Console) perMethod(methods map[string]route) http.Handler {
	allow := slices.Collect(maps.Keys(methods))
	if slices.Contains(allow, http.MethodGet) {
		allow = append(allow, http.MethodHead)
	}
	slices.Sort(allow)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		found, ok := methods[method]
		if !ok {
			found = route{anonymous: true, handle: func(c *call) error {
				c.Header().Set("Allow", strings.Join(allow, ", "))
				return &fault.Error{Kind: fault.Invalid, Code: fault.CodeMethodNotAllowed,
					Message: "This page cannot be used with the method " + method + "."}
			}}
		}
		s.serve(callOf(w, r), found)
	})
}

// serve runs one page or action, and shows its error.
func (s *Console) serve(c *call, r route) {
	err := s.run(c, r)
	if err == nil {
		return
	}
	if c.begun {
		c.err = fmt.Errorf("%w: %w", http.ErrAbortHandler, err)
		return
	}
	c.err = err
	c.showError(err)
}

func (s *Console) run(c *call, r route) (err error) {
	defer recoverPanic(&err)
	if c.URL.EscapedPath() != c.URL.Path { // as of no page; the address of a login would repeat it
		return pathNotFound()
	}
	if err := s.forgery.Check(c.Request); err != nil {
		return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden,
			Message: "This request came from another site. Open the console and try again.", Cause: err}
	}
	if !r.anonymous {
		if sent, err := s.identify(c); sent || err != nil {
			return err
		}
	}
	if c.Method != http.MethodPost {
		c.Body = http.NoBody // FormValue would read it whatever the method is, and write files to disk
	} else if err := c.readForm(cmp.Or(r.maxBody, maxForm)); err != nil {
		return err
	}
	if r.permission != "" {
		if err := c.principal.MayAnywhere(r.permission); err != nil {
			return err
		}
	}
	return r.handle(c)
}

// recoverPanic sets err to a panic of the function that defers it. A panic in a goroutine of a page would end the server.
func recoverPanic(err *error) {
	if cause := recover(); cause != nil {
		*err = fault.Panicked(cause)
	}
}

// policy allows what the pages consist of, and nothing else. Without a policy for Trusted Types, no script can turn text
// into HTML.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

func (s *Console) setHeaders(h http.Header, path string) {
	h.Set("Content-Security-Policy", policy)
	// With no-referrer, browsers send no origin with forms either, which plain HTTP needs for forgery.Check.
	h.Set("Referrer-Policy", "same-origin")
	if strings.HasPrefix(path, people.PathInvitation) { // proxies log Referer, and the path has a key
		h.Set("Referrer-Policy", "strict-origin")
	}
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if s.Secure { // browsers report an error where it has no effect
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
}
