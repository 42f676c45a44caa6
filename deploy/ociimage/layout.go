package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Media types of the OCI image specification.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

const userID = 65532

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type object = map[string]any

// layout collects the blobs of an OCI image layout.
type layout struct {
	created time.Time
	blobs   map[string][]byte // by digest
}

func (l layout) add(mediaType string, data []byte) descriptor {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	l.blobs[digest] = data
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(data)}
}

func (l layout) addJSON(mediaType string, value any) (descriptor, error) {
	data, err := json.Marshal(value)
	return l.add(mediaType, data), err
}

// addImage adds the image of one platform and returns its manifest.
func (l layout) addImage(arch, version string, binary []byte) (descriptor, error) {
	content, err := l.layer(binary)
	if err != nil {
		return descriptor{}, err
	}
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, err = writer.Write(content)
	if err := errors.Join(err, writer.Close()); err != nil {
		return descriptor{}, err
	}
	config, err := l.addJSON(typeConfig, l.config(arch, version, content))
	if err != nil {
		return descriptor{}, err
	}
	image, err := l.addJSON(typeManifest, manifest{2, typeManifest, config, []descriptor{l.add(typeLayer, compressed.Bytes())}})
	image.Platform = &platform{arch, "linux"}
	return image, err
}

func (l layout) config(arch, version string, layer []byte) object {
	created := l.created.Format(time.RFC3339)
	return object{
		"created": created, "architecture": arch, "os": "linux",
		"config": object{
			"User":         fmt.Sprintf("%d:%[1]d", userID),
			"Env":          []string{"REGWARDEN_DATA_DIR=/data", "REGWARDEN_LISTEN=0.0.0.0:8080", "REGWARDEN_LOG_FORMAT=json"},
			"Entrypoint":   []string{"/regwarden"},
			"Cmd":          []string{"serve"},
			"ExposedPorts": object{"8080/tcp": object{}},
			"Volumes":      object{"/data": object{}},
			"StopSignal":   "SIGTERM",
			"Labels": map[string]string{
				"org.opencontainers.image.title":    "regwarden",
				"org.opencontainers.image.version":  version,
				"org.opencontainers.image.source":   "https://github.com/regwarden/regwarden",
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
		"rootfs":  object{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
		"history": []object{{"created": created, "created_by": "deploy/ociimage"}},
	}
}

// layer is the root directory of the image: the binary, the certificate authorities that it trusts, and the data directory of its user.
func (l layout) layer(binary []byte) ([]byte, error) {
	return l.archive([]entry{
		{name: "data/", mode: 0o700, owner: userID},
		{name: "etc/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()},
		{name: "regwarden", mode: 0o755, data: binary},
	})
}

// tarball is the layout as a file. The tag names an index of the images, as registries serve them.
func (l layout) tarball(tag string, images []descriptor) ([]byte, error) {
	all, err := l.addJSON(typeIndex, index{2, typeIndex, images})
	if err != nil {
		return nil, err
	}
	all.Annotations = map[string]string{"org.opencontainers.image.ref.name": tag}
	top, err := json.Marshal(index{2, typeIndex, []descriptor{all}})
	if err != nil {
		return nil, err
	}
	entries := []entry{
		{name: "oci-layout", mode: 0o644, data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, data: top},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
	}
	for _, digest := range slices.Sorted(maps.Keys(l.blobs)) {
		entries = append(entries, entry{name: "blobs/" + strings.Replace(digest, ":", "/", 1), mode: 0o644, data: l.blobs[digest]})
	}
	return l.archive(entries)
}

// entry is a file of an archive, or with a trailing slash in its name a directory.
type entry struct {
	name  string
	mode  int64
	owner int
	data  []byte
}

func (l layout) archive(entries []entry) ([]byte, error) {
	var content bytes.Buffer
	writer := tar.NewWriter(&content)
	for _, e := range entries {
		kind := byte(tar.TypeReg)
		if strings.HasSuffix(e.name, "/") {
			kind = tar.TypeDir
		}
		header := &tar.Header{Typeflag: kind, Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner,
			Size: int64(len(e.data)), ModTime: l.created}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(e.data); err != nil {
			return nil, err
		}
	}
	return content.Bytes(), writer.Close()
}
