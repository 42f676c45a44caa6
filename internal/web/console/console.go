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
	"github.com/regwarden/regwarden/internal/web/console/changelog"
	"github.com/regwarden/regwarden/internal/web/console/expirypage"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/overviewpage"
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

// routes lists all pages and actions. The navigation has the same order.
func (s *Console) routes() []route {
	changes := changelog.Log{Directory: s.Directory, Registries: s.Registries}
	logins := loginHandlers{s.Auth, s.SSO, s.CountLogin, s.Now}
	factors := factorHandlers{s.Factors, logins}
	devices := deviceHandlers{s.Devices}
	overview := overviewHandlers{s.Registries, s.Auth.APIKeys, changes,
		overviewpage.Steps{Keys: s.Auth.APIKeys, Channels: s.Alerts.Channels, Directory: s.Directory}, s.Now}
	sent := checkHandlers{s.Checks, s.Registries, s.Directory, s.CountValidation}
	stored := registryHandlers{s.Registries, s.Watch, s.Checks, s.ContentSync, changes, s.Now}
	many := bulkHandlers{s.Bulk, s.Registries, s.Now}
	files := scanHandlers{s.Checks, s.Registries, s.CountValidation}
	channels := alertHandlers{s.Alerts.Channels, s.Directory, s.Mutes, s.Tenants}
	keys := keyHandlers{s.Auth.APIKeys, s.Directory, s.Now}
	projects := projectHandlers{s.Directory}
	users := userHandlers{s.Directory, s.Roles, s.Factors}
	records := auditHandlers{s.Directory}
	settings := settingsHandlers{s.Directory, s.Settings}
	account := accountHandlers{s.Auth}
	manual := docsHandlers{s.Auth.Authenticator}
	ofPeople := peopleRoutes(people.Pages{Directory: s.Directory, Roles: s.Roles, Invited: s.Invitations, SSO: s.SSO,
		Factors: s.Factors}.All())
	return slices.Concat([]route{
		{method: "GET", path: pathLogin, handle: logins.showLogin, anonymous: true},
		{method: "POST", path: pathLogin, handle: logins.login, anonymous: true},
		{method: "GET", path: pathCode, handle: factors.showCode, anonymous: true},
		{method: "POST", path: pathCode, handle: factors.completeLogin, anonymous: true},
		{method: "POST", path: pathLogin + "/key", handle: factors.enrollAtLogin, anonymous: true},
		{method: "GET", path: pathSSO, handle: logins.beginSSO, anonymous: true},
		{method: "GET", path: pathSSO + "/{org}/callback", handle: logins.completeSSO, anonymous: true},
		{method: "GET", path: pathDevice, handle: devices.showDevice},
		{method: "POST", path: pathDevice, handle: devices.findDevice},
		{method: "POST", path: pathDevice + "/confirm", handle: devices.confirmDevice},
		{method: "POST", path: pathLogout, handle: logins.logout},
		{method: "POST", path: "/console/theme", handle: logins.setTheme, anonymous: true},

		{method: "GET", path: pathOverview + "{$}", handle: overview.overview, label: "Overview", icon: "overview"},
		{method: "POST", path: "/console/first-steps", handle: overview.hideSteps},

		{method: "GET", path: "/console/search", handle: s.search, label: "Search", icon: "search"},

		{method: "GET", path: pathCheck, handle: sent.showCheck, label: "Check", icon: "check", permission: access.ValidateRegistries},
		{method: "POST", path: pathCheck, handle: sent.check, maxBody: maxDefinition},
		{method: "POST", path: pathCheck + "/save", handle: sent.saveChecked, maxBody: maxDefinition},
		{method: "GET", path: pathCheck + "/{uid}", handle: sent.showReport},

		{method: "GET", path: pathRegistries, handle: stored.listRegistries, label: "Registries", icon: "registries",
			permission: access.ReadRegistries},
		{method: "GET", path: pathRegistries + ".csv", handle: many.exportRegistries},
		{method: "POST", path: pathBulk, handle: many.change, maxBody: maxBulkForm},
		{method: "GET", path: pathNewRegistry, handle: stored.newRegistry},
		{method: "POST", path: pathNewRegistry, handle: stored.createRegistry, maxBody: maxDefinition},
		{method: "GET", path: pathRegistry, handle: stored.showRegistry},
		{method: "GET", path: pathRegistry + "/edit", handle: stored.editRegistry},
		{method: "POST", path: pathRegistry + "/edit", handle: stored.replaceRegistry, maxBody: maxDefinition},
		{method: "POST", path: pathRegistry + "/check", handle: stored.checkRegistry},
		{method: "POST", path: pathRegistry + "/sync", handle: stored.syncRegistry},
		{method: "GET", path: pathRegistry + "/content", handle: stored.showContent},
		{method: "GET", path: pathRegistry + "/delete", handle: stored.confirmDelete},
		{method: "POST", path: pathRegistry + "/delete", handle: deletes(stored.registries.Delete, pathRegistries, "registryDeleted")},
	}, peopleRoutes(expirypage.Handlers{Expiries: s.Expiry, PublicURL: s.PublicURL}.Pages()), []route{
		{method: "GET", path: pathScan, handle: files.showScan, label: "Scan", icon: "scan", permission: access.ValidateRegistries},
		{method: "POST", path: pathScan, handle: files.scan, maxBody: cmp.Or(s.ScanBytes, maxScan) + maxForm},

		{method: "GET", path: pathAlerts, handle: channels.listAlerts, label: "Alerts", icon: "alerts"},
		{method: "POST", path: pathAlerts + "/reminders", handle: channels.setReminders},
		{method: "POST", path: pathAlerts + "/mute", handle: channels.mute},
		{method: "POST", path: pathAlerts + "/unmute/{uid}", handle: deletes(channels.mutes.Delete, pathAlerts, "unmuted")},
		{method: "GET", path: pathNewChannel, handle: channels.newChannel},
		{method: "POST", path: pathNewChannel, handle: channels.createChannel},
		{method: "GET", path: pathChannel, handle: channels.showChannel},
		{method: "POST", path: pathChannel, handle: channels.changeChannel},
		{method: "POST", path: pathChannel + "/test", handle: channels.testChannel},
		{method: "POST", path: pathChannel + "/delete", handle: channels.deleteChannel},

		{method: "GET", path: pathKeys, handle: keys.listKeys, label: "API keys", icon: "keys"},
		{method: "GET", path: pathKeys + "/new", handle: keys.newKey},
		{method: "POST", path: pathKeys + "/new", handle: keys.createKey},
		{method: "GET", path: pathKeys + "/{uid}", handle: keys.editKey},
		{method: "POST", path: pathKeys + "/{uid}", handle: keys.updateKey},
		{method: "POST", path: pathKeys + "/{uid}/activate", handle: keys.setKeyActive(true, "keyActivated")},
		{method: "POST", path: pathKeys + "/{uid}/deactivate", handle: keys.setKeyActive(false, "keyDeactivated")},
		{method: "GET", path: pathKeys + "/{uid}/delete", handle: keys.confirmDeleteKey},
		{method: "POST", path: pathKeys + "/{uid}/delete", handle: deletes(keys.keys.Delete, pathKeys, "keyDeleted")},

		{method: "GET", path: pathProjects, handle: projects.listProjects, label: "Projects", icon: "projects"},
		{method: "GET", path: pathProjects + "/new", handle: projects.newProject, permission: access.CreateProjects},
		{method: "POST", path: pathProjects + "/new", handle: projects.createProject},
		{method: "GET", path: pathProjects + "/{uid}", handle: projects.editProject, permission: access.ChangeProjects},
		{method: "POST", path: pathProjects + "/{uid}", handle: projects.renameProject},
		{method: "GET", path: pathProjects + "/{uid}/delete", handle: projects.confirmDeleteProject, permission: access.DeleteProjects},
		{method: "POST", path: pathProjects + "/{uid}/delete", handle: projects.deleteProject},

		{method: "GET", path: pathUsers, handle: users.listUsers, label: "Users", icon: "users", permission: access.ReadUsers},
		{method: "GET", path: pathUsers + "/new", handle: users.newUser, permission: access.CreateUsers},
		{method: "POST", path: pathUsers + "/new", handle: users.createUser},
		{method: "GET", path: pathUsers + "/{uid}", handle: users.showUser, permission: access.ReadUsers},
		{method: "POST", path: pathUsers + "/{uid}", handle: users.changeUser("userSaved",
			func(p *userPage) *forms.Form { return p.Details },
			users.updateUser)},
		{method: "POST", path: pathUsers + "/{uid}/role", handle: users.changeUser("roleSet",
			func(p *userPage) *forms.Form { return p.Roles },
			users.setRole)},
		{method: "POST", path: pathUsers + "/{uid}/projects",
			handle: users.changeUser("projectsSet", func(p *userPage) *forms.Form { return p.Projects }, users.setProjects)},
		{method: "POST", path: pathUsers + "/{uid}/password",
			handle: users.changeUser("userPasswordSet", func(p *userPage) *forms.Form { return p.Password }, users.setPassword)},
		{method: "POST", path: pathUsers + "/{uid}/disable", handle: users.disableUser},
		{method: "POST", path: pathUsers + "/{uid}/enable", handle: users.enableUser},
		{method: "GET", path: pathUsers + "/{uid}/delete", handle: users.confirmDeleteUser, permission: access.DeleteUsers},
		{method: "POST", path: pathUsers + "/{uid}/delete", handle: users.deleteUser},
	}, ofPeople, []route{
		{method: "GET", path: pathAudit, handle: records.listAudits, label: "Audit log", icon: "audit"},
		{method: "GET", path: pathAudit + ".csv", handle: records.exportAudits},
		{method: "GET", path: pathAudit + "/{uid}", handle: records.showAudit},

		{method: "GET", path: pathSettings, handle: settings.listSettings, label: "Settings", icon: "settings",
			permission: access.ReadSettings},

		{method: "GET", path: pathSessions, handle: account.listSessions, label: "Account", icon: "sessions"},
		{method: "POST", path: pathSessions + "/{uid}/end", handle: deletes(account.auth.Sessions.End, pathSessions, "sessionEnded")},
		{method: "POST", path: pathSessions + "/end-others", handle: account.endOtherSessions},
		{method: "POST", path: pathSessions + "/password", handle: account.changePassword},

		{method: "GET", path: pathDocs, handle: manual.showDocs, anonymous: true, label: "API reference", icon: "docs"},
		{method: "GET", path: pathDocs + "/{group}", handle: manual.showDocsGroup, anonymous: true},
		{method: "GET", path: "/console/docs", handle: func(c *call) error { return c.redirect(pathDocs, "") }, anonymous: true},
	})
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
