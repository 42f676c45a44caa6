package access

import (
	"slices"

	"github.com/google/uuid"
)

// Custom are the permissions of the roles that an organization defines, by their uids.
type Custom map[Role][]Permission

// Add adds a role. A permission that is not known any more is left out.
func (c Custom) Add(uid string, permissions []string) {
	granted := []Permission{}
	for _, name := range permissions {
		if p := Permission(name); slices.Contains(BuiltIn[0].Permissions, p) {
			granted = append(granted, p)
		}
	}
	c[Role(uid)] = granted
}

// IsCustom reports whether a single role has the form of one that an organization defines. It may not exist.
func IsCustom(role Role) bool {
	if len(role) != len(uuid.Nil.String()) { // almost every role
		return false
	}
	uid, err := uuid.Parse(string(role))
	return err == nil && uid.String() == string(role)
}

// HasCustom reports whether one of the roles has the form of one that an organization defines.
func (r Role) HasCustom() bool { return slices.ContainsFunc(r.All(), IsCustom) }

// grants reports whether one of the roles is a role of the organization that has a permission.
func (c Custom) grants(roles Role, permission Permission) bool {
	return slices.ContainsFunc(roles.All(), func(one Role) bool { return slices.Contains(c[one], permission) })
}

// Permissions lists all permissions that roles can grant.
func Permissions() []Permission { return slices.Clone(BuiltIn[0].Permissions) } // an administrator has all
