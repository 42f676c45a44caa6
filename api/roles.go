package api

// Roles is the response of PathRoles. All roles are on one page.
type Roles struct {
	Items    []Role   `json:"items"`
	ListMeta ListMeta `json:"listmeta"`
}

// Role is a role that users can have. The uid of a built-in role is its name.
type Role struct {
	Metadata RoleMetadata `json:"metadata"`
	Spec     RoleSpec     `json:"spec"`
	Status   RoleStatus   `json:"status"`
}

// RoleMetadata names a role; its annotation description says what it is for.
type RoleMetadata struct {
	UID         string            `json:"uid"`
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
}

// RoleSpec is what a role grants. Roles of the scope project can be given in projects too.
type RoleSpec struct {
	Permissions []string `json:"permissions"`
	Scope       string   `json:"scope"` // tenant or project
	Type        string   `json:"type"`  // system for a built-in role, user for one of the organization
}

// RoleStatus is the status of a role.
type RoleStatus struct {
	IsEnabled bool `json:"isEnabled"`
}

// Permissions are those about one thing. The response of PathPermissions is a list of them.
type Permissions struct {
	Name        string   `json:"name"`
	Scope       string   `json:"scope"` // tenant or project
	Permissions []string `json:"permissions"`
}

// RoleRequest is the body of POST PathRoles and PUT PathRole. The annotation description says what a role is for.
type RoleRequest struct {
	Metadata RoleRequestMetadata `json:"metadata"`
	Spec     RoleRequestSpec     `json:"spec"`
}

// RoleRequestMetadata names a role.
type RoleRequestMetadata struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RoleRequestSpec is what a role grants. Its type is ignored.
type RoleRequestSpec struct {
	Permissions []string `json:"permissions"`
	Scope       string   `json:"scope"`
	Type        string   `json:"type,omitempty"`
}

// RoleCloneRequest is the body of POST PathRoleClone. Without the annotation description, that of the role is taken.
type RoleCloneRequest struct {
	Metadata RoleRequestMetadata `json:"metadata"`
}
