package api

import (
	"time"

	"github.com/regwarden/regwarden/secret"
)

// UserInfo is the response of PathUserInfo: the caller. A tenant is an organization.
type UserInfo struct {
	OrgName   string `json:"orgName"`
	TenantUID string `json:"tenantUid"`
	UserUID   string `json:"userUid"`
	Email     string `json:"email"`
	Role      string `json:"role"` // such as member, with those of the teams; on a local store, operator
}

// Users is the response of PathUsers.
type Users struct {
	Items    []User   `json:"items"`
	ListMeta ListMeta `json:"listmeta"`
}

// User is one user. The name in its metadata is the stored name, or the email if there is none.
type User struct {
	Metadata Metadata   `json:"metadata"`
	Spec     UserSpec   `json:"spec"`
	Status   UserStatus `json:"status"`
}

// UserSpec is the part of a user that administrators set. Projects and Teams are present only in the response with a single user.
type UserSpec struct {
	EmailID   string   `json:"emailId"`
	FirstName string   `json:"firstName,omitempty"`
	LastName  string   `json:"lastName,omitempty"`
	Roles     []string `json:"roles"` // one of admin, member, viewer, registry-editor, auditor
	Projects  []Ref    `json:"projects,omitzero"`
	Teams     []Ref    `json:"teams,omitzero"`
}

// Ref is a uid and a name.
type Ref struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}

// UserStatus is the status of a user.
type UserStatus struct {
	IsActive   bool      `json:"isActive"`
	LastSignIn time.Time `json:"lastSignIn,omitzero"`
}

// UserSummaries is the response of PathUserSummary.
type UserSummaries struct {
	Items []UserSummary `json:"items"`
}

// UserSummary is one user of a summary, whose roles are those of UserRoleRefs.
type UserSummary struct {
	Metadata Metadata        `json:"metadata"`
	Spec     UserSummarySpec `json:"spec"`
	Status   UserStatus      `json:"status"`
}

// UserSummarySpec is the spec of a UserSummary.
type UserSummarySpec struct {
	EmailID   string `json:"emailId"`
	FirstName string `json:"firstName,omitempty"`
	LastName  string `json:"lastName,omitempty"`
	Roles     []Ref  `json:"roles"`
	Teams     []Ref  `json:"teams"`
}

// UserSummaryRequest is the body of PathUserSummary. The order that public clients send is ignored.
type UserSummaryRequest struct {
	Filter UserFilter `json:"filter"`
}

// UserFilter selects users.
type UserFilter struct {
	EmailID TextFilter `json:"emailId"`
	Name    TextFilter `json:"name"` // of the metadata
}

// TextFilter selects texts. A member that is null or omitted matches everything.
type TextFilter struct {
	Eq         *string `json:"eq"`
	Ne         *string `json:"ne"`
	Contains   *string `json:"contains"`
	BeginsWith *string `json:"beginsWith"`
	IgnoreCase bool    `json:"ignoreCase"`
}

// UserRoleRefs is the response of GET PathUserRoles. A member has a role here only if it was set by name, so that
// clients read what they set.
type UserRoleRefs struct {
	Roles []Ref `json:"roles"`
}

// UserProjectRoles is the response of GET PathUserProjects.
type UserProjectRoles struct {
	Projects []ProjectRoles `json:"projects"`
}

// ProjectRoles are the roles of a user in a project.
type ProjectRoles struct {
	UID   string `json:"uid"`
	Name  string `json:"name"`
	Roles []Ref  `json:"roles"`
}

// UserResourceRoles is the response of PathUserResourceRoles. The list is always empty.
type UserResourceRoles struct {
	ResourceRoles []struct{} `json:"resourceRoles"`
}

// UserWorkspaceRoles is the response of PathUserWorkspaceRoles. The list is always empty.
type UserWorkspaceRoles struct {
	Projects []struct{} `json:"projects"`
}

// NewUser is the body that creates a user.
type NewUser struct {
	Metadata PersonMetadata `json:"metadata"`
	Spec     NewUserSpec    `json:"spec"`
}

// PersonMetadata is the stored part of a user's metadata. Public clients send more.
type PersonMetadata struct {
	Name string `json:"name"`
}

// NewUserSpec is the user to create. Without a password the user cannot log in until an administrator sets one. Roles
// are of a member if there are none and no teams. Projects and teams are uids or names.
type NewUserSpec struct {
	EmailID   string        `json:"emailId"`
	FirstName string        `json:"firstName"`
	LastName  string        `json:"lastName"`
	Password  secret.String `json:"password"`
	Roles     []string      `json:"roles"`
	Projects  []string      `json:"projects"`
	Teams     []string      `json:"teams"`
}

// UserUpdate is the body of PUT PathUser. An empty email stays unchanged; the names are replaced.
type UserUpdate struct {
	Metadata PersonMetadata `json:"metadata"`
	Spec     UserUpdateSpec `json:"spec"`
}

// UserUpdateSpec is the spec of a UserUpdate.
type UserUpdateSpec struct {
	EmailID   string `json:"emailId"`
	FirstName string `json:"firstName"`
	LastName  string `json:"lastName"`
}

// NewPassword is the body of PathUserPassword.
type NewPassword struct {
	Password secret.String `json:"password"`
}

// Invitation is the response of PathUserInvitation: a link by which a user sets its password once, until it expires. Link and token are
// secret.
type Invitation struct {
	Link         string    `json:"link"`  // to a page of the console; empty without console
	Token        string    `json:"token"` // for PathPasswordActivation
	ExpiresAt    time.Time `json:"expiresAt"`
	Emailed      bool      `json:"emailed"`
	EmailProblem string    `json:"emailProblem"` // why it was not
}

// UserState is the body of PathUserState. IsActive is required.
type UserState struct {
	IsActive *bool `json:"isActive"`
}

// UserRoles is the body of PUT PathUserRoles. An empty list means member, and leaves the role none.
type UserRoles struct {
	Roles []string `json:"roles"`
}

// UserProjects is the body of PUT PathUserProjects: all projects of a user.
type UserProjects struct {
	Projects []UserProject `json:"projects"`
}

// UserProject is one project, by uid or name. Roles omitted, or member, make the user a member; an empty list does not.
type UserProject struct {
	ProjectUID string   `json:"projectUid"`
	Roles      []string `json:"roles"`
}

// PasswordChange is the body of PathMyPassword.
type PasswordChange struct {
	CurrentPassword secret.String `json:"currentPassword"`
	NewPassword     secret.String `json:"newPassword"`
}
