package server

import (
	"net/http"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
)

// readyRetry is when to retry after "not ready".
const readyRetry = 2 * time.Second

// health is GET /healthz: the process runs, whatever the state of the store.
func (s *Server) health(*call) (response, error) {
	return response{http.StatusOK, api.Status{Status: "ok"}}, nil
}

// ready is GET /readyz: the server accepts requests.
func (s *Server) ready(c *call) (response, error) {
	if err := s.Ready(c.Context()); err != nil {
		f := fault.Busy("The service is not ready.", readyRetry)
		f.Cause = err
		return response{}, f
	}
	return response{http.StatusOK, api.Status{Status: "ready"}}, nil
}
