package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// origin returns where an object is, as a registry of it is stored.
func (o Object) origin(cluster string) string {
	return strings.Join([]string{cluster, o.Namespace, o.Kind, o.Name}, "/")
}

// place returns the object as messages name it.
func (o Object) place() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// entry is one definition of an object.
type entry struct {
	origin store.Origin
	object Object
	found  model.Registry
}

// defect is why an object has no definition that can be checked.
type defect struct{ origin, reason, message string }

// Reasons of Events, in addition to the codes of checks. All but the first are for objects without a definition to check.
const (
	reasonValid      = "RegistryValid"
	reasonInvalid    = "RegistryDefinitionInvalid"
	reasonUnresolved = "RegistryUnresolved"
	reasonMissing    = "RegistrySecretMissing"
)

// resolved is what the objects of a cluster have.
type resolved struct {
	entries []entry
	objects map[string]Object // by origin, without JSON
	defects []defect
}

// resolve reads objects as a scan of them would, and drops their JSON. Each object is a file for it, whose name is the origin.
func resolve(cluster string, objects []Object) resolved {
	r := resolved{objects: make(map[string]Object, len(objects))}
	scanner := definitions.NewScanner(model.Options{Format: model.Kubernetes})
	for i := range objects {
		name := objects[i].origin(cluster)
		_ = scanner.AddReader(name, bytes.NewReader(objects[i].JSON)) // memory is always read
		objects[i].JSON = nil                                         // there may be thousands
		r.objects[name] = objects[i]
	}
	result := scanner.Result()
	for _, found := range result.Registries {
		for _, at := range found.Sources {
			r.add(at, found)
		}
	}
	for _, p := range result.Problems {
		r.find(p.Source, reasonInvalid, p.Message)
	}
	for _, s := range result.Skipped {
		if strings.Contains(s.Source.File, "/ServiceAccount/") {
			r.find(s.Source, reasonMissing, s.Message)
		}
	}
	r.number()
	return r
}

// add adds a definition at one of its places.
func (r *resolved) add(at model.Source, found model.Registry) {
	object, known := r.objects[at.File]
	origin := store.Origin{Object: at.File, Entry: model.Address(found.Definition)}
	switch {
	case !known:
	case found.Resolution != model.Resolved:
		r.find(at, reasonUnresolved, string(found.Detail))
	case !storable(found.Definition), names.NameProblem(nameOf(origin)) != "":
		r.find(at, reasonInvalid, "The definition has characters that no registry accepts. "+
			"Remove control characters, invisible characters and invalid UTF-8.")
	default:
		found.Sources = []model.Source{{File: object.place()}}
		if found.Secret != nil {
			found.Secret = &model.Source{File: found.Secret.Object}
		}
		r.entries = append(r.entries, entry{origin, object, found})
	}
}

func (r *resolved) find(at model.Source, reason, message string) {
	if _, known := r.objects[at.File]; known {
		r.defects = append(r.defects, defect{at.File, reason, message})
	}
}

// storable reports whether both databases can store the texts of a definition.
func storable(d regcheck.Definition) bool {
	texts := append(model.Secrets(d.Auth), d.Endpoint, d.BasePath, d.BaseContentPath, d.Auth.Username, d.Auth.TLS.CA,
		d.Auth.TLS.Certificate)
	return !slices.ContainsFunc(append(texts, d.References...), func(text string) bool {
		return strings.Contains(text, "\x00") || !utf8.ValidString(text)
	})
}

// number makes the entries of each object different, and orders them, so that the same objects always have the same entries.
func (r *resolved) number() {
	slices.SortStableFunc(r.entries, func(a, b entry) int { return strings.Compare(key(a.origin), key(b.origin)) })
	seen := map[store.Origin]int{}
	for i := range r.entries {
		at := &r.entries[i].origin
		if seen[*at]++; seen[*at] > 1 {
			at.Entry = fmt.Sprintf("%s (%d)", at.Entry, seen[*at])
		}
	}
	slices.SortFunc(r.entries, func(a, b entry) int { return strings.Compare(key(a.origin), key(b.origin)) })
}

func key(o store.Origin) string { return o.Object + "\x00" + o.Entry }

// maxName is how much of a name is shown before a hash that distinguishes long names.
const maxName = 200

// nameOf returns the name of the registry of an origin.
func nameOf(o store.Origin) string {
	name := o.Entry + " (" + o.Object + ")"
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + " " + shortHash(name)
	}
	return name
}

// input returns an entry as it is to be stored.
func (e entry) input(config Config) registries.RegistryInput {
	return registries.RegistryInput{Origin: e.origin, Name: nameOf(e.origin), Definition: e.found.Definition,
		Labels: map[string]string{"cluster": config.Cluster, "namespace": e.object.Namespace, "kind": e.object.Kind}}
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// inputs returns all entries as they are to be stored.
func (r *resolved) inputs(config Config) []registries.RegistryInput {
	inputs := make([]registries.RegistryInput, len(r.entries))
	for i, e := range r.entries {
		inputs[i] = e.input(config)
	}
	return inputs
}

// entry returns the definition of an origin, nil if it is not among them.
func (r *resolved) entry(o store.Origin) *entry {
	i, found := slices.BinarySearchFunc(r.entries, o, func(e entry, o store.Origin) int { return strings.Compare(key(e.origin), key(o)) })
	if !found {
		return nil
	}
	return &r.entries[i]
}
