package api

// Orgs is the response of PathOrgs.
type Orgs struct {
	Items []Org `json:"items"`
}

// Org is an organization.
type Org struct {
	Metadata Metadata `json:"metadata"`
}

// OrgRequest is the body that creates an organization.
type OrgRequest struct {
	Metadata Named `json:"metadata"`
}
