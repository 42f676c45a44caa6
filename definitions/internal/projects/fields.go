package projects

import (
	"maps"
	"slices"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// ownDefinition is a definition in the form of the HTTP API, as far as a check needs it.
type ownDefinition struct {
	regcheck.Definition
	registryUID string

	wrong   []string // fields with a value of the wrong type, and their problems
	unknown []string // fields that do not exist
}

// maxFields limits the wrong and the unknown fields that are named.
const maxFields = 10

// fields has where the value of each field goes, which decides about its type. Fields without a place are not needed by a check.
func (d *ownDefinition) fields() map[string]any {
	auth := d.Auth
	return map[string]any{
		"endpoint": &d.Endpoint, "basePath": &d.BasePath, "baseContentPath": &d.BaseContentPath, "references": &d.References,
		"providerType": (*string)(&d.ProviderType), "registryUid": &d.registryUID, "scope": new(string),
		"isSyncSupported": new(bool), "containsSpectroManifest": new(bool), "isPrivate": new(bool), "auth": object{},
		"auth.type": (*string)(&auth.Type), "auth.username": &auth.Username, "auth.password": &auth.Password, "auth.token": &auth.Token,
		"auth.tls": object{}, "auth.tls.ca": &auth.TLS.CA, "auth.tls.certificate": &auth.TLS.Certificate,
		"auth.tls.enabled": &auth.TLS.Enabled, "auth.tls.insecureSkipVerify": &auth.TLS.InsecureSkipVerify, "auth.tls.key": &auth.TLS.Key,
	}
}

// object is the place of a field whose members are fields.
type object struct{}

func readOwnDefinition(n *node.Node) *ownDefinition {
	d := &ownDefinition{Definition: regcheck.Definition{Auth: &regcheck.Auth{}}}
	d.read(n, "", d.fields())
	return d
}

// known are the names of all fields.
func (d *ownDefinition) known() []string { return slices.Sorted(maps.Keys(d.fields())) }

func (d *ownDefinition) read(n *node.Node, prefix string, fields map[string]any) {
	for _, p := range n.Pairs() {
		name := prefix + p.Key
		place, known := fields[name]
		switch _, isObject := place.(object); {
		case !known:
			if len(d.unknown) < maxFields {
				d.unknown = append(d.unknown, name)
			}
		case p.Value.IsNull():
		case isObject && p.Value.IsObject():
			d.read(p.Value, name+".", fields)
		default:
			d.set(name, place, p.Value)
		}
	}
}

// set sets a field, or adds that its value has the wrong type.
func (d *ownDefinition) set(name string, place any, n *node.Node) {
	want, got := "an object", n.TypeName()
	switch place := place.(type) {
	case *string:
		*place, want = n.Text(), "a string"
	case *secret.String:
		*place, want = secret.String(n.Text()), "a string"
	case *bool:
		*place, want = n.Bool(), "a boolean"
	case *[]string:
		if want = "an array"; got == want {
			for _, item := range n.Items() {
				*place = append(*place, item.Text())
				if got := item.TypeName(); got != "a string" {
					d.addWrong(name, "a string", got)
				}
			}
		}
	}
	if got != want {
		d.addWrong(name, want, got)
	}
}

func (d *ownDefinition) addWrong(name, want, got string) {
	if len(d.wrong) < maxFields {
		d.wrong = append(d.wrong, name+" must be "+want+", not "+got)
	}
}
