// Package console serves the pages of the service for browsers. They show what the domain packages return to the user
// who is logged in, and decide nothing themselves.
//
// A page is a route in routes, a handler that calls the domain and ends with call.show or call.redirect, and a template
// that defines "main". Pages work without JavaScript. Templates escape what they show; no page contains a secret.
package console

import (
	"cmp"
	"net/http"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/web/budget"
	"github.com/regwarden/regwarden/regcheck"
)

// Config has what the pages show. All fields but CountLogin, CountValidation, Reserve, Requests and Settings are required.
type Config struct {
	Auth        *auth.Service
	Directory   *directory.Directory
	Registries  *registries.Service
	Checks      *checks.Service
	Watch       *watch.Service
	ContentSync *contentsync.Service
	Alerts      *alerts.Service
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
	mux       *http.ServeMux
	nav       []route
	templates templates
	static    assets
	forgery   *http.CrossOriginProtection
}

// Paths that more than one page uses.
const (
	pathOverview = "/console/"
	pathLogin    = "/console/login"
	pathLogout   = "/console/logout"
)

// route is a page or an action.
type route struct {
	method, path string
	handle       func(*call) error
	anonymous    bool  // needs no session
	maxBody      int64 // 0 means maxForm

	label, icon string          // of the entry in the navigation; empty: none
	permission  auth.Permission // without it, the entry is left out
}

// routes lists all pages and actions. The navigation has the same order.
func (s *Console) routes() []route {
	return []route{
		{method: "GET", path: pathLogin, handle: s.showLogin, anonymous: true},
		{method: "POST", path: pathLogin, handle: s.login, anonymous: true},
		{method: "POST", path: pathLogout, handle: s.logout},
		{method: "POST", path: "/console/theme", handle: s.setTheme, anonymous: true},

		{method: "GET", path: pathOverview + "{$}", handle: s.overview, label: "Overview", icon: "overview"},

		{method: "GET", path: pathCheck, handle: s.showCheck, label: "Check", icon: "check", permission: auth.ValidateRegistries},
		{method: "POST", path: pathCheck, handle: s.check, maxBody: maxDefinition},
		{method: "POST", path: pathCheck + "/save", handle: s.saveChecked, maxBody: maxDefinition},
		{method: "GET", path: pathCheck + "/{uid}", handle: s.showReport},

		{method: "GET", path: pathRegistries, handle: s.listRegistries, label: "Registries", icon: "registries"},
		{method: "GET", path: pathNewRegistry, handle: s.newRegistry},
		{method: "POST", path: pathNewRegistry, handle: s.createRegistry, maxBody: maxDefinition},
		{method: "GET", path: pathRegistry, handle: s.showRegistry},
		{method: "GET", path: pathRegistry + "/edit", handle: s.editRegistry},
		{method: "POST", path: pathRegistry + "/edit", handle: s.replaceRegistry, maxBody: maxDefinition},
		{method: "POST", path: pathRegistry + "/check", handle: s.checkRegistry},
		{method: "POST", path: pathRegistry + "/sync", handle: s.syncRegistry},
		{method: "GET", path: pathRegistry + "/content", handle: s.showContent},
		{method: "GET", path: pathRegistry + "/delete", handle: s.confirmDelete},
		{method: "POST", path: pathRegistry + "/delete", handle: s.deleteRegistry},

		{method: "GET", path: pathScan, handle: s.showScan, label: "Scan", icon: "scan", permission: auth.ValidateRegistries},
		{method: "POST", path: pathScan, handle: s.scan, maxBody: cmp.Or(s.ScanBytes, maxScan) + maxForm},

		{method: "GET", path: pathAlerts, handle: s.listAlerts, label: "Alerts", icon: "alerts"},
		{method: "GET", path: pathNewChannel, handle: s.newChannel},
		{method: "POST", path: pathNewChannel, handle: s.createChannel},
		{method: "GET", path: pathChannel, handle: s.showChannel},
		{method: "POST", path: pathChannel, handle: s.changeChannel},
		{method: "POST", path: pathChannel + "/test", handle: s.testChannel},
		{method: "POST", path: pathChannel + "/delete", handle: s.deleteChannel},

		{method: "GET", path: pathKeys, handle: s.listKeys, label: "API keys", icon: "keys"},
		{method: "GET", path: pathKeys + "/new", handle: s.newKey},
		{method: "POST", path: pathKeys + "/new", handle: s.createKey},
		{method: "GET", path: pathKeys + "/{uid}", handle: s.editKey},
		{method: "POST", path: pathKeys + "/{uid}", handle: s.updateKey},
		{method: "POST", path: pathKeys + "/{uid}/activate", handle: s.setKeyActive(true, "keyActivated")},
		{method: "POST", path: pathKeys + "/{uid}/deactivate", handle: s.setKeyActive(false, "keyDeactivated")},
		{method: "GET", path: pathKeys + "/{uid}/delete", handle: s.confirmDeleteKey},
		{method: "POST", path: pathKeys + "/{uid}/delete", handle: s.deleteKey},

		{method: "GET", path: pathProjects, handle: s.listProjects, label: "Projects", icon: "projects"},
		{method: "GET", path: pathProjects + "/new", handle: s.newProject},
		{method: "POST", path: pathProjects + "/new", handle: s.createProject},
		{method: "GET", path: pathProjects + "/{uid}", handle: s.editProject},
		{method: "POST", path: pathProjects + "/{uid}", handle: s.renameProject},
		{method: "GET", path: pathProjects + "/{uid}/delete", handle: s.confirmDeleteProject},
		{method: "POST", path: pathProjects + "/{uid}/delete", handle: s.deleteProject},

		{method: "GET", path: pathUsers, handle: s.listUsers, label: "Users", icon: "users", permission: auth.ReadUsers},
		{method: "GET", path: pathUsers + "/new", handle: s.newUser},
		{method: "POST", path: pathUsers + "/new", handle: s.createUser},
		{method: "GET", path: pathUsers + "/{uid}", handle: s.showUser},
		{method: "POST", path: pathUsers + "/{uid}", handle: s.changeUser("userSaved", func(p *userPage) *form { return p.Details }, s.updateUser)},
		{method: "POST", path: pathUsers + "/{uid}/role", handle: s.changeUser("roleSet", func(p *userPage) *form { return p.Role }, s.setRole)},
		{method: "POST", path: pathUsers + "/{uid}/projects", handle: s.changeUser("projectsSet", func(p *userPage) *form { return p.Projects }, s.setProjects)},
		{method: "POST", path: pathUsers + "/{uid}/password", handle: s.changeUser("userPasswordSet", func(p *userPage) *form { return p.Password }, s.setPassword)},
		{method: "POST", path: pathUsers + "/{uid}/disable", handle: s.disableUser},
		{method: "POST", path: pathUsers + "/{uid}/enable", handle: s.enableUser},
		{method: "GET", path: pathUsers + "/{uid}/delete", handle: s.confirmDeleteUser},
		{method: "POST", path: pathUsers + "/{uid}/delete", handle: s.deleteUser},

		{method: "GET", path: pathAudit, handle: s.listAudits, label: "Audit log", icon: "audit"},
		{method: "GET", path: pathAudit + "/{uid}", handle: s.showAudit},

		{method: "GET", path: pathSettings, handle: s.listSettings, label: "Settings", icon: "settings", permission: auth.ReadSettings},

		{method: "GET", path: pathSessions, handle: s.listSessions, label: "Account", icon: "sessions"},
		{method: "POST", path: pathSessions + "/{uid}/end", handle: s.endSession},
		{method: "POST", path: pathSessions + "/end-others", handle: s.endOtherSessions},
		{method: "POST", path: pathSessions + "/password", handle: s.changePassword},

		{method: "GET", path: pathDocs, handle: s.showDocs, anonymous: true, label: "API reference", icon: "docs"},
		{method: "GET", path: pathDocs + "/{group}", handle: s.showDocsGroup, anonymous: true},
		{method: "GET", path: "/console/docs", handle: func(c *call) error { return c.redirect(pathDocs, "") }, anonymous: true},
	}
}

