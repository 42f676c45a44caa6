package oci

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// The repositories of packs and of manifests of packs have these prefixes.
const (
	PackPrefix     = "spectro-packs/archive"
	ManifestPrefix = "spectro-manifests"
)

// NextPage returns the query of the Link header, "" if there is none. The rest of the link is ignored, so that it cannot
// lead to another host.
func NextPage(a *wire.Response) string {
	for _, line := range a.Header.Values("Link") {
		for part := range strings.SplitSeq(line, ",") {
			target, rest, ok := strings.Cut(part, ">")
			_, target, opened := strings.Cut(target, "<")
			if !ok || !opened || !strings.Contains(strings.ReplaceAll(strings.ToLower(rest), " ", ""), `rel="next"`) &&
				!strings.Contains(rest, "rel=next") {
				continue
			}
			if u, err := url.Parse(target); err == nil && u.RawQuery != "" {
				return u.RawQuery
			}
		}
	}
	return ""
}

// NamesRepository reports whether a body has the name of the repository, as a list of tags has even without tags.
func NamesRepository(body []byte, repository string) bool {
	var list struct {
		Name string `json:"name"`
	}
	return json.Unmarshal(body, &list) == nil && list.Name == repository
}

// CatalogQuery requests a page of the catalog.
const CatalogQuery = "n=1000"
