package server

import (
	"net/http"
	"slices"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/web/people"
	"github.com/regwarden/regwarden/internal/web/scim"
)

// routes lists all operations of the API.
func (s *Server) routes() []route {
	ofUsers := people.Handlers{Directory: s.Directory, Roles: s.Roles, Settings: s.Settings, SSO: s.SSO, Reminder: s.Alerts.OrgReminder,
		Confirmed: s.Alerts.Confirmations, Invited: s.Invitations, SecondFactor: s.Factors, CountLogin: s.Metrics.Login}
	others := slices.Concat(ofUsers.Operations(), scim.Operations(s.Directory), s.Expiry.Operations())
	return slices.Concat(s.credentialRoutes(), s.checkRoutes(), s.registryRoutes(), s.ecrRoutes(), s.helmRoutes(), s.projectRoutes(),
		s.alertRoutes(), s.userRoutes(), s.trustRoutes(), s.serviceRoutes(), ofPeople(others))
}

func (s *Server) credentialRoutes() []route {
	logins := loginHandlers{s.Auth, s.Metrics}
	sessions := sessionHandlers{s.Auth}
	keys := apiKeyHandlers{s.Auth}
	return []route{
		{method: "POST", path: api.PathAuthenticate, handle: logins.authenticate},
		{method: "POST", path: api.PathAuth, handle: logins.authenticate},
		{method: "GET", path: api.PathRefresh, handle: logins.refresh},
		{method: "POST", path: api.PathLogout, handle: logins.logout, auth: byUser},
		{method: "GET", path: api.PathMySessions, handle: sessions.listSessions, auth: byUser},
		{method: "DELETE", path: api.PathMySession, handle: sessions.endSession, auth: byUser},
		{method: "POST", path: api.PathRevokeTokens, handle: sessions.revokeTokens, auth: byUser},
		{method: "GET", path: api.PathAPIKeys, handle: keys.listAPIKeys, auth: byUser},
		{method: "POST", path: api.PathAPIKeys, handle: keys.createAPIKey, auth: byUser},
		{method: "GET", path: api.PathAPIKey, handle: keys.getAPIKey, auth: byUser},
		{method: "PUT", path: api.PathAPIKey, handle: keys.updateAPIKey, auth: byUser},
		{method: "PATCH", path: api.PathAPIKey, handle: keys.setAPIKeyState, auth: byUser},
		{method: "DELETE", path: api.PathAPIKey, handle: keys.deleteAPIKey, auth: byUser},
		{method: "POST", path: api.PathAPIKeyRevocation, handle: keys.revokeAPIKey},
		{method: "PUT", path: api.PathAPIKeyState, handle: keys.setAPIKeyState, auth: byUser},
		{method: "GET", path: api.PathJWKS, handle: logins.jwks},
	}
}

func (s *Server) checkRoutes() []route {
	oci := checkHandlers{ociKind, s.Checks, s.Directory, s.Metrics, s.ScanBytes}
	ecr := checkHandlers{ecrKind, s.Checks, s.Directory, s.Metrics, 0}
	helm := checkHandlers{helmKind, s.Checks, s.Directory, s.Metrics, 0}
	return []route{
		{method: "POST", path: api.PathValidate, handle: oci.validate, auth: byPermission, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathDiagnose, handle: oci.diagnose, auth: byPermission, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathScan, handle: oci.scan, auth: byPermission, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathECRValidate, handle: ecr.validate, auth: byPermission, announced: true, recordsRefusals: true},
		{method: "POST", path: api.PathHelmValidate, handle: helm.validate, auth: byPermission, announced: true, recordsRefusals: true},
	}
}

func (s *Server) registryRoutes() []route {
	stored := registryHandlers{ociKind, s.Registries, s.Checks, s.ScanBytes}
	watched := watchHandlers{s.Watch, s.Checks}
	content := contentHandlers{s.ContentSync}
	return []route{
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
	}
}

func (s *Server) ecrRoutes() []route {
	ecr := registryHandlers{ecrKind, s.Registries, s.Checks, 0}
	content := contentHandlers{s.ContentSync}
	accounts := accountHandlers{s.AWSAccounts}
	return []route{
		{method: "POST", path: api.PathECRRegistries, handle: ecr.createRegistry, auth: byPermission, announced: true},
		{method: "GET", path: api.PathOCIRegistryECR, handle: ecr.ofKind(ecr.getRegistry), auth: byPermission},
		{method: "PUT", path: api.PathOCIRegistryECR, handle: ecr.replaceRegistry, auth: byPermission, announced: true},
		{method: "DELETE", path: api.PathOCIRegistryECR, handle: ecr.ofKind(ecr.deleteRegistry), auth: byPermission, announced: true},
		{method: "POST", path: api.PathECRRegistrySync, handle: ecr.ofKind(content.syncRegistry), auth: byPermission, announced: true},
		{method: "GET", path: api.PathECRRegistrySyncState, handle: ecr.ofKind(content.getSyncStatus), auth: byPermission},
		{method: "GET", path: api.PathAWSAccount, handle: accounts.getAWSAccount, auth: byPermission},
	}
}

