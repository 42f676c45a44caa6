package api

import (
	"time"

	"github.com/regwarden/regwarden/secret"
)

// UserInfo answers PathUserInfo: who calls. A tenant is an organization.
type UserInfo struct {
	OrgName   string `json:"orgName"`
	TenantUID string `json:"tenantUid"`
	UserUID   string `json:"userUid"`
}

// Users answers PathUsers.
type Users struct {
	Items    []User   `json:"items"`
	ListMeta ListMeta `json:"listmeta"`
}

// User is one user.
type User struct {
	Metadata Metadata   `json:"metadata"`
	Spec     UserSpec   `json:"spec"`
	Status   UserStatus `json:"status"`
}

// UserSpec is what a user is. Projects is there where one user is asked for.
type UserSpec struct {
	EmailID  string       `json:"emailId"`
	Roles    []string     `json:"roles"` // one: admin or member
	Projects []ProjectRef `json:"projects,omitzero"`
}

// ProjectRef names a project.
type ProjectRef struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}

// UserStatus is what a user does.
type UserStatus struct {
	IsActive   bool      `json:"isActive"`
	LastSignIn time.Time `json:"lastSignIn,omitzero"`
}

// NewUser is the body that makes a user.
type NewUser struct {
	Spec NewUserSpec `json:"spec"`
}

// NewUserSpec is what a user is to be. Roles has none, which means member, or one. Projects are uids or names.
type NewUserSpec struct {
	EmailID  string        `json:"emailId"`
	Password secret.String `json:"password"`
	Roles    []string      `json:"roles"`
	Projects []string      `json:"projects"`
}

// UserState is the body of PathUserState. IsActive is required.
type UserState struct {
	IsActive *bool `json:"isActive"`
}

// UserRoles is the body of PathUserRoles: one role.
type UserRoles struct {
	Roles []string `json:"roles"`
}

// UserProjects is the body of PathUserProjects: all projects of a user.
type UserProjects struct {
	Projects []UserProject `json:"projects"`
}

// UserProject names one project, by uid or name.
type UserProject struct {
	ProjectUID string `json:"projectUid"`
}

// PasswordChange is the body of PathMyPassword.
type PasswordChange struct {
	CurrentPassword secret.String `json:"currentPassword"`
	NewPassword     secret.String `json:"newPassword"`
}
