package server

import (
	"context"
	"net/http"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
)

// readyRetry is when to retry after "not ready".
const readyRetry = 2 * time.Second

// healthHandlers handles the routes about the state of the server.
type healthHandlers struct {
	isReady func(context.Context) error
	version string
}

// health is GET /healthz: the process runs, whatever the state of the store.
func (healthHandlers) health(*call) (response, error) {
	return response{http.StatusOK, api.Status{Status: "ok"}}, nil
}

// service is GET /v1/service: what a client compares with itself.
func (h healthHandlers) service(*call) (response, error) {
	return response{http.StatusOK, api.Service{Version: h.version, Time: time.Now().UTC()}}, nil
}

// ready is GET /readyz: the server accepts requests.
func (h healthHandlers) ready(c *call) (response, error) {
	if err := h.isReady(c.Context()); err != nil {
		f := fault.Busy("The service is not ready.", readyRetry)
		f.Cause = err
		return response{}, f
	}
	return response{http.StatusOK, api.Status{Status: "ready"}}, nil
}
