// Package projects reads files of repositories and pipelines: Helm, Terraform, Harbor, Renovate, Dependabot, GitHub, GitLab, and
// regwarden's own.
package projects

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// RegwardenFormats reads definitions in the JSON of the HTTP API, and the same as YAML.
var RegwardenFormats = []scanner.Reader{{Name: model.RegistryDefinition, Is: isDefinition, Keys: []string{"endpoint auth"},
	Read: readDefinitions}}

// DefinitionJSON is described at definitions.DefinitionJSON.
func DefinitionJSON(data []byte) ([]byte, error) {
	text := bytes.TrimSpace(data)
	if len(text) == 0 || text[0] == '{' || text[0] == '[' {
		return data, nil
	}
	documents, err := node.YAML(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("is not valid YAML: %w", err)
	case len(documents) > 1:
		return nil, fmt.Errorf("has %d YAML documents, and a definition is one", len(documents))
	case len(documents) == 0:
		return nil, nil
	case !documents[0].IsObject():
		return nil, errors.New("must be JSON or YAML with the fields of a definition")
	}
	body, err := documents[0].EncodeJSON()
	if err != nil {
		return nil, fmt.Errorf("is not valid YAML: %w", err)
	}
	return body, nil
}

func isDefinition(f *scanner.File) bool {
	documents, _ := f.Nodes()
	for _, document := range documents {
		for _, n := range listed(document) {
			if spec, _ := definitionOf(n); spec != nil {
				return true
			}
		}
	}
	return false
}

// listed returns the elements of a list, or the value itself. Lists of the HTTP API are in "items".
func listed(n *node.Node) []*node.Node {
	if items := n.Get("items"); items.IsArray() && n.Get("apiVersion") == nil {
		n = items
	}
	if n.IsArray() {
		return n.Items()
	}
	return []*node.Node{n}
}

// definitionOf returns the definition that a value is, nil if it is not one: a body of the HTTP API, or the response to reading a
// stored registry, whose metadata are returned too.
func definitionOf(n *node.Node) (spec, metadata *node.Node) {
	if metadata = n.Get("metadata"); metadata.IsObject() && n.Get("apiVersion") == nil {
		spec = n.Get("spec")
	} else {
		spec, metadata = n, nil
	}
	auth := spec.Get("auth")
	if !spec.Get("endpoint").IsText() || !auth.IsObject() {
		return nil, nil
	}
	for _, member := range []string{"type", "username", "password", "token", "tls"} {
		if auth.Get(member) != nil {
			return spec, metadata
		}
	}
	return nil, nil
}

func readDefinitions(f *scanner.File) {
	for _, document := range f.Readable() {
		for _, n := range listed(document) {
			readDefinition(f, n)
		}
	}
}

func readDefinition(f *scanner.File, n *node.Node) {
	spec, metadata := definitionOf(n)
	at := f.At(n.Line, "")
	if spec == nil {
		f.Scanner.Problem(at, model.ProblemWrongShape, "This is not a definition: endpoint and auth are required.")
		return
	}
	at.Line = spec.Get("endpoint").Line
	if name := metadata.Get("name").Text(); name != "" {
		at.Object = "registry " + dockerauth.Show(name)
	}
	if _, err := spec.EncodeJSON(); err != nil {
		f.Scanner.Problem(at, model.ProblemWrongShape, "The definition cannot be read: %v.", err)
		return
	}
	sent := readOwnDefinition(spec)
	if len(sent.wrong) > 0 {
		f.Scanner.Problem(at, model.ProblemWrongShape, "The definition has values of the wrong type: %s.", strings.Join(sent.wrong, "; "))
		return
	}
	if metadata == nil {
		sent.NoteUnknown(sent.unknown, sent.known())
	}
	foundDefinition(f, at, sent)
}

func foundDefinition(f *scanner.File, at model.Source, sent *ownDefinition) {
	r := model.Registry{Sources: []model.Source{at}, Format: model.RegistryDefinition, Definition: sent.Definition}
	if strings.TrimSpace(sent.Endpoint) == "" {
		f.Scanner.Problem(at, model.ProblemNoHost, "The definition has no endpoint.")
		return
	}
	if scanner.HasVariable(sent.Endpoint) {
		f.Scanner.Skip(at, model.SkipTemplate, "The endpoint is a template. Read the file in which it is filled in.")
		return
	}
	if strings.Contains(sent.Endpoint, "@") { // the address is shown, and a password must not be
		f.Scanner.Problem(at, model.ProblemWrongShape, "The endpoint has user information. Set auth.username and auth.password instead.")
		return
	}
	for _, unknown := range sent.Unknown {
		r.Notices = append(r.Notices, model.Notice{Code: model.NoticeIgnoredField, Message: fmt.Sprintf("%q %s", unknown.Field,
			unknown.Problem)})
	}
	auth := sent.Auth
	secret := auth.Password.Reveal() + auth.Token.Reveal()
	switch {
	case scanner.HasVariable(auth.Username + secret + auth.TLS.Key.Reveal() + auth.TLS.CA + sent.BasePath + sent.BaseContentPath +
		strings.Join(sent.References, "")):
		r.Reason, r.Detail = model.UnresolvedTemplate, "A value is a template. Read the file in which it is filled in."
	case scanner.IsMask(auth.Password.Reveal()) || scanner.IsMask(auth.Token.Reveal()) || scanner.IsMask(auth.TLS.Key.Reveal()):
		r.Reason, r.Detail = model.UnresolvedMasked, "The API masks stored secrets. Set the secret itself, or check the stored registry "+
			"with its uid."
	case secret == "" && auth.Kind() != regcheck.NoAuth && sent.registryUID != "":
		r.Reason, r.Detail = model.UnresolvedReferenceMissing, "The service has the secret of the stored registry in registryUid."
	case secret == "" && auth.Kind() != regcheck.NoAuth:
		r.Reason, r.Detail = model.UnresolvedIncomplete, "The definition has no password or token. Set it, or set auth.type to noAuth."
	}
	r.Notices = append(r.Notices, scanner.ConnectionNotices(sent.Endpoint, auth.TLS)...)
	f.Scanner.Found(r)
}
