package oci

import (
	"crypto/sha256"
	"encoding/hex"
)

// Headers of a registry.
const (
	DigestHeader  = "Docker-Content-Digest"
	VersionHeader = "Docker-Distribution-Api-Version"
)

const AcceptManifests = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, " +
	"application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json, application/json"

// Kind is what an artifact is, by its media types.
type Kind string

const (
	KindHelm  Kind = "a Helm chart"
	KindZarf  Kind = "a Zarf package"
	KindImage Kind = "a container image"
	KindOther Kind = "an artifact of another kind"
	KindNone  Kind = "" // the manifest cannot be read
)

type Manifest struct {
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

// Empty reports whether nothing was read.
func (m Manifest) Empty() bool {
	return m.Config.MediaType == "" && m.ArtifactType == "" && len(m.Layers)+len(m.Manifests) == 0
}

// Untyped reports whether the artifact has the type of oras for artifacts without one: oras 1.0 sets it in the config, newer
// versions as artifact type.
func (m Manifest) Untyped() bool {
	return m.Config.MediaType == "application/vnd.unknown.config.v1+json" || m.ArtifactType == "application/vnd.unknown.artifact.v1"
}

func (m Manifest) Kind() Kind {
	for _, l := range m.Layers {
		if l.MediaType == "application/vnd.zarf.layer.v1.blob" {
			return KindZarf
		}
	}
	switch m.Config.MediaType {
	case "application/vnd.cncf.helm.config.v1+json":
		return KindHelm
	case "application/vnd.zarf.config.v1+json":
		return KindZarf
	case "application/vnd.docker.container.image.v1+json", "application/vnd.oci.image.config.v1+json":
		return KindImage
	}
	return KindOther
}

func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}
