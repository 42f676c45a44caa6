package api

import "github.com/regwarden/regwarden/regcheck"

// RegistryBulk is the body of PathOCIRegistryBulk: one action (check, delete, labels or credentials) on the registries that exactly one of
// UIDs, Filter and SameCredentialsAs chooses.
type RegistryBulk struct {
	Action            string              `json:"action"`
	UIDs              []string            `json:"uids,omitempty"`
	Filter            *RegistryBulkFilter `json:"filter,omitzero"`
	SameCredentialsAs string              `json:"sameCredentialsAs,omitempty"` // uid of a registry
	Labels            map[string]*string  `json:"labels,omitempty"`            // of the action labels: to set, null to remove
	Auth              *regcheck.Auth      `json:"auth,omitempty"`              // of the action credentials; without tls
	DryRun            bool                `json:"dryRun,omitempty"`            // changes nothing
}

// RegistryBulkFilter chooses registries as the query of PathOCIRegistrySummary does. Without any field it chooses all.
type RegistryBulkFilter struct {
	Name    string `json:"name,omitempty"`
	Health  string `json:"health,omitempty"`
	Expiry  string `json:"expiry,omitempty"`
	Label   string `json:"label,omitempty"`
	Project string `json:"project,omitempty"` // uid
}

// Words of RegistryBulkItem.Result.
const (
	BulkDone    = "done"
	BulkMatched = "matched" // of a dry run
	BulkRefused = "refused"
)

// RegistryBulkResult is the response of PathOCIRegistryBulk.
type RegistryBulkResult struct {
	Items []RegistryBulkItem `json:"items"`
}

// RegistryBulkItem is what happened to a registry, with the code and message of why it was refused.
type RegistryBulkItem struct {
	UID     string `json:"uid"`
	Name    string `json:"name"`
	Result  string `json:"result"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}
