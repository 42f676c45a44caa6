//go:build !race && unix

package definitions

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// many returns a generator of a file with a head, as many different entries as its size allows, and a tail. Each # of an entry is its number.
func many(head, entry, tail string) func(size int) []byte {
	return func(size int) []byte {
		b := append(make([]byte, 0, size+len(entry)), head...)
		for i := 0; len(b)+len(tail) < size; i++ {
			b = append(b, strings.ReplaceAll(entry, "#", fmt.Sprint(i))...)
		}
		return append(b, tail...)
	}
}

// halves returns a generator whose two kinds of entries have the same number of bytes, for products of places and entries.
func halves(head, first, between, second, tail string) func(size int) []byte {
	return func(size int) []byte {
		return append(many(head, first, between)(size/2), many("", second, tail)(size/2)...)
	}
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// Files that are expensive for the languages themselves.
func TestCostOfLanguages(t *testing.T) {
	testCosts(t, []hostileFile{
		{name: "YAML of %TAG lines", file: "a.yaml", generate: many("", "%TAG !a#! tag:a,\n", "---\na: b\n")},
	})
}

func TestCostOfDockerFormats(t *testing.T) {
	auths := many(`{"auths":{"a":{}`, `,"r#.test":{"auth":"dTpw"}`, "}}")
	testCosts(t, []hostileFile{
		{name: "docker auths", file: "config.json", generate: auths},
		{name: "docker auths as podman", file: "config.json", generate: auths, options: model.Options{As: model.Podman}},
		{name: "docker auths as kubelet", file: "config.json", generate: auths, options: model.Options{As: model.Kubelet}},
		{name: "docker auths as flux", file: "config.json", generate: auths, options: model.Options{As: model.Flux}},
		{name: "docker auths as helm", file: "config.json", generate: auths, options: model.Options{As: model.Helm}},
	})
}

func TestCostOfProjects(t *testing.T) {
	testCosts(t, []hostileFile{
		{name: "helmfile with repositories and releases", file: "helmfile.yaml", generate: halves("repositories:\n", "- {name: a#, url: r#.test, oci: true, username: u, password: p}\n",
			"releases:\n", "- {name: b#, chart: oci://r#.test/a}\n", "")},
	})
}
