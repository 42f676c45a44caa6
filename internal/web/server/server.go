// Package server is the HTTP edge: routes, limits, authentication, encoding, and the mapping from faults and reports to
// statuses.
//
// It makes no decision about sessions, organizations or registries: it calls the domain packages with an authenticated
// principal.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
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
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/web/budget"
	"github.com/regwarden/regwarden/internal/web/connlimit"
	"github.com/regwarden/regwarden/internal/web/metrics"
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
	Auth           *auth.Service
	Directory      *directory.Directory
	Federation     *federation.Service
	SSO            *federation.SSO
	Devices        *federation.Devices
	Registries     *registries.Service
	Checks         *checks.Service
	Watch          *watch.Service
	ContentSync    *contentsync.Service
	Alerts         *alerts.Service
	Ready          func(context.Context) error // a nil error means that the server accepts requests
	Log            *slog.Logger
	Metrics        *metrics.Metrics  // nil disables metrics
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

// Pages serves the pages of the console, each with the response of its error, if any. The error is returned for the log. The
// pattern of the request is set to that of the page: log and metrics have it instead of the path.
type Pages interface {
	ServePage(http.ResponseWriter, *http.Request, audit.Origin) error
}

// routes lists all operations of the API.
func (s *Server) routes() []route {
	channels := alertHandlers{s.Alerts.Channels, s.Directory}
	confirmations := confirmationHandlers{s.Alerts.Confirmations}
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
	users := userHandlers{s.Directory, s.Auth}
	trusts := trustHandlers{directory.Trusts{Directory: s.Directory}, s.Federation, s.Devices, s.Metrics}
	sso := ssoHandlers{directory.Providers{Directory: s.Directory}, s.SSO}
	sent := checkHandlers{ociKind, s.Checks, s.Directory, s.Metrics, s.ScanBytes}
	sentECR := checkHandlers{ecrKind, s.Checks, s.Directory, s.Metrics, 0}
	sentHelm := checkHandlers{helmKind, s.Checks, s.Directory, s.Metrics, 0}
	accounts := accountHandlers{s.AWSAccounts}
	process := healthHandlers{s.Ready, s.Version}
	return []route{
		{method: "POST", path: api.PathAuthenticate, handle: logins.authenticate},
		{method: "POST", path: api.PathAuth, handle: logins.authenticate},
		{method: "GET", path: api.PathRefresh, handle: logins.refresh},
		{method: "POST", path: api.PathLogout, handle: logins.logout, requiresAuth: true},
		{method: "POST", path: api.PathToken, handle: trusts.exchangeToken},
		{method: "POST", path: api.PathDevice, handle: trusts.beginDevice},

		{method: "POST", path: api.PathValidate, handle: sent.validate, requiresAuth: true, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathDiagnose, handle: sent.diagnose, requiresAuth: true, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathScan, handle: sent.scan, requiresAuth: true, announced: true, recordsRefusals: true},

		{method: "POST", path: api.PathOCIRegistryImport, handle: stored.importRegistries, requiresAuth: true},
		{method: "POST", path: api.PathOCIRegistries, handle: stored.createRegistry, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathOCIRegistry, handle: stored.getRegistry, requiresAuth: true},
		{method: "PUT", path: api.PathOCIRegistry, handle: stored.replaceRegistry, requiresAuth: true, announced: true},
		{method: "DELETE", path: api.PathOCIRegistry, handle: stored.deleteRegistry, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathOCIRegistrySummary, handle: stored.listRegistries, requiresAuth: true},
		{method: "GET", path: api.PathOCIRegistryHealth, handle: stored.countRegistryHealth, requiresAuth: true},
		{method: "GET", path: api.PathOCIRegistryOfAnyType, handle: stored.getRegistryEntity, requiresAuth: true},
		{method: "GET", path: api.PathOCIRegistryHistory, handle: watched.registryHistory, requiresAuth: true},
		{method: "POST", path: api.PathOCIRegistryCheck, handle: watched.checkRegistry, requiresAuth: true, announced: true},
		{method: "POST", path: api.PathOCIRegistrySync, handle: content.syncRegistry, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathOCIRegistrySyncState, handle: content.getSyncStatus, requiresAuth: true},
		{method: "GET", path: api.PathOCIRegistryContent, handle: content.listContent, requiresAuth: true},
		{method: "GET", path: api.PathRegistryNames, handle: stored.listRegistryNames, requiresAuth: true},
		{method: "DELETE", path: api.PathRegistry, handle: stored.deleteRegistry, requiresAuth: true, announced: true},

		{method: "POST", path: api.PathECRValidate, handle: sentECR.validate, requiresAuth: true, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathECRRegistries, handle: ecr.createRegistry, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathOCIRegistryECR, handle: ecr.ofKind(ecr.getRegistry), requiresAuth: true},
		{method: "PUT", path: api.PathOCIRegistryECR, handle: ecr.replaceRegistry, requiresAuth: true, announced: true},
		{method: "DELETE", path: api.PathOCIRegistryECR, handle: ecr.ofKind(ecr.deleteRegistry), requiresAuth: true, announced: true},
		{method: "POST", path: api.PathECRRegistrySync, handle: ecr.ofKind(content.syncRegistry), requiresAuth: true, announced: true},
		{method: "GET", path: api.PathECRRegistrySyncState, handle: ecr.ofKind(content.getSyncStatus), requiresAuth: true},
		{method: "GET", path: api.PathAWSAccount, handle: accounts.getAWSAccount, requiresAuth: true},

		{method: "POST", path: api.PathHelmValidate, handle: sentHelm.validate, requiresAuth: true, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathHelmRegistries, handle: helm.createRegistry, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathHelmRegistries, handle: helm.listHelm, requiresAuth: true},
		{method: "GET", path: api.PathHelmRegistrySummary, handle: helm.listHelmSummaries, requiresAuth: true},
		{method: "GET", path: api.PathHelmRegistry, handle: helm.ofKind(helm.getRegistry), requiresAuth: true},
		{method: "PUT", path: api.PathHelmRegistry, handle: helm.replaceRegistry, requiresAuth: true, announced: true},
		{method: "DELETE", path: api.PathHelmRegistry, handle: helm.ofKind(helm.deleteRegistry), requiresAuth: true, announced: true},
		{method: "POST", path: api.PathHelmRegistrySync, handle: helm.ofKind(content.syncRegistry), requiresAuth: true, announced: true},
		{method: "GET", path: api.PathHelmSyncState, handle: helm.ofKind(content.getSyncStatus), requiresAuth: true},

		{method: "GET", path: api.PathPackRegistries, handle: listPack, requiresAuth: true},
		{method: "GET", path: api.PathPackRegistrySummary, handle: listPack, requiresAuth: true},

		{method: "GET", path: api.PathService, handle: process.service, requiresAuth: true},
		{method: "GET", path: api.PathOrgs, handle: orgs.listOrgs, requiresAuth: true},
		{method: "POST", path: api.PathOrgs, handle: orgs.createOrg, requiresAuth: true, announced: true},
		{method: "PUT", path: api.PathOrg, handle: orgs.renameOrg, requiresAuth: true, announced: true},
		{method: "DELETE", path: api.PathOrg, handle: orgs.deleteOrg, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathOrgContents, handle: orgs.orgContents, requiresAuth: true},

		{method: "GET", path: api.PathProjects, handle: projects.listProjects, requiresAuth: true},
		{method: "POST", path: api.PathProjects, handle: projects.createProject, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathProject, handle: projects.getProject, requiresAuth: true},
		{method: "PUT", path: api.PathProject, handle: projects.replaceProject, requiresAuth: true},
		{method: "DELETE", path: api.PathProject, handle: projects.deleteProject, requiresAuth: true},
		{method: "GET", path: api.PathProjectContents, handle: projects.projectContents, requiresAuth: true},
		{method: "GET", path: api.PathProjectNames, handle: projects.listProjectNames, requiresAuth: true},
		{method: "GET", path: api.PathProjectAlerts, handle: alertComponents, requiresAuth: true, worksWithoutStore: true},
		{method: "GET", path: api.PathAlert, handle: channels.listChannels, requiresAuth: true},
		{method: "PUT", path: api.PathAlert, handle: channels.replaceChannels, requiresAuth: true},
		{method: "POST", path: api.PathAlert, handle: channels.createChannel, requiresAuth: true, announced: true},
		{method: "DELETE", path: api.PathAlert, handle: channels.deleteChannels, requiresAuth: true},
		{method: "GET", path: api.PathAlertChannel, handle: channels.getChannel, requiresAuth: true},
		{method: "PUT", path: api.PathAlertChannel, handle: channels.updateChannel, requiresAuth: true},
		{method: "DELETE", path: api.PathAlertChannel, handle: channels.deleteChannels, requiresAuth: true},
		{method: "POST", path: api.PathAlertChannelTest, handle: channels.testChannel, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathAlertConfirmation, handle: confirmations.showConfirmation},
		{method: "POST", path: api.PathAlertConfirmation, handle: confirmations.confirmAddress},

		{method: "GET", path: api.PathUsers, handle: users.listUsers, requiresAuth: true},
		{method: "POST", path: api.PathUsers, handle: users.createUser, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathUserInfo, handle: users.userInfo, requiresAuth: true},
		{method: "POST", path: api.PathUserSummary, handle: users.summarizeUsers, requiresAuth: true},
		{method: "GET", path: api.PathUser, handle: users.getUser, requiresAuth: true},
		{method: "PUT", path: api.PathUser, handle: users.updateUser, requiresAuth: true},
		{method: "DELETE", path: api.PathUser, handle: users.deleteUser, requiresAuth: true},
		{method: "PUT", path: api.PathUserPassword, handle: users.setUserPassword, requiresAuth: true},
		{method: "PUT", path: api.PathUserState, handle: users.setUserState, requiresAuth: true},
		{method: "GET", path: api.PathUserIdentity, handle: sso.getIdentity, requiresAuth: true},
		{method: "PUT", path: api.PathUserIdentity, handle: sso.setIdentity, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathUserRoles, handle: users.getUserRoles, requiresAuth: true},
		{method: "PUT", path: api.PathUserRoles, handle: users.setUserRoles, requiresAuth: true},
		{method: "GET", path: api.PathUserProjects, handle: users.getUserProjects, requiresAuth: true},
		{method: "PUT", path: api.PathUserProjects, handle: users.setUserProjects, requiresAuth: true},
		{method: "GET", path: api.PathUserResourceRoles, handle: users.getUserResourceRoles, requiresAuth: true},
		{method: "GET", path: api.PathUserWorkspaceRoles, handle: users.getUserWorkspaceRoles, requiresAuth: true},
		{method: "PATCH", path: api.PathMyPassword, handle: users.changePassword, requiresAuth: true},
		{method: "GET", path: api.PathMySessions, handle: sessions.listSessions, requiresAuth: true},
		{method: "DELETE", path: api.PathMySession, handle: sessions.endSession, requiresAuth: true},
		{method: "POST", path: api.PathRevokeTokens, handle: sessions.revokeTokens, requiresAuth: true},

		{method: "GET", path: api.PathAPIKeys, handle: apiKeys.listAPIKeys, requiresAuth: true},
		{method: "POST", path: api.PathAPIKeys, handle: apiKeys.createAPIKey, requiresAuth: true},
		{method: "GET", path: api.PathAPIKey, handle: apiKeys.getAPIKey, requiresAuth: true},
		{method: "PUT", path: api.PathAPIKey, handle: apiKeys.updateAPIKey, requiresAuth: true},
		{method: "PATCH", path: api.PathAPIKey, handle: apiKeys.setAPIKeyState, requiresAuth: true},
		{method: "DELETE", path: api.PathAPIKey, handle: apiKeys.deleteAPIKey, requiresAuth: true},
		{method: "POST", path: api.PathAPIKeyRevocation, handle: apiKeys.revokeAPIKey},
		{method: "PUT", path: api.PathAPIKeyState, handle: apiKeys.setAPIKeyState, requiresAuth: true},

		{method: "GET", path: api.PathRoles, handle: listRoles, requiresAuth: true},
		{method: "GET", path: api.PathRole, handle: getRole, requiresAuth: true},
		{method: "GET", path: api.PathPermissions, handle: listPermissions, requiresAuth: true},

		{method: "GET", path: api.PathTrustRules, handle: trusts.listTrusts, requiresAuth: true},
		{method: "POST", path: api.PathTrustRules, handle: trusts.createTrust, requiresAuth: true, announced: true},
		{method: "GET", path: api.PathTrustRule, handle: trusts.getTrust, requiresAuth: true},
		{method: "DELETE", path: api.PathTrustRule, handle: trusts.deleteTrust, requiresAuth: true, announced: true},

		{method: "GET", path: api.PathSSO, handle: sso.getSSO, requiresAuth: true},
		{method: "PUT", path: api.PathSSO, handle: sso.setSSO, requiresAuth: true, announced: true},
		{method: "DELETE", path: api.PathSSO, handle: sso.deleteSSO, requiresAuth: true, announced: true},

		{method: "GET", path: api.PathAudits, handle: records.listAudits, requiresAuth: true},
		{method: "GET", path: api.PathAudit, handle: records.getAudit, requiresAuth: true},

		{method: "GET", path: api.PathOpenAPI, handle: openAPI},
		{method: "GET", path: api.PathJWKS, handle: logins.jwks},
		{method: "GET", path: api.PathHealth, handle: process.health},
		{method: "GET", path: api.PathReady, handle: process.ready},
	}
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
