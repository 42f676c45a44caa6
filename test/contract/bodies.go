package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// bodies compares JSON with the schemas of a description, each of which is compiled once. The library for OpenAPI compiles a schema for
// each value, which takes longer than most requests.
type bodies struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[*openapi3.Schema]*jsonschema.Schema
}

// descriptionURL is only a name, of what references of schemas begin with.
const descriptionURL = "file:///openapi.json"

func newBodies(doc *openapi3.T) (*bodies, error) {
	b := &bodies{compiler: jsonschema.NewCompiler(), compiled: map[*openapi3.Schema]*jsonschema.Schema{}}
	b.compiler.DefaultDraft(jsonschema.Draft2020)
	b.compiler.AssertFormat()
	return b, b.add(descriptionURL, doc)
}

func (b *bodies) add(url string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(`"$ref":"#`), []byte(`"$ref":"`+descriptionURL+`#`))
	resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return b.compiler.AddResource(url, resource)
}

func (b *bodies) compile(schema *openapi3.Schema) (*jsonschema.Schema, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if compiled := b.compiled[schema]; compiled != nil {
		return compiled, nil
	}
	url := fmt.Sprintf("file:///%d.json", len(b.compiled))
	if err := b.add(url, schema); err != nil {
		return nil, err
	}
	compiled, err := b.compiler.Compile(url)
	b.compiled[schema] = compiled
	return compiled, err
}

// check returns how a body of JSON differs from what is described for its content type.
func (b *bodies) check(content openapi3.Content, contentType string, body []byte) error {
	described := content.Get(contentType)
	if described == nil {
		return fmt.Errorf("no content of type %q is described", contentType)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if described.Schema == nil {
		return nil
	}
	schema, err := b.compile(described.Schema.Value)
	if err != nil {
		return fmt.Errorf("the schema that describes it: %w", err)
	}
	return schema.Validate(value)
}

func isJSON(contentType string) bool {
	mediaType, _, _ := mime.ParseMediaType(contentType) // an invalid one is not described either
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}
