package audit

import "strings"

// Actions is the closed list, for those who filter by it.
var Actions = []Action{
	Login, Refresh, Logout, LoginAlert, TokensRevoke, SessionEnd,
	RegistryValidate, RegistryDiagnose, RegistryCreate, RegistryUpdate, RegistryDelete, RegistrySync, RegistryCheck,
	RegistryWatch, AlertCreate, AlertUpdate, AlertDelete, AlertConfirm,
	OrgCreate, ProjectCreate, ProjectUpdate, ProjectDelete,
	UserCreate, UserUpdate, UserDelete, UserRole, UserProjects, UserDisable, UserEnable, PasswordChange, PasswordSet,
	APIKeyCreate, APIKeyUpdate, APIKeyDelete,
	KeysRotate, MasterRotate, StoreBackup,
}

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
