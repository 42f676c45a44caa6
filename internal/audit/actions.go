package audit

import "strings"

// Action is what was done. The list is closed, so filters stay valid.
type Action string

// Actions has every action in the order of declaration.
var Actions []Action

// action declares an action and adds it to Actions.
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
	RegistryScan     = action("registry.scan") // definitions in a file were listed
	RegistryCreate   = action("registry.create")
	RegistryUpdate   = action("registry.update")
	RegistryDelete   = action("registry.delete")
	RegistrySync     = action("registry.sync")  // requested by a user
	RegistryCheck    = action("registry.check") // requested by a user
	OrgCreate        = action("org.create")
	OrgUpdate        = action("org.update")
	OrgDelete        = action("org.delete")
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
	APIKeyRevoke     = action("apikey.revoke") // by a caller who has the key
	Logout           = action("auth.logout")
	LoginAlert       = action("auth.alert") // after many failed logins, logins of the account are throttled for all sources
	SessionEnd       = action("session.end")
	TokensRevoke     = action("auth.revoke")
	PasswordChange   = action("user.changePassword")
	PasswordSet      = action("user.setPassword")
	UserInvite       = action("user.invite") // a link by which a user sets its password
	UserDisable      = action("user.disable")
	UserEnable       = action("user.enable")
	FactorEnroll     = action("mfa.enroll") // a second factor was begun; it counts once it is confirmed
	FactorConfirm    = action("mfa.confirm")
	FactorRemove     = action("mfa.remove") // by its user
	FactorReset      = action("mfa.reset")  // by an administrator
	RecoveryCodes    = action("mfa.recoveryCodes")
	KeysRotate       = action("key.rotate")
	RegistryWatch    = action("registry.watch") // a scheduled check changed the health status of a stored registry
	AlertCreate      = action("alert.create")   // an alert channel of a project
	AlertUpdate      = action("alert.update")
	AlertDelete      = action("alert.delete")
	AlertTest        = action("alert.test")
	AlertMute        = action("alert.mute") // alerts are not sent for a time
	AlertUnmute      = action("alert.unmute")
	AlertConfirm     = action("alert.confirm") // the owner of an email address agreed to receive the alerts of an organization
	TeamCreate       = action("team.create")
	TeamUpdate       = action("team.update") // its name, members or roles
	TeamDelete       = action("team.delete")
	RoleCreate       = action("role.create") // of an organization
	RoleUpdate       = action("role.update")
	RoleDelete       = action("role.delete")
	TrustCreate      = action("trust.create") // a rule by which tokens of another issuer are accepted
	TrustDelete      = action("trust.delete")
	ProviderUpdate   = action("sso.update") // the identity provider of an organization
	ProviderDelete   = action("sso.delete")
	UserLink         = action("user.link")     // who a user is at the identity provider
	TenantUpdate     = action("tenant.update") // a setting of an organization
	MasterRotate     = action("key.rotateMaster")
	StoreBackup      = action("store.backup")
)

// Kinds of change.
const (
	ChangeNone   = ""
	ChangeCreate = "create"
	ChangeUpdate = "update"
	ChangeDelete = "delete"
)

// Changes and Outcomes are closed lists too.
var (
	Changes  = []string{ChangeNone, ChangeCreate, ChangeUpdate, ChangeDelete}
	Outcomes = []Outcome{Started, Succeeded, Refused, Failed, Valid, NotValid, Unknown}
)

// Kind is the kind of the action's object, such as "user".
func (a Action) Kind() string {
	kind, _, _ := strings.Cut(string(a), ".")
	return kind
}

// Change is the kind of change, "" for actions that change nothing.
func (a Action) Change() string {
	switch a {
	case Login, Refresh, LoginAlert, RegistryValidate, RegistryDiagnose, RegistryScan, RegistrySync, RegistryCheck,
		StoreBackup, RegistryWatch, AlertTest:
		return ChangeNone
	}
	switch _, verb, _ := strings.Cut(string(a), "."); verb {
	case ChangeCreate, ChangeDelete:
		return verb
	default:
		return ChangeUpdate
	}
}
