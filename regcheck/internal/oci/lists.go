package oci

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Where packs and manifests of packs are.
const (
	PackPlace     = "spectro-packs/archive"
	ManifestPlace = "spectro-manifests"
)

// NextPage takes only the query of the Link header: one that leads elsewhere is not followed.
func NextPage(a *wire.Response) string {
	for _, line := range a.Header.Values("Link") {
		for part := range strings.SplitSeq(line, ",") {
			target, rest, ok := strings.Cut(part, ">")
			_, target, opened := strings.Cut(target, "<")
			if !ok || !opened || !strings.Contains(strings.ReplaceAll(strings.ToLower(rest), " ", ""), `rel="next"`) && !strings.Contains(rest, "rel=next") {
				continue
			}
			if u, err := url.Parse(target); err == nil && u.RawQuery != "" {
				return u.RawQuery
			}
		}
	}
	return ""
}

// NamesRepository knows a list of tags without tags by the name of its repository.
func NamesRepository(body []byte, repository string) bool {
	var list struct {
		Name string `json:"name"`
	}
	return json.Unmarshal(body, &list) == nil && list.Name == repository
}

// CatalogQuery asks for a page of the catalog.
const CatalogQuery = "n=1000"
