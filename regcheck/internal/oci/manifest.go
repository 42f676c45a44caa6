package oci

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
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

// Manifest is an image manifest or an index, as far as a check needs it.
type Manifest struct {
	ArtifactType string      `json:"artifactType"`
	Config       Descriptor  `json:"config"`
	Layers       Descriptors `json:"layers"`
	Manifests    Descriptors `json:"manifests"`
}

// Descriptor refers to a blob or a manifest.
type Descriptor struct {
	MediaType string   `json:"mediaType,omitempty"`
	Digest    string   `json:"digest"`
	Size      int64    `json:"size"`
	URLs      []string `json:"urls,omitempty"`
	Platform  Platform `json:"platform,omitzero"`
}

// Platform is what the manifest of an index is for.
type Platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Variant      string `json:"variant"`
}

func (p Platform) String() string {
	return strings.TrimSuffix(p.OS+"/"+p.Architecture+"/"+p.Variant, "/")
}

// Foreign reports whether a layer is outside of the registry, as some layers of Windows are.
func (d Descriptor) Foreign() bool {
	return len(d.URLs) > 0 || strings.Contains(d.MediaType, ".foreign.") || strings.Contains(d.MediaType, ".nondistributable.")
}

// MaxDescriptors is how many descriptors of a list are read.
const MaxDescriptors = 4096

// Descriptors are the first MaxDescriptors of a list: a megabyte of empty ones would take 30 MiB.
type Descriptors []Descriptor

// UnmarshalJSON reads the list one descriptor at a time.
func (l *Descriptors) UnmarshalJSON(data []byte) error {
	*l = nil
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t == nil {
		return err
	} else if t != json.Delim('[') {
		return &json.UnmarshalTypeError{Value: "object", Field: "layers"}
	}
	for d.More() && len(*l) < MaxDescriptors {
		var one Descriptor
		if err := d.Decode(&one); err != nil {
			return err
		}
		*l = append(*l, one)
	}
	return nil
}

// ReadManifest reads a manifest.
func ReadManifest(body []byte) (m Manifest, err error) {
	err = json.Unmarshal(body, &m)
	return m, err
}

// Blobs returns the config and the layers that the registry must have.
func (m Manifest) Blobs() []Descriptor {
	var all []Descriptor
	if m.Config.MediaType+m.Config.Digest != "" {
		all = append(all, m.Config)
	}
	for _, l := range m.Layers {
		if !l.Foreign() {
			all = append(all, l)
		}
	}
	return all
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
