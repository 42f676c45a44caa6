package api

// OCIRegistryContent answers PathOCIRegistryContent: what the last finished synchronization found.
type OCIRegistryContent struct {
	Items    []OCIRegistryTag `json:"items"`
	ListMeta ListMeta         `json:"listmeta"`
	Status   SyncStatus       `json:"status"`
}

// OCIRegistryTag is one tag. An item without a tag tells of the repository itself: that it has none, or what is
// wrong with its list.
type OCIRegistryTag struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag,omitempty"`
	Kind       string `json:"kind,omitempty"` // helm, zarf, pack or other
	Digest     string `json:"digest,omitempty"`
	Problem    string `json:"problem,omitempty"`
}
