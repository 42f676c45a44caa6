// Package probe looks for a registry on other paths of a server that has no API at the path of the definition, so that a hint can
// name the right path.
package probe

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Candidate is what another path of the server has. One of its fields is set.
type Candidate struct {
	HelmIndex string // URL of the index of a classic Helm repository, to be shown
	BasePath  string // a registry responds below this path
	AtRoot    bool   // a registry responds without any base path
}

// maxKeys limits how many repository keys of Artifactory are tried.
const maxKeys = 4

// prober sends the requests of one search.
type prober struct {
	client *wire.Client
	base   endpoint.Base
}

// Paths sends requests to the likely paths, concurrently and without credentials, and returns the best candidate, nil if there
// is none. root is the response to GET /v2/ below base.
func Paths(ctx context.Context, client *wire.Client, base endpoint.Base, contentPath string, root *wire.Response) *Candidate {
	p := &prober{client, base}
	return p.probePaths(ctx, p.artifactoryKeys(ctx, contentPath, root))
}

// IsRegistry reports whether an OCI registry responds at the root of the server.
func IsRegistry(ctx context.Context, client *wire.Client, base endpoint.Base) bool {
	a, err := (&prober{client, base}).get(ctx, "/v2/")
	return err == nil && isRegistry(a)
}

func (p *prober) get(ctx context.Context, path string) (*wire.Response, error) {
	u := &url.URL{Scheme: p.base.Scheme, Host: p.base.Authority(), Path: path}
	return p.client.Fetch(ctx, wire.Request{URL: u}, false)
}

// place is a path of the server. read returns what its response shows, nil if nothing of use.
type place struct {
	path string
	read func(*wire.Response) *Candidate
}

// places returns the paths below which a registry or an index may be, the best first.
func (p *prober) places(keys []string) (all []place) {
	for _, key := range keys {
		for _, kind := range []string{"docker", "oci"} {
			path := "artifactory/api/" + kind + "/" + key
			all = append(all, place{"/" + path + "/v2/", ifRegistry(Candidate{BasePath: path})})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.path, b.path) })
	if p.base.Path != "" {
		all = append(all, place{"/v2/", ifRegistry(Candidate{AtRoot: true})})
	}
	return append(all, place{strings.TrimSuffix("/"+p.base.Path, "/") + "/index.yaml", readHelmIndex})
}

func (p *prober) probePaths(ctx context.Context, keys []string) *Candidate {
	places := p.places(keys)
	found := make([]*Candidate, len(places))
	var work []func(context.Context)
	for i, at := range places {
		work = append(work, func(ctx context.Context) {
			if a, err := p.get(ctx, at.path); err == nil {
				found[i] = at.read(a)
			}
		})
	}
	wire.Concurrently(ctx, work...)
	for _, candidate := range found {
		if candidate != nil {
			return candidate
		}
	}
	return nil
}

func readHelmIndex(a *wire.Response) *Candidate {
	text := string(a.Body[:min(len(a.Body), 64<<10)])
	if a.Status == 200 && !wire.IsHTML(a) && strings.Contains(text, "apiVersion:") && strings.Contains(text, "entries:") {
		return &Candidate{HelmIndex: a.ShowURL()}
	}
	return nil
}

// ifRegistry returns a function that returns the candidate for a response of a registry.
func ifRegistry(c Candidate) func(*wire.Response) *Candidate {
	return func(a *wire.Response) *Candidate {
		if !isRegistry(a) {
			return nil
		}
		return &c
	}
}

// isRegistry reports whether a response has a positive sign of a registry. Basic alone is none: any web server can require it.
func isRegistry(a *wire.Response) bool {
	if a.Status == 401 && challenge.Offered(a).Bearer != nil {
		return true
	}
	return (a.Status == 200 || a.Status == 401) && a.Header.Get(oci.VersionHeader) != "" || wire.IsOCIError(a.Body)
}

// artifactoryKeys returns repository keys worth trying: the first component of the content path, and those that an
// Artifactory lists to anonymous callers.
func (p *prober) artifactoryKeys(ctx context.Context, contentPath string, root *wire.Response) []string {
	var keys []string
	if key, _, _ := strings.Cut(contentPath, "/"); isKey(key) {
		keys = append(keys, key)
	}
	if !looksLikeArtifactory(root, p.base) {
		return keys
	}
	a, err := p.get(ctx, "/artifactory/api/repositories")
	if err != nil || a.Status != 200 {
		return keys
	}
	var listed []struct {
		Key         string `json:"key"`
		PackageType string `json:"packageType"`
	}
	if json.Unmarshal(a.Body, &listed) != nil {
		return keys
	}
	for _, r := range listed {
		kind := strings.ToLower(r.PackageType)
		if isKey(r.Key) && (kind == "docker" || kind == "oci" || kind == "helmoci") && len(keys) < maxKeys {
			keys = append(keys, r.Key)
		}
	}
	return keys
}

func isKey(key string) bool {
	foreign := func(r rune) bool { return r >= 0x80 || !challenge.IsTokenByte(byte(r)) } // #nosec G115 -- bounded by the test before it
	return key != "" && len(key) <= 64 && strings.IndexFunc(key, foreign) < 0
}

func looksLikeArtifactory(a *wire.Response, base endpoint.Base) bool {
	for name := range a.Header {
		lower := strings.ToLower(name)
		if strings.HasPrefix(lower, "x-artifactory") || strings.HasPrefix(lower, "x-jfrog") {
			return true
		}
	}
	listed := wire.ReadErrors(a.Body)
	return strings.Contains(a.Header.Get("Server"), "Artifactory") || strings.HasPrefix(base.Path, "artifactory") ||
		len(listed) > 0 && listed[0].Status != 0
}
