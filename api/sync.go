package api

// OCIRegistryContent is the response of PathOCIRegistryContent: what the last finished synchronization found.
type OCIRegistryContent struct {
	Items    []OCIRegistryTag `json:"items"`
	ListMeta ListMeta         `json:"listmeta"`
	Status   SyncStatus       `json:"status"`
}

// OCIRegistryTag is one tag. An item without a tag is for a repository without tags, or with a problem of its list.
type OCIRegistryTag struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag,omitempty"`
	Kind       string `json:"kind,omitempty"` // helm, zarf, pack or other
	Digest     string `json:"digest,omitempty"`
	Problem    string `json:"problem,omitempty"`
}
