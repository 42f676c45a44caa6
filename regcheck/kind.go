package regcheck

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const digestHeader = "Docker-Content-Digest"

const manifestAccept = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, " +
	"application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json, application/json"

// kind is what an artifact is, by its media types.
type kind string

const (
	kindHelm  kind = "a Helm chart"
	kindZarf  kind = "a Zarf package"
	kindImage kind = "a container image"
	kindOther kind = "an artifact of another kind"
	kindNone  kind = "" // the manifest cannot be read
)

type manifest struct {
	ArtifactType string `json:"artifactType"`
	Config       struct {
		MediaType string `json:"mediaType"`
	} `json:"config"`
	Layers []struct {
		MediaType string `json:"mediaType"`
	} `json:"layers"`
	Manifests []struct {
		Digest string `json:"digest"`
	} `json:"manifests"`
}

// empty tells that nothing was read.
func (m manifest) empty() bool {
	return m.Config.MediaType == "" && m.ArtifactType == "" && len(m.Layers)+len(m.Manifests) == 0
}

// untyped tells that nobody gave the artifact a type: what oras writes then, 1.0 into the config, newer ones
// into the artifact type.
func (m manifest) untyped() bool {
	return m.Config.MediaType == "application/vnd.unknown.config.v1+json" || m.ArtifactType == "application/vnd.unknown.artifact.v1"
}

func (m manifest) kind() kind {
	for _, l := range m.Layers {
		if l.MediaType == "application/vnd.zarf.layer.v1.blob" {
			return kindZarf
		}
	}
	switch m.Config.MediaType {
	case "application/vnd.cncf.helm.config.v1+json":
		return kindHelm
	case "application/vnd.zarf.config.v1+json":
		return kindZarf
	case "application/vnd.docker.container.image.v1+json", "application/vnd.oci.image.config.v1+json":
		return kindImage
	}
	return kindOther
}

// checkKind reads the manifest of a tag and warns when it is no artifact for the provider type. problem says why
// the manifest cannot be read.
func (s *session) checkKind(ctx context.Context, in reading, tag string) (k kind, problem string) {
	k, problem = s.readKind(ctx, in, tag)
	expected := map[ProviderType]kind{Helm: kindHelm, Zarf: kindZarf}[s.plan.provider]
	mismatch := k != expected
	if s.plan.provider == Pack {
		mismatch = k == kindHelm || k == kindZarf // packs have no media type of their own
	}
	if mismatch && k != kindNone {
		s.warn(WarnContentKindMismatch, "%s:%s is %s, and providerType is %q.", wire.CleanText(in.repository), wire.CleanText(tag), k, s.plan.provider)
	}
	return k, problem
}

// readKind returns the kind of a tagged artifact: the one that is known for its digest, else what its manifest says.
func (s *session) readKind(ctx context.Context, in reading, tag string) (k kind, problem string) {
	if k, known := s.knownKind(ctx, in, tag); known {
		return k, ""
	}
	k, digest, problem := s.fetchKind(ctx, in, tag)
	if k != kindNone {
		s.artifact = artifactKind{hashed(digest), k}
	}
	return k, problem
}

// fetchKind gets the manifest of a tag and, of an index, its first manifest: each is a pull at Docker Hub. The digest is
// the tag's.
func (s *session) fetchKind(ctx context.Context, in reading, reference string) (k kind, digest, problem string) {
	for range 2 { // Zarf pushes an index with one manifest per architecture
		if !isReference(reference) {
			return kindNone, "", "its name cannot be asked for"
		}
		a, err := s.manifest(ctx, in, reference, false)
		var m manifest
		switch {
		case err != nil:
			return kindNone, "", "GET of its manifest got no answer"
		case a.Status != 200:
			return kindNone, "", "GET " + wire.ShowURL(a.URL) + " was answered " + a.Said()
		case a.Over || a.Packed || a.Cut != nil || json.Unmarshal(a.Body, &m) != nil:
			return kindNone, "", "GET " + wire.ShowURL(a.URL) + " was answered 200 with a body that is not a manifest, too long or cut off"
		}
		if digest == "" {
			digest = cmp.Or(a.Header.Get(digestHeader), digestOf(a.Body))
		}
		if len(m.Manifests) == 0 {
			return m.kind(), digest, ""
		}
		reference = m.Manifests[0].Digest
	}
	return kindOther, digest, ""
}

// manifest asks for a manifest, or only for its headers.
func (s *session) manifest(ctx context.Context, in reading, reference string, head bool) (*wire.Response, error) {
	header, _ := s.authorization(ctx, in.at.access, in.at.scope)
	a, err := s.request(ctx, wire.Request{URL: s.base.url(in.repository + "/manifests/" + reference), Authorization: header, Head: head})
	if err == nil {
		s.checkPullQuota(a.Header)
	}
	return a, err
}

// isReference knows tags and digests; a registry's own list may hold anything.
func isReference(r string) bool {
	return r != "" && len(r) <= 256 && strings.Trim(r, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:+=") == "" && r != "." && r != ".."
}
