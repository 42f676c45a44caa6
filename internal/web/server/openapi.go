package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/web/people"
)

// OpenAPI returns the description of the interface as JSON.
var OpenAPI = sync.OnceValues(func() (json.RawMessage, error) {
	var document map[string]any
	if err := yaml.Unmarshal(api.OpenAPI, &document); err != nil {
		return nil, fmt.Errorf("parse the embedded OpenAPI description: %w", err)
	}
	return json.Marshal(document)
})

// text is a body that is already encoded. Responses can share its bytes.
type text people.Text

func (t text) writeTo(out *outgoing) error {
	out.contentType = []string{t.Type}
	_, err := out.Write(t.Bytes)
	return err
}

// openAPI is GET /v1/openapi.json.
func openAPI(*call) (response, error) {
	document, err := OpenAPI()
	return response{http.StatusOK, text{jsonType[0], document}}, err
}
