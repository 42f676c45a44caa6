package audit

import "strings"

// Action is what was done. The list is closed, so that a reader can filter by it for years.
type Action string

// Actions has every action, in the order of their declarations.
var Actions []Action

// action declares an action. Each is written down once: one that Actions lacked could not be filtered by.
func action(name Action) Action {
	Actions = append(Actions, name)
	return name
}

// Actions.
var (
	Login            = action("auth.login")
	Refresh          = action("auth.refresh")
	RegistryValidate = action("registry.validate")
	RegistryDiagnose = action("registry.diagnose")
	RegistryCreate   = action("registry.create")
	RegistryUpdate   = action("registry.update")
	RegistryDelete   = action("registry.delete")
	RegistrySync     = action("registry.sync")  // somebody asked for it
	RegistryCheck    = action("registry.check") // likewise
	OrgCreate        = action("org.create")
	ProjectCreate    = action("project.create")
	ProjectUpdate    = action("project.update")
	ProjectDelete    = action("project.delete")
	UserCreate       = action("user.create")
	UserUpdate       = action("user.update")
	UserDelete       = action("user.delete")
	UserRole         = action("user.role")
	UserProjects     = action("user.projects")
	APIKeyCreate     = action("apikey.create")
	APIKeyUpdate     = action("apikey.update")
	APIKeyDelete     = action("apikey.delete")
	Logout           = action("auth.logout")
	LoginAlert       = action("auth.alert") // so many sign-ins failed that the account is tried slowly now
	SessionEnd       = action("session.end")
	TokensRevoke     = action("auth.revoke")
	PasswordChange   = action("user.changePassword")
	PasswordSet      = action("user.setPassword")
	UserDisable      = action("user.disable")
	UserEnable       = action("user.enable")
	KeysRotate       = action("key.rotate")
	RegistryWatch    = action("registry.watch") // the watch found that a kept definition's state changed
	AlertCreate      = action("alert.create")   // a channel by which alerts leave a project
	AlertUpdate      = action("alert.update")
	AlertDelete      = action("alert.delete")
	AlertConfirm     = action("alert.confirm") // an email address agreed to get the alerts of an organization
	MasterRotate     = action("key.rotateMaster")
	StoreBackup      = action("store.backup")
)

// Kinds of change, as far as an action is one.
const (
	ChangeNone   = ""
	ChangeCreate = "create"
	ChangeUpdate = "update"
	ChangeDelete = "delete"
)

// Changes and Outcomes are closed lists too.
var (
	Changes  = []string{ChangeNone, ChangeCreate, ChangeUpdate, ChangeDelete}
	Outcomes = []Outcome{Started, Succeeded, Refused, Failed, Valid, NotValid}
)

// Kind is what sort of thing an action is about, such as "user".
func (a Action) Kind() string {
	kind, _, _ := strings.Cut(string(a), ".")
	return kind
}

// Change is which kind of change an action is.
func (a Action) Change() string {
	switch a {
	case Login, Refresh, LoginAlert, RegistryValidate, RegistryDiagnose, RegistrySync, RegistryCheck, StoreBackup, RegistryWatch:
		return ChangeNone
	}
	switch _, verb, _ := strings.Cut(string(a), "."); verb {
	case ChangeCreate, ChangeDelete:
		return verb
	default:
		return ChangeUpdate
	}
}