func (s *Server) helmRoutes() []route {
	helm := registryHandlers{helmKind, s.Registries, s.Checks, 0}
	content := contentHandlers{s.ContentSync}
	return []route{
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
	}
}

func (s *Server) projectRoutes() []route {
	orgs := orgHandlers{s.Directory}
	projects := projectHandlers{s.Directory, s.Alerts.Channels}
	return []route{
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
	}
}

func (s *Server) alertRoutes() []route {
	channels := alertHandlers{s.Alerts.Channels, s.Directory}
	return []route{
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
	}
}

func (s *Server) userRoutes() []route {
	users := userHandlers{s.Directory, s.Auth, s.Roles}
	return []route{
		{method: "GET", path: api.PathUsers, handle: users.listUsers, auth: byPermission},
		{method: "POST", path: api.PathUsers, handle: users.createUser, auth: byPermission, announced: true},
		{method: "GET", path: api.PathUserInfo, handle: users.userInfo, auth: byPermission},
		{method: "POST", path: api.PathUserSummary, handle: users.summarizeUsers, auth: byPermission},
		{method: "GET", path: api.PathUser, handle: users.getUser, auth: byPermission},
		{method: "PUT", path: api.PathUser, handle: users.updateUser, auth: byPermission},
		{method: "DELETE", path: api.PathUser, handle: users.deleteUser, auth: byPermission},
		{method: "PUT", path: api.PathUserPassword, handle: users.setUserPassword, auth: byPermission},
		{method: "PUT", path: api.PathUserState, handle: users.setUserState, auth: byPermission},
		{method: "GET", path: api.PathUserRoles, handle: users.getUserRoles, auth: byPermission},
		{method: "PUT", path: api.PathUserRoles, handle: users.setUserRoles, auth: byPermission},
		{method: "GET", path: api.PathUserProjects, handle: users.getUserProjects, auth: byPermission},
		{method: "PUT", path: api.PathUserProjects, handle: users.setUserProjects, auth: byPermission},
		{method: "GET", path: api.PathUserResourceRoles, handle: users.getUserResourceRoles, auth: byPermission},
		{method: "GET", path: api.PathUserWorkspaceRoles, handle: users.getUserWorkspaceRoles, auth: byPermission},
		{method: "PATCH", path: api.PathMyPassword, handle: users.changePassword, auth: byUser},
		{method: "GET", path: api.PathPermissions, handle: listPermissions, auth: byPermission},
	}
}

func (s *Server) trustRoutes() []route {
	trusts := trustHandlers{directory.Trusts{Directory: s.Directory}, s.Federation, s.Devices, s.Metrics}
	sso := ssoHandlers{directory.Providers{Directory: s.Directory}, s.SSO}
	return []route{
		{method: "GET", path: api.PathUserIdentity, handle: sso.getIdentity, auth: byPermission},
		{method: "PUT", path: api.PathUserIdentity, handle: sso.setIdentity, auth: byPermission, announced: true},
		{method: "POST", path: api.PathToken, handle: trusts.exchangeToken},
		{method: "POST", path: api.PathDevice, handle: trusts.beginDevice},
		{method: "GET", path: api.PathTrustRules, handle: trusts.listTrusts, auth: byPermission},
		{method: "POST", path: api.PathTrustRules, handle: trusts.createTrust, auth: byPermission, announced: true},
		{method: "GET", path: api.PathTrustRule, handle: trusts.getTrust, auth: byPermission},
		{method: "DELETE", path: api.PathTrustRule, handle: trusts.deleteTrust, auth: byPermission, announced: true},
		{method: "GET", path: api.PathSSO, handle: sso.getSSO, auth: byPermission},
		{method: "PUT", path: api.PathSSO, handle: sso.setSSO, auth: byPermission, announced: true},
		{method: "DELETE", path: api.PathSSO, handle: sso.deleteSSO, auth: byPermission, announced: true},
	}
}

func (s *Server) serviceRoutes() []route {
	records := auditHandlers{s.Directory}
	process := healthHandlers{s.Ready, s.Version}
	return []route{
		{method: "GET", path: api.PathService, handle: process.service, auth: byPermission},
		{method: "GET", path: api.PathAudits, handle: records.listAudits, auth: byPermission},
		{method: "GET", path: api.PathAudit, handle: records.getAudit, auth: byPermission},
		{method: "GET", path: api.PathOpenAPI, handle: openAPI},
		{method: "GET", path: api.PathHealth, handle: process.health},
		{method: "GET", path: api.PathReady, handle: process.ready},
	}
}
