package api

// OCIRegistryContent is the response of PathOCIRegistryContent: the result of the last finished synchronization.
type OCIRegistryContent struct {
	Items    []OCIRegistryTag `json:"items"`
	ListMeta ListMeta         `json:"listmeta"`
	Status   SyncStatus       `json:"status"`
}

// OCIRegistryTag is one tag. An item without a tag describes the repository: it has no tag, or its list could not be
// read.
type OCIRegistryTag struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag,omitempty"`
	Kind       string `json:"kind,omitempty"` // helm, zarf, pack or other
	Digest     string `json:"digest,omitempty"`
	Problem    string `json:"problem,omitempty"`
}
