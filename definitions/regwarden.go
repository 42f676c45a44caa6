package definitions

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/regcheck"
)

// regwardenFormats reads definitions in the JSON of the HTTP API, and the same as YAML.
var regwardenFormats = []format{{RegistryDefinition, isDefinition, readDefinitions}}

// DefinitionJSON returns a definition that is written as JSON or YAML as the JSON body of the HTTP API. JSON is returned unchanged, so that
// the caller decodes both with the same rules: YAML becomes JSON with its types and all of its members. The error completes
// a sentence that begins with the name of the file, and has no values of it.
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

func isDefinition(f *file) bool {
	documents, _ := f.nodes()
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

func readDefinitions(f *file) {
	for _, document := range f.readable() {
		for _, n := range listed(document) {
			f.readDefinition(n)
		}
	}
}

func (f *file) readDefinition(n *node.Node) {
	spec, metadata := definitionOf(n)
	at := f.at(n.Line, "")
	if spec == nil {
		f.scanner.problem(at, ProblemWrongShape, "This is not a definition: endpoint and auth are required.")
		return
	}
	at.Line = spec.Get("endpoint").Line
	if name := metadata.Get("name").Text(); name != "" {
		at.Object = "registry " + dockerauth.Show(name)
	}
	var sent api.OCIRegistryRequestSpec
	body, err := spec.EncodeJSON()
	if err != nil {
		f.scanner.problem(at, ProblemWrongShape, "The definition cannot be read: %v.", err)
		return
	}
	wrong, err := strictjson.Decode(body, &sent)
	if err != nil || len(wrong) > 0 {
		f.scanner.problem(at, ProblemWrongShape, "The definition has values of the wrong type%s.", fieldList(wrong))
		return
	}
	if metadata == nil {
		sent.NoteUnknown(strictjson.Unknown(body, new(api.OCIRegistryRequestSpec)))
	}
	f.foundDefinition(at, sent)
}

func fieldList(wrong []fault.Field) (text string) {
	separator := ": "
	for _, field := range wrong {
		text += separator + field.Field + " " + field.Problem
		separator = "; "
	}
	return text
}

func (f *file) foundDefinition(at Source, sent api.OCIRegistryRequestSpec) {
	r := Registry{Sources: []Source{at}, Format: RegistryDefinition, Definition: sent.Definition}
	if strings.TrimSpace(sent.Endpoint) == "" {
		f.scanner.problem(at, ProblemNoHost, "The definition has no endpoint.")
		return
	}
	if hasVariable(sent.Endpoint) {
		f.scanner.skip(at, SkipTemplate, "The endpoint is a template. Read the file in which it is filled in.")
		return
	}
	if strings.Contains(sent.Endpoint, "@") { // the address is shown, and a password must not be
		f.scanner.problem(at, ProblemWrongShape, "The endpoint has user information. Set auth.username and auth.password instead.")
		return
	}
	for _, unknown := range sent.Unknown {
		r.Notices = append(r.Notices, Notice{NoticeIgnoredField, fmt.Sprintf("%q %s", unknown.Field, unknown.Problem)})
	}
	auth := sent.Auth
	secret := auth.Password.Reveal() + auth.Token.Reveal()
	switch {
	case hasVariable(auth.Username + secret + auth.TLS.Key.Reveal() + auth.TLS.CA + sent.BasePath + sent.BaseContentPath):
		r.Reason, r.Detail = UnresolvedTemplate, "A value is a template. Read the file in which it is filled in."
	case isMask(auth.Password.Reveal()) || isMask(auth.Token.Reveal()) || isMask(auth.TLS.Key.Reveal()):
		r.Reason, r.Detail = UnresolvedMasked, "The API masks stored secrets. Set the secret itself, or check the stored registry with its uid."
	case secret == "" && auth.Kind() != regcheck.NoAuth && sent.RegistryUID != "":
		r.Reason, r.Detail = UnresolvedReferenceMissing, "The service has the secret of the stored registry in registryUid."
	case secret == "" && auth.Kind() != regcheck.NoAuth:
		r.Reason, r.Detail = UnresolvedIncomplete, "The definition has no password or token. Set it, or set auth.type to noAuth."
	}
	r.Notices = append(r.Notices, connectionNotices(sent.Endpoint, auth.TLS)...)
	f.scanner.found(r)
}

// connectionNotices returns what a definition gives up of TLS.
func connectionNotices(endpoint string, tls regcheck.TLS) (notices []Notice) {
	if strings.HasPrefix(strings.ToLower(endpoint), "http://") {
		notices = append(notices, Notice{NoticePlainHTTP, "The connection is without TLS: everyone on the network can read the credentials and change the content."})
	}
	if tls.Enabled && tls.InsecureSkipVerify {
		notices = append(notices, Notice{NoticeInsecureSkipVerify, "The certificate of the registry is not verified. Set the CA certificate instead."})
	}
	return notices
}

// hasVariable reports whether a text has a part such as ${NAME}, which another program replaces.
func hasVariable(text string) bool {
	_, rest, found := strings.Cut(text, "${")
	return found && strings.Contains(rest, "}")
}

// isMask reports whether a text stands for a secret that an API does not return.
func isMask(text string) bool {
	return len(text) >= 3 && strings.Trim(text, "*") == ""
}
