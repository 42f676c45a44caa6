package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
)

// readyRetry is when to ask again after "not ready".
const readyRetry = 2 * time.Second

// OpenAPI returns the description of the interface as JSON.
var OpenAPI = sync.OnceValues(func() (json.RawMessage, error) {
	var document map[string]any
	if err := yaml.Unmarshal(api.OpenAPI, &document); err != nil {
		return nil, fmt.Errorf("read the embedded OpenAPI description: %w", err)
	}
	return json.Marshal(document)
})

// encoded is a body that is written as it is, so that responses that clients do not read share its bytes.
type encoded []byte

func (e encoded) writeTo(out *outgoing) error {
	_, err := out.Write(e)
	return err
}

// openAPI is GET /v1/openapi.json.
func (s *Server) openAPI(*call) (answer, error) {
	document, err := OpenAPI()
	return answer{http.StatusOK, encoded(document)}, err
}

// health is GET /healthz: the process lives, whatever the store does.
func (s *Server) health(*call) (answer, error) {
	return answer{http.StatusOK, api.Status{Status: "ok"}}, nil
}

// ready is GET /readyz: requests may be sent here.
func (s *Server) ready(c *call) (answer, error) {
	if err := s.Ready(c.Context()); err != nil {
		f := fault.Busy("The service is not ready.", readyRetry)
		f.Cause = err
		return answer{}, f
	}
	return answer{http.StatusOK, api.Status{Status: "ready"}}, nil
}
