package server

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/web/shapes"
)

// contentHandlers handles the routes of the content of stored registries.
type contentHandlers struct{ content *contentsync.Service }

// syncRegistry is POST /v1/registries/oci/{uid}/basic/sync. Public clients may send forceSync and a body, which change
// nothing: each synchronization lists all content.
func (h contentHandlers) syncRegistry(c *call) (response, error) {
	return response{status: http.StatusAccepted}, h.content.Request(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

// getSyncStatus is GET /v1/registries/oci/{uid}/basic/sync/status.
func (h contentHandlers) getSyncStatus(c *call) (response, error) {
	status, err := h.content.Status(c.Context(), c.principal, c.PathValue("uid"))
	return response{http.StatusOK, shapes.Sync(status)}, err
}

// listContent is GET /v1/registries/oci/{uid}/basic/content.
func (h contentHandlers) listContent(c *call) (response, error) {
	q := readQuery(c.URL.RawQuery)
	query := contentsync.Query{Repository: q.text("repository"), Request: q.page()}
	if err := fault.InvalidIfAny(fault.Join(q.problems, query.Problems())); err != nil {
		return response{}, err
	}
	var status api.SyncStatus
	return response{http.StatusOK, countedList(&query.Request, listTail{Status: &status}, func() (paging.Page[contentsync.Content], error) {
		page, err := h.content.List(c.Context(), c.principal, c.PathValue("uid"), query)
		if !query.Uncounted {
			status = shapes.Sync(page.Sync)
		}
		return page.Page, err
	}, func(item contentsync.Content) any { return api.OCIRegistryTag(item) })}, nil
}
