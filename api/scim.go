package api

import "time"

// Paths of SCIM 2.0, by which an identity provider provisions users and teams (RFC 7644). They speak its media type and have its bodies.
const (
	PathSCIM              = "/scim/v2/"
	PathSCIMUsers         = PathSCIM + "Users"
	PathSCIMUser          = PathSCIM + "Users/{uid}"
	PathSCIMGroups        = PathSCIM + "Groups"
	PathSCIMGroup         = PathSCIM + "Groups/{uid}"
	PathSCIMConfig        = PathSCIM + "ServiceProviderConfig"
	PathSCIMResourceTypes = PathSCIM + "ResourceTypes"
	PathSCIMSchemas       = PathSCIM + "Schemas"

	SCIMType = "application/scim+json"
)

// Schemas of SCIM.
const (
	SCIMUserSchema  = "urn:ietf:params:scim:schemas:core:2.0:User"
	SCIMGroupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group"
	SCIMListSchema  = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
	SCIMErrorSchema = "urn:ietf:params:scim:api:messages:2.0:Error"
)

// SCIMUser is a user as an identity provider knows it.
type SCIMUser struct {
	Schemas     []string    `json:"schemas"`
	ID          string      `json:"id"`
	ExternalID  string      `json:"externalId,omitempty"`
	UserName    string      `json:"userName"` // the email
	Name        SCIMName    `json:"name"`
	DisplayName string      `json:"displayName,omitempty"`
	Emails      []SCIMEmail `json:"emails"` // the same
	Active      bool        `json:"active"`
	Meta        SCIMMeta    `json:"meta"`
}

// SCIMName is the name of a person.
type SCIMName struct {
	GivenName  string `json:"givenName,omitempty"`
	FamilyName string `json:"familyName,omitempty"`
}

// SCIMEmail is an address of a user.
type SCIMEmail struct {
	Value   string `json:"value"`
	Type    string `json:"type"`
	Primary bool   `json:"primary"`
}

// SCIMMeta describes a resource. Location is its path.
type SCIMMeta struct {
	ResourceType string    `json:"resourceType"`
	Created      time.Time `json:"created"`
	Location     string    `json:"location"`
}

// SCIMGroup is a team as an identity provider knows it. Members are left out if the request excludes them.
type SCIMGroup struct {
	Schemas     []string      `json:"schemas"`
	ID          string        `json:"id"`
	ExternalID  string        `json:"externalId,omitempty"`
	DisplayName string        `json:"displayName"`
	Members     *[]SCIMMember `json:"members,omitempty"`
	Meta        SCIMMeta      `json:"meta"`
}

// SCIMMember is a user of a group.
type SCIMMember struct {
	Value   string `json:"value"` // uid
	Display string `json:"display"`
	Type    string `json:"type"`
}

// SCIMList is a page of resources. ItemsPerPage may be less than was asked for.
type SCIMList struct {
	Schemas      []string `json:"schemas"`
	TotalResults int64    `json:"totalResults"`
	StartIndex   int      `json:"startIndex"`
	ItemsPerPage int      `json:"itemsPerPage"`
	Resources    []any    `json:"Resources"`
}

// SCIMError is an error with the members of SCIM in addition to those of Error.
type SCIMError struct {
	Error
	Schemas    []string `json:"schemas"`
	StatusText string   `json:"status"`
	SCIMType   string   `json:"scimType,omitempty"`
	Detail     string   `json:"detail"`
}
