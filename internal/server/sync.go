package server

import (
	"cmp"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/contentsync"
	"github.com/regwarden/regwarden/internal/fault"
)

// syncRegistry is POST /v1/registries/oci/{uid}/basic/sync. Public clients may send forceSync and a body, which change
// nothing: each synchronization lists all content.
func (s *Server) syncRegistry(c *call) (response, error) {
	return response{status: http.StatusAccepted}, s.ContentSync.Request(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

// getSyncStatus is GET /v1/registries/oci/{uid}/basic/sync/status.
func (s *Server) getSyncStatus(c *call) (response, error) {
	status, err := s.ContentSync.Status(c.Context(), c.principal, c.PathValue("uid"))
	return response{http.StatusOK, syncStatus(status)}, err
}

// listContent is GET /v1/registries/oci/{uid}/basic/content.
func (s *Server) listContent(c *call) (response, error) {
	q := readQuery(c.URL.RawQuery)
	query := contentsync.Query{Repository: q.text("repository"), Continue: q.text("continue"), Limit: q.limit()}
	if err := invalid(fault.Join(q.problems, query.Problems())); err != nil {
		return response{}, err
	}
	meta := api.ListMeta{Limit: cmp.Or(query.Limit, contentsync.DefaultLimit)}
	var status api.SyncStatus
	return response{http.StatusOK, items[contentsync.Content]{
		read: limitedPages(meta.Limit, recordsPage, func(limit int, _ contentsync.Content) ([]contentsync.Content, bool, error) {
			query.Limit = limit
			page, err := s.ContentSync.List(c.Context(), c.principal, c.PathValue("uid"), query)
			if !query.Uncounted {
				meta.Count, status = page.Count, syncStatus(page.Sync)
			}
			meta.Continue, meta.Offset = page.Continue, page.Offset
			query.Continue, query.Uncounted = page.Continue, true
			return page.Items, page.Continue != "", err
		}),
		show: func(item contentsync.Content) any { return api.OCIRegistryTag(item) },
		tail: func() any { return listTail{ListMeta: meta, Status: &status} },
	}}, nil
}
