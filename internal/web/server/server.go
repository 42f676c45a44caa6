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
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
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
	"github.com/regwarden/regwarden/internal/web/scim"
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

// routes lists all operations of the API.
func (s *Server) routes() []route {
	channels := alertHandlers{s.Alerts.Channels, s.Directory}
	apiKeys := apiKeyHandlers{s.Auth}
	records := auditHandlers{s.Directory}
	logins := loginHandlers{s.Auth, s.Metrics}
	sessions := sessionHandlers{s.Auth}
	projects := projectHandlers{s.Directory, s.Alerts.Channels}
	orgs := orgHandlers{s.Directory}
	stored := registryHandlers{ociKind, s.Registries, s.Checks, s.ScanBytes}
	ecr := registryHandlers{ecrKind, s.Registries, s.Checks, 0}
	helm := registryHandlers{helmKind, s.Registries, s.Checks, 0}
	watched := watchHandlers{s.Watch, s.Checks}
	content := contentHandlers{s.ContentSync}
	users := userHandlers{s.Directory, s.Auth, s.Roles}
	trusts := trustHandlers{directory.Trusts{Directory: s.Directory}, s.Federation, s.Devices, s.Metrics}
	sso := ssoHandlers{directory.Providers{Directory: s.Directory}, s.SSO}
	sent := checkHandlers{ociKind, s.Checks, s.Directory, s.Metrics, s.ScanBytes}
	sentECR := checkHandlers{ecrKind, s.Checks, s.Directory, s.Metrics, 0}
	sentHelm := checkHandlers{helmKind, s.Checks, s.Directory, s.Metrics, 0}
	accounts := accountHandlers{s.AWSAccounts}
	process := healthHandlers{s.Ready, s.Version}
	routes := ofPeople(slices.Concat(people.Handlers{Directory: s.Directory, Roles: s.Roles, Settings: s.Settings, SSO: s.SSO,
		Reminder: s.Alerts.OrgReminder, Confirmed: s.Alerts.Confirmations, Invited: s.Invitations, SecondFactor: s.Factors,
		CountLogin: s.Metrics.Login}.Operations(), scim.Operations(s.Directory), s.Expiry.Operations()))
	return append(routes, []route{
		{method: "POST", path: api.PathAuthenticate, handle: logins.authenticate},
		{method: "POST", path: api.PathAuth, handle: logins.authenticate},
		{method: "GET", path: api.PathRefresh, handle: logins.refresh},
		{method: "POST", path: api.PathLogout, handle: logins.logout, auth: byUser},
		{method: "POST", path: api.PathToken, handle: trusts.exchangeToken},
		{method: "POST", path: api.PathDevice, handle: trusts.beginDevice},

		{method: "POST", path: api.PathValidate, handle: sent.validate, auth: byPermission, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathDiagnose, handle: sent.diagnose, auth: byPermission, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathScan, handle: sent.scan, auth: byPermission, announced: true, recordsRefusals: true},

		{method: "POST", path: api.PathOCIRegistryImport, handle: stored.importRegistries, auth: byPermission},
		{method: "POST", path: api.PathOCIRegistryBulk, handle: takes(http.StatusOK, s.Bulk.Change), auth: byPermission},
		{method: "POST", path: api.PathOCIRegistries, handle: stored.createRegistry, auth: byPermission, announced: true},
		{method: "GET", path: api.PathOCIRegistry, handle: stored.getRegistry, auth: byPermission},
		{method: "PUT", path: api.PathOCIRegistry, handle: stored.replaceRegistry, auth: byPermission, announced: true},
		{method: "DELETE", path: api.PathOCIRegistry, handle: stored.deleteRegistry, auth: byPermission, announced: true},
		{method: "GET", path: api.PathOCIRegistrySummary, handle: stored.listRegistries, auth: byPermission},
		{method: "GET", path: api.PathOCIRegistryHealth, handle: stored.countRegistryHealth, auth: byPermission},
		{method: "GET", path: api.PathOCIRegistryOfAnyType, handle: stored.getRegistryEntity, auth: byPermission},
		{method: "GET", path: api.PathOCIRegistryHistory, handle: watched.registryHistory, auth: byPermission},
		{method: "POST", path: api.PathOCIRegistryCheck, handle: watched.checkRegistry, auth: byPermission, announced: true},
		{method: "POST", path: api.PathOCIRegistrySync, handle: content.syncRegistry, auth: byPermission, announced: true},
		{method: "GET", path: api.PathOCIRegistrySyncState, handle: content.getSyncStatus, auth: byPermission},
		{method: "GET", path: api.PathOCIRegistryContent, handle: content.listContent, auth: byPermission},
		{method: "GET", path: api.PathRegistryNames, handle: stored.listRegistryNames, auth: byPermission},
		{method: "DELETE", path: api.PathRegistry, handle: stored.deleteRegistry, auth: byPermission, announced: true},

		{method: "POST", path: api.PathECRValidate, handle: sentECR.validate, auth: byPermission, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathECRRegistries, handle: ecr.createRegistry, auth: byPermission, announced: true},
		{method: "GET", path: api.PathOCIRegistryECR, handle: ecr.ofKind(ecr.getRegistry), auth: byPermission},
		{method: "PUT", path: api.PathOCIRegistryECR, handle: ecr.replaceRegistry, auth: byPermission, announced: true},
		{method: "DELETE", path: api.PathOCIRegistryECR, handle: ecr.ofKind(ecr.deleteRegistry), auth: byPermission, announced: true},
		{method: "POST", path: api.PathECRRegistrySync, handle: ecr.ofKind(content.syncRegistry), auth: byPermission, announced: true},
		{method: "GET", path: api.PathECRRegistrySyncState, handle: ecr.ofKind(content.getSyncStatus), auth: byPermission},
		{method: "GET", path: api.PathAWSAccount, handle: accounts.getAWSAccount, auth: byPermission},

		{method: "POST", path: api.PathHelmValidate, handle: sentHelm.validate, auth: byPermission, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathHelmRegistries, handle: helm.createRegistry, auth: byPermission, announced: true},
		{method: "GET", path: api.PathHelmRegistries, handle: helm.listHelm, auth: byPermission},
		{method: "GET", path: api.PathHelmRegistrySummary, handle: helm.listHelmSummaries, auth: byPermission},
		{method: "GET", path: api.PathHelmRegistry, handle: helm.ofKind(helm.getRegistry), auth: byPermission},
		{method: "PUT", path: api.PathHelmRegistry, handle: helm.replaceRegistry, auth: byPermission, announced: true},
		{method: "DELETE", path: api.PathHelmRegistry, handle: helm.ofKind(helm.deleteRegistry), auth: byPermission, announced: true},
		{method: "POST", path: api.PathHelmRegistrySync, handle: helm.ofKind(content.syncRegistry), auth: byPermission, announced: true},
		{method: "GET", path: api.PathHelmSyncState, handle: helm.ofKind(content.getSyncStatus), auth: byPermission},

		{method: "GET", path: api.PathPackRegistries, handle: listPack, auth: byPermission},
		{method: "GET", path: api.PathPackRegistrySummary, handle: listPack, auth: byPermission},

		{method: "GET", path: api.PathService, handle: process.service, auth: byPermission},
		{method: "GET", path: api.PathOrgs, handle: orgs.listOrgs, auth: byPermission},
		{method: "POST", path: api.PathOrgs, handle: orgs.createOrg, auth: byPermission, announced: true},
		{method: "PUT", path: api.PathOrg, handle: orgs.renameOrg, auth: byPermission, announced: true},
		{method: "DELETE", path: api.PathOrg, handle: orgs.deleteOrg, auth: byPermission, announced: true},
		{method: "GET", path: api.PathOrgContents, handle: orgs.orgContents, auth: byPermission},

		{method: "GET", path: api.PathProjects, handle: projects.listProjects, auth: byPermission},
		{method: "POST", path: api.PathProjects, handle: projects.createProject, auth: byPermission, announced: true},
		{method: "GET", path: api.PathProject, handle: projects.getProject, auth: byPermission},
		{method: "PUT", path: api.PathProject, handle: projects.replaceProject, auth: byPermission},
		{method: "DELETE", path: api.PathProject, handle: projects.deleteProject, auth: byPermission},
		{method: "GET", path: api.PathProjectContents, handle: projects.projectContents, auth: byPermission},
		{method: "GET", path: api.PathProjectNames, handle: projects.listProjectNames, auth: byPermission},
		{method: "GET", path: api.PathProjectAlerts, handle: alertComponents, auth: byPermission, worksWithoutStore: true},
		{method: "GET", path: api.PathAlert, handle: channels.listChannels, auth: byPermission},
		{method: "PUT", path: api.PathAlert, handle: channels.replaceChannels, auth: byPermission},
		{method: "POST", path: api.PathAlert, handle: channels.createChannel, auth: byPermission, announced: true},
		{method: "DELETE", path: api.PathAlert, handle: channels.deleteChannels, auth: byPermission},
		{method: "GET", path: api.PathAlertChannel, handle: channels.getChannel, auth: byPermission},
		{method: "PUT", path: api.PathAlertChannel, handle: channels.updateChannel, auth: byPermission},
		{method: "DELETE", path: api.PathAlertChannel, handle: channels.deleteChannels, auth: byPermission},
		{method: "POST", path: api.PathAlertChannelTest, handle: channels.testChannel, auth: byPermission, announced: true},
		{method: "GET", path: api.PathMutes, handle: shows(s.Mutes.List), auth: byPermission},
		{method: "POST", path: api.PathMutes, handle: creates(s.Mutes.Create), auth: byPermission, announced: true},
		{method: "DELETE", path: api.PathMute, handle: deletes(s.Mutes.Delete), auth: byPermission, announced: true},

		{method: "GET", path: api.PathUsers, handle: users.listUsers, auth: byPermission},
		{method: "POST", path: api.PathUsers, handle: users.createUser, auth: byPermission, announced: true},
		{method: "GET", path: api.PathUserInfo, handle: users.userInfo, auth: byPermission},
		{method: "POST", path: api.PathUserSummary, handle: users.summarizeUsers, auth: byPermission},
		{method: "GET", path: api.PathUser, handle: users.getUser, auth: byPermission},
		{method: "PUT", path: api.PathUser, handle: users.updateUser, auth: byPermission},
		{method: "DELETE", path: api.PathUser, handle: users.deleteUser, auth: byPermission},
		{method: "PUT", path: api.PathUserPassword, handle: users.setUserPassword, auth: byPermission},
		{method: "PUT", path: api.PathUserState, handle: users.setUserState, auth: byPermission},
		{method: "GET", path: api.PathUserIdentity, handle: sso.getIdentity, auth: byPermission},
		{method: "PUT", path: api.PathUserIdentity, handle: sso.setIdentity, auth: byPermission, announced: true},
		{method: "GET", path: api.PathUserRoles, handle: users.getUserRoles, auth: byPermission},
		{method: "PUT", path: api.PathUserRoles, handle: users.setUserRoles, auth: byPermission},
		{method: "GET", path: api.PathUserProjects, handle: users.getUserProjects, auth: byPermission},
		{method: "PUT", path: api.PathUserProjects, handle: users.setUserProjects, auth: byPermission},
		{method: "GET", path: api.PathUserResourceRoles, handle: users.getUserResourceRoles, auth: byPermission},
		{method: "GET", path: api.PathUserWorkspaceRoles, handle: users.getUserWorkspaceRoles, auth: byPermission},
		{method: "PATCH", path: api.PathMyPassword, handle: users.changePassword, auth: byUser},
		{method: "GET", path: api.PathMySessions, handle: sessions.listSessions, auth: byUser},
		{method: "DELETE", path: api.PathMySession, handle: sessions.endSession, auth: byUser},
		{method: "POST", path: api.PathRevokeTokens, handle: sessions.revokeTokens, auth: byUser},

		{method: "GET", path: api.PathAPIKeys, handle: apiKeys.listAPIKeys, auth: byUser},
		{method: "POST", path: api.PathAPIKeys, handle: apiKeys.createAPIKey, auth: byUser},
		{method: "GET", path: api.PathAPIKey, handle: apiKeys.getAPIKey, auth: byUser},
		{method: "PUT", path: api.PathAPIKey, handle: apiKeys.updateAPIKey, auth: byUser},
		{method: "PATCH", path: api.PathAPIKey, handle: apiKeys.setAPIKeyState, auth: byUser},
		{method: "DELETE", path: api.PathAPIKey, handle: apiKeys.deleteAPIKey, auth: byUser},
		{method: "POST", path: api.PathAPIKeyRevocation, handle: apiKeys.revokeAPIKey},
		{method: "PUT", path: api.PathAPIKeyState, handle: apiKeys.setAPIKeyState, auth: byUser},

		{method: "GET", path: api.PathPermissions, handle: listPermissions, auth: byPermission},

		{method: "GET", path: api.PathTrustRules, handle: trusts.listTrusts, auth: byPermission},
		{method: "POST", path: api.PathTrustRules, handle: trusts.createTrust, auth: byPermission, announced: true},
		{method: "GET", path: api.PathTrustRule, handle: trusts.getTrust, auth: byPermission},
		{method: "DELETE", path: api.PathTrustRule, handle: trusts.deleteTrust, auth: byPermission, announced: true},

		{method: "GET", path: api.PathSSO, handle: sso.getSSO, auth: byPermission},
		{method: "PUT", path: api.PathSSO, handle: sso.setSSO, auth: byPermission, announced: true},
		{method: "DELETE", path: api.PathSSO, handle: sso.deleteSSO, auth: byPermission, announced: true},

		{method: "GET", path: api.PathAudits, handle: records.listAudits, auth: byPermission},
		{method: "GET", path: api.PathAudit, handle: records.getAudit, auth: byPermission},

		{method: "GET", path: api.PathOpenAPI, handle: openAPI},
		{method: "GET", path: api.PathJWKS, handle: logins.jwks},
		{method: "GET", path: api.PathHealth, handle: process.health},
		{method: "GET", path: api.PathReady, handle: process.ready},
	}...)
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