// New returns the console.
func New(config Config) (*Console, error) {
	if config.CountLogin == nil {
		config.CountLogin = func(error) {}
	}
	if config.CountValidation == nil {
		config.CountValidation = func(*regcheck.Report, error) {}
	}
	static, err := readAssets()
	if err != nil {
		return nil, err
	}
	s := &Console{Config: config, mux: http.NewServeMux(), static: static, forgery: http.NewCrossOriginProtection()}
	if s.templates, err = s.parseTemplates(); err != nil {
		return nil, err
	}
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
	s.mux.HandleFunc("GET "+s.static.pattern(), s.static.serve)
	s.mux.HandleFunc("/", s.serveNothing)
	s.mux.HandleFunc(pathStatic+"{hash}", s.serveNothing) // ServeMux would redirect it to the path with a slash
	return s, nil
}

// serveNothing serves a path that no page has.
func (s *Console) serveNothing(w http.ResponseWriter, r *http.Request) {
	s.serve(callOf(w, r), route{handle: func(*call) error { return pathNotFound() }})
}

func pathNotFound() error {
	return &fault.Error{Kind: fault.NotFound, Code: fault.CodePathNotFound, Message: "There is no page at this address."}
}

// ServePage serves a request below /console/ or /docs. It returns the error that the response shows.
func (s *Console) ServePage(w http.ResponseWriter, r *http.Request, origin audit.Origin) error {
	c := &call{ResponseWriter: w, console: s, origin: origin}
	s.setHeaders(w.Header())
	s.mux.ServeHTTP(c, r)
	return c.err
}

// perMethod dispatches by method, so that other methods get a page too.
func (s *Console) perMethod(methods map[string]route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		found, ok := methods[method]
		if !ok {
			found = route{anonymous: true, handle: func(*call) error {
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
	c.err = err
	if !c.begun {
		c.showError(err)
	}
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

func (s *Console) setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	// With no-referrer, browsers send no origin with forms either, which plain HTTP needs for forgery.Check.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if s.Secure { // browsers report an error where it has no effect
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
}
