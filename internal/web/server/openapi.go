package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/api"
)

// OpenAPI returns the description of the interface as JSON.
var OpenAPI = sync.OnceValues(func() (json.RawMessage, error) {
	var document map[string]any
	if err := yaml.Unmarshal(api.OpenAPI, &document); err != nil {
		return nil, fmt.Errorf("parse the embedded OpenAPI description: %w", err)
	}
	return json.Marshal(document)
})

// encoded is a body that is already encoded, so that responses share its bytes.
type encoded []byte

func (e encoded) writeTo(out *outgoing) error {
	_, err := out.Write(e)
	return err
}

// openAPI is GET /v1/openapi.json.
func openAPI(*call) (response, error) {
	document, err := OpenAPI()
	return response{http.StatusOK, encoded(document)}, err
}
