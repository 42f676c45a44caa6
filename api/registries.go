package api

import (
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// OCIRegistryRequest is the body that keeps a registry definition, or puts another in its place.
type OCIRegistryRequest struct {
	Metadata OCIRegistryName        `json:"metadata"`
	Spec     OCIRegistryRequestSpec `json:"spec"`
}

// OCIRegistryName is the metadata of a registry that is to be kept. Public clients send more, which is not read.
type OCIRegistryName struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	Labels      map[string]string `json:"labels"`
}

// OCIRegistryDefinition is a definition as it is validated, with what only the service uses.
type OCIRegistryDefinition struct {
	regcheck.Definition
	RegistryUID string `json:"registryUid,omitempty"` // of the stored registry whose secrets are used
	Scope       string `json:"scope,omitempty"`
}

// OCIRegistryRequestSpec is a definition and what is to be done with it.
type OCIRegistryRequestSpec struct {
	OCIRegistryDefinition
	IsSyncSupported         bool `json:"isSyncSupported"`
	ContainsSpectroManifest bool `json:"containsSpectroManifest"`
	IsPrivate               bool `json:"isPrivate"`
}

// OCIRegistry answers PathOCIRegistry. Spec and Status are there whatever they hold: public clients look into them
// without asking.
type OCIRegistry struct {
	Metadata OCIRegistryMetadata `json:"metadata"`
	Spec     OCIRegistrySpec     `json:"spec"`
	Status   OCIRegistryStatus   `json:"status"`
}

// OCIRegistryMetadata names a kept registry.
type OCIRegistryMetadata struct {
	UID                   string            `json:"uid"`
	Name                  string            `json:"name"`
	CreationTimestamp     time.Time         `json:"creationTimestamp"`
	LastModifiedTimestamp time.Time         `json:"lastModifiedTimestamp"`
	Annotations           map[string]string `json:"annotations,omitempty"`
	Labels                map[string]string `json:"labels,omitempty"`
}

// OCIRegistrySpec is the definition byte for byte as it was sent, but for its secrets: a mask stands for each that
// is stored.
type OCIRegistrySpec struct {
	Endpoint                string          `json:"endpoint"`
	ProviderType            string          `json:"providerType,omitempty"`
	BasePath                string          `json:"basePath,omitempty"`
	BaseContentPath         string          `json:"baseContentPath,omitempty"`
	Scope                   string          `json:"scope,omitempty"`
	IsSyncSupported         bool            `json:"isSyncSupported"`
	ContainsSpectroManifest bool            `json:"containsSpectroManifest"`
	IsPrivate               bool            `json:"isPrivate"`
	Auth                    OCIRegistryAuth `json:"auth"`
}

// OCIRegistryAuth has the credentials of a stored registry. TLS is always there: old public clients dereference it.
type OCIRegistryAuth struct {
	Type     string         `json:"type,omitempty"`
	Username string         `json:"username,omitempty"`
	Password secret.String  `json:"password,omitempty"`
	Token    secret.String  `json:"token,omitempty"`
	TLS      OCIRegistryTLS `json:"tls"`
}

// OCIRegistryTLS has the TLS settings of a stored registry.
type OCIRegistryTLS struct {
	Enabled            bool          `json:"enabled"`
	InsecureSkipVerify bool          `json:"insecureSkipVerify"`
	CA                 string        `json:"ca,omitempty"`
	Certificate        string        `json:"certificate,omitempty"`
	Key                secret.String `json:"key,omitempty"`
}

// OCIRegistryStatus tells how the last synchronization went.
type OCIRegistryStatus struct {
	SyncStatus SyncStatus `json:"syncStatus"`
}

// SyncStatus is one of the words Success, Failed, InProgress and Pending, or none where nothing is synchronized: any
// other word is an error to public clients.
type SyncStatus struct {
	IsSyncSupported bool      `json:"isSyncSupported"`
	Status          string    `json:"status"`
	Message         string    `json:"message"`
	LastRunTime     time.Time `json:"lastRunTime,omitzero"`
	LastSyncedTime  time.Time `json:"lastSyncedTime,omitzero"`
}

// OCIRegistryEntity is the response of PathOCIRegistryOfAnyType: the type "basic" always, and what the types have in common.
type OCIRegistryEntity struct {
	Type          string          `json:"type"`
	Endpoint      string          `json:"endpoint"`
	ProviderType  string          `json:"providerType,omitempty"`
	Scope         string          `json:"scope,omitempty"`
	DefaultRegion string          `json:"defaultRegion"` // of other types
	Auth          OCIRegistryAuth `json:"auth"`
}

// OCIRegistrySummaries answers PathOCIRegistrySummary.
type OCIRegistrySummaries struct {
	Items []OCIRegistrySummary `json:"items"`
}

// OCIRegistrySummary is a stored registry in a list.
type OCIRegistrySummary struct {
	Metadata OCIRegistryMetadata      `json:"metadata"`
	Spec     OCIRegistrySummarySpec   `json:"spec"`
	Status   OCIRegistrySummaryStatus `json:"status"`
}

// OCIRegistrySummarySpec has the registry type "basic" always: clients refuse every word but that and "ecr".
type OCIRegistrySummarySpec struct {
	RegistryType            string `json:"registryType"`
	Endpoint                string `json:"endpoint"`
	ProviderType            string `json:"providerType,omitempty"`
	Scope                   string `json:"scope,omitempty"`
	IsSyncSupported         bool   `json:"isSyncSupported"`
	ContainsSpectroManifest bool   `json:"containsSpectroManifest"`
	IsPrivate               bool   `json:"isPrivate"`
}

// OCIRegistrySummaryStatus has under another name what OCIRegistryStatus has.
type OCIRegistrySummaryStatus struct {
	Sync SyncStatus `json:"sync"`
}

// RegistryNames answers PathRegistryNames.
type RegistryNames struct {
	Items []RegistryName `json:"items"`
}

// RegistryName is one registry of whatever kind; ours are all "oci". Scope is "tenant" where none was sent.
type RegistryName struct {
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Kind      string `json:"kind"`
	Scope     string `json:"scope"`
	IsDefault bool   `json:"isDefault"`
	IsPrivate bool   `json:"isPrivate"`
}

// HelmRegistries answers PathHelmRegistries: none is kept, and public clients ask all the same.
type HelmRegistries struct {
	Items []struct{} `json:"items"`
}
