package console

import (
	"cmp"
	"slices"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/web/console/changelog"
	"github.com/regwarden/regwarden/internal/web/console/expirypage"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/overviewpage"
	"github.com/regwarden/regwarden/internal/web/console/people"
)

// routes lists all pages and actions. The navigation has the same order.
func (s *Console) routes() []route {
	expiry := expirypage.Handlers{Expiries: s.Expiry, PublicURL: s.PublicURL}
	others := people.Pages{Directory: s.Directory, Roles: s.Roles, Invited: s.Invitations, SSO: s.SSO, Factors: s.Factors}
	return slices.Concat(s.loginRoutes(), s.overviewAndCheckRoutes(), s.registryRoutes(), peopleRoutes(expiry.Pages()),
		s.scanAndAlertRoutes(), s.keyAndProjectRoutes(), s.userRoutes(), peopleRoutes(others.All()), s.serviceRoutes())
}

func (s *Console) loginRoutes() []route {
	logins := loginHandlers{s.Auth, s.SSO, s.CountLogin, s.Now}
	factors := factorHandlers{s.Factors, logins}
	devices := deviceHandlers{s.Devices}
	return []route{
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
	}
}

func (s *Console) overviewAndCheckRoutes() []route {
	overview := overviewHandlers{s.Registries, s.Auth.APIKeys, s.changes(),
		overviewpage.Steps{Keys: s.Auth.APIKeys, Channels: s.Alerts.Channels, Directory: s.Directory}, s.Now}
	sent := checkHandlers{s.Checks, s.Registries, s.Directory, s.CountValidation}
	return []route{
		{method: "GET", path: pathOverview + "{$}", handle: overview.overview, label: "Overview", icon: "overview"},
		{method: "POST", path: "/console/first-steps", handle: overview.hideSteps},
		{method: "GET", path: "/console/search", handle: s.search, label: "Search", icon: "search"},
		{method: "GET", path: pathCheck, handle: sent.showCheck, label: "Check", icon: "check", permission: access.ValidateRegistries},
		{method: "POST", path: pathCheck, handle: sent.check, maxBody: maxDefinition},
		{method: "POST", path: pathCheck + "/save", handle: sent.saveChecked, maxBody: maxDefinition},
		{method: "GET", path: pathCheck + "/{uid}", handle: sent.showReport},
	}
}

func (s *Console) registryRoutes() []route {
	stored := registryHandlers{s.Registries, s.Watch, s.Checks, s.ContentSync, s.changes(), s.Now}
	many := bulkHandlers{s.Bulk, s.Registries, s.Now}
	return []route{
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
	}
}

func (s *Console) scanAndAlertRoutes() []route {
	files := scanHandlers{s.Checks, s.Registries, s.CountValidation}
	channels := alertHandlers{s.Alerts.Channels, s.Directory, s.Mutes, s.Tenants}
	return []route{
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
	}
}

func (s *Console) keyAndProjectRoutes() []route {
	keys := keyHandlers{s.Auth.APIKeys, s.Directory, s.Now}
	projects := projectHandlers{s.Directory}
	return []route{
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
	}
}

func (s *Console) userRoutes() []route {
	users := userHandlers{s.Directory, s.Roles, s.Factors}
	return []route{
		{method: "GET", path: pathUsers, handle: users.listUsers, label: "Users", icon: "users", permission: access.ReadUsers},
		{method: "GET", path: pathUsers + "/new", handle: users.newUser, permission: access.CreateUsers},
		{method: "POST", path: pathUsers + "/new", handle: users.createUser},
		{method: "GET", path: pathUsers + "/{uid}", handle: users.showUser, permission: access.ReadUsers},
		{method: "POST", path: pathUsers + "/{uid}",
			handle: users.changeUser("userSaved", func(p *userPage) *forms.Form { return p.Details }, users.updateUser)},
		{method: "POST", path: pathUsers + "/{uid}/role",
			handle: users.changeUser("roleSet", func(p *userPage) *forms.Form { return p.Roles }, users.setRole)},
		{method: "POST", path: pathUsers + "/{uid}/projects",
			handle: users.changeUser("projectsSet", func(p *userPage) *forms.Form { return p.Projects }, users.setProjects)},
		{method: "POST", path: pathUsers + "/{uid}/password",
			handle: users.changeUser("userPasswordSet", func(p *userPage) *forms.Form { return p.Password }, users.setPassword)},
		{method: "POST", path: pathUsers + "/{uid}/disable", handle: users.disableUser},
		{method: "POST", path: pathUsers + "/{uid}/enable", handle: users.enableUser},
		{method: "GET", path: pathUsers + "/{uid}/delete", handle: users.confirmDeleteUser, permission: access.DeleteUsers},
		{method: "POST", path: pathUsers + "/{uid}/delete", handle: users.deleteUser},
	}
}

func (s *Console) serviceRoutes() []route {
	records := auditHandlers{s.Directory}
	settings := settingsHandlers{s.Directory, s.Settings}
	account := accountHandlers{s.Auth}
	manual := docsHandlers{s.Auth.Authenticator}
	return []route{
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
	}
}

func (s *Console) changes() changelog.Log {
	return changelog.Log{Directory: s.Directory, Registries: s.Registries}
}
