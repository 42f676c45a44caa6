package regcheck

import (
	"context"
	"encoding/json"
	"strings"
)

const manifestAccept = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, " +
	"application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json, application/json"

// kind is what an artifact is, by its media types.
type kind string

const (
	kindHelm  kind = "a Helm chart"
	kindZarf  kind = "a Zarf package"
	kindImage kind = "a container image"
	kindOther kind = "an artifact of another kind"
	kindNone  kind = "not readable as a manifest"
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

// checkKind reads the manifest of a tag and warns when it is no artifact for the provider type.
func (s *session) checkKind(ctx context.Context, repository, tag string) kind {
	k := s.readKind(ctx, repository, tag)
	expected := map[ProviderType]kind{Helm: kindHelm, Zarf: kindZarf}[s.plan.provider]
	mismatch := k != expected
	if s.plan.provider == Pack {
		mismatch = k == kindHelm || k == kindZarf // packs have no media type of their own
	}
	if mismatch && k != kindNone {
		s.warn(WarnContentKindMismatch, "%s:%s is %s, and providerType is %q.", cleanText(repository), cleanText(tag), k, s.plan.provider)
	}
	return k
}

func (s *session) readKind(ctx context.Context, repository, reference string) kind {
	for range 2 { // Zarf pushes an index with one manifest per architecture
		if !isReference(reference) {
			return kindNone
		}
		header, _ := s.authorization(ctx, s.access, pullScope(repository))
		a, err := s.read(ctx, repository+"/manifests/"+reference, "", header)
		if err != nil || a.status != 200 || a.over || a.packed {
			return kindNone
		}
		var m manifest
		if json.Unmarshal(a.body, &m) != nil {
			return kindNone
		}
		if len(m.Manifests) == 0 {
			return m.kind()
		}
		reference = m.Manifests[0].Digest
	}
	return kindOther
}

// isReference knows tags and digests; a registry's own list may hold anything.
func isReference(r string) bool {
	return r != "" && len(r) <= 256 && strings.Trim(r, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:+=") == "" && r != "." && r != ".."
}
