package server

import (
	"cmp"
	"net/http"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/web/shapes"
)

// Stored registry definitions in the format of public clients.

// registryHandlers handles the routes of stored registries of one kind.
type registryHandlers struct {
	registryKind
	registries *registries.Service
	checks     *checks.Service
	scanBytes  int64
}

// createRegistry is POST /v1/registries/oci/basic, and that of the other kinds.
func (h registryHandlers) createRegistry(c *call) (response, error) {
	sent, err := h.decodeRegistry(c)
	if err != nil {
		return response{}, err
	}
	sent.ProjectUID = c.project
	uid := ""
	if err = h.requireCharts(c, sent); err == nil {
		uid, err = h.registries.Create(c.Context(), c.principal, c.origin, sent.RegistryInput)
	}
	return response{http.StatusCreated, api.Created{UID: uid}}, h.err(h.fields(), err)
}

// importRegistries is POST /v1/registries/oci/basic/import. The body may be as large as a file to scan, from which its definitions are.
func (h registryHandlers) importRegistries(c *call) (response, error) {
	query := readQuery(c.URL.RawQuery)
	input := registries.ImportInput{ProjectUID: c.project, DryRun: query.boolean("dryRun")}
	if err := c.checkContentType(); err != nil {
		return response{}, err
	}
	data, err := c.readBody(cmp.Or(h.scanBytes, maxBody))
	if err != nil {
		return response{}, err
	}
	var body api.OCIRegistryImport
	wrong, err := c.decodeJSON(data, &body)
	if err = cmp.Or(err, fault.InvalidIfAny(fault.Join(wrong, query.problems))); err != nil {
		return response{}, err
	}
	input.Definitions, input.Places = body.Items, body.Places
	list, err := h.registries.Import(c.Context(), c.principal, c.origin, input)
	items := make([]api.ImportedRegistry, len(list))
	for i, r := range list {
		items[i] = api.ImportedRegistry{Result: string(r.Result), Name: r.Name, UID: r.UID, Detail: r.Detail, DiffersFrom: r.DiffersFrom}
	}
	return response{http.StatusOK, api.OCIRegistryImported{Items: items}}, err
}

// replaceRegistry is PUT /v1/registries/oci/{uid}/basic.
func (h registryHandlers) replaceRegistry(c *call) (response, error) {
	sent, err := h.decodeRegistry(c)
	if err != nil {
		return response{}, err
	}
	err = h.registries.Replace(c.Context(), c.principal, c.origin, c.PathValue("uid"), sent.RegistryInput)
	return response{status: http.StatusNoContent}, h.err(h.fields(), err)
}

// decodeRegistry leaves decoding problems to the domain, which reports them together with its own: these depend on what
// is stored.
func (h registryHandlers) decodeRegistry(c *call) (sentRegistry, error) {
	sent, wrong, err := h.input(c)
	if err != nil {
		return sent, err
	}
	query := readQuery(c.URL.RawQuery)
	sent.SkipSync = query.boolean("skipPackSync") || sent.SkipSync
	sent.Undecoded = fault.Join(h.fields().Domain(fault.Join(wrong, query.problems)), sent.Undecoded)
	return sent, nil
}

// deleteRegistry is DELETE /v1/registries/oci/{uid}/basic.
func (h registryHandlers) deleteRegistry(c *call) (response, error) {
	return response{status: http.StatusNoContent}, h.registries.Delete(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

// getRegistry is GET /v1/registries/oci/{uid}/basic.
func (h registryHandlers) getRegistry(c *call) (response, error) {
	stored, err := h.registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return response{}, err
	}
	return response{http.StatusOK, h.show(stored)}, nil
}

// ofKind returns a handler that serves registries of the kind only.
func (h registryHandlers) ofKind(handle func(*call) (response, error)) func(*call) (response, error) {
	return func(c *call) (response, error) {
		if err := h.registries.CheckKind(c.Context(), c.principal, c.PathValue("uid"), h.kind); err != nil {
			return response{}, err
		}
		return handle(c)
	}
}

// listRegistries is GET /v1/registries/oci/summary. Public clients use no query, and read all registries in one response.
func (h registryHandlers) listRegistries(c *call) (response, error) {
	query := readQuery(c.URL.RawQuery)
	if query.hasAny("name", "health", "expiry", "label", "project", "sort", "limit", "continue") {
		return h.searchRegistries(c, query)
	}
	var shown listedRegistry
	return listOf(h.registryPages(c), func(r registries.Summary) any {
		if r.Kind == string(registries.HelmKind) { // only a search has it: clients would take it for an OCI registry
			return nil
		}
		shown.OCIRegistrySummary = shapes.OCISummary(r)
		return &shown
	})
}

// searchRegistries returns a page of the registries that match a query.
func (h registryHandlers) searchRegistries(c *call, q *queryValues) (response, error) {
	query := registries.Query{Name: q.text("name"), Health: registries.Health(q.text("health")), Sort: registries.Sort(q.text("sort")),
		Expiry: registries.Expiry(q.text("expiry")), Label: q.text("label"), Project: q.text("project"), Request: q.page()}
	if err := fault.InvalidIfAny(fault.Join(q.problems, query.Problems())); err != nil {
		return response{}, err
	}
	return response{http.StatusOK, countedList(&query.Request, listTail{}, func() (paging.Page[registries.Summary], error) {
		return h.registries.Search(c.Context(), c.principal, query)
	}, func(r registries.Summary) any { return shapes.OCISummary(r) })}, nil
}

// countRegistryHealth is GET /v1/registries/oci/summary/health.
func (h registryHandlers) countRegistryHealth(c *call) (response, error) {
	counts, err := h.registries.CountHealth(c.Context(), c.principal)
	return response{http.StatusOK, api.RegistryHealthCounts(counts)}, err
}

func (h registryHandlers) registryPages(c *call) func(registries.Summary) ([]registries.Summary, bool, error) {
	var buffer []registries.Summary
	return func(after registries.Summary) (page []registries.Summary, more bool, err error) {
		page, more, err = h.registries.List(c.Context(), c.principal, after, buffer)
		buffer = page
		return page, more, err
	}
}

// getRegistryEntity is GET /v1/registries/oci/{uid}.
func (h registryHandlers) getRegistryEntity(c *call) (response, error) {
	r, err := h.registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return response{}, err
	}
	if r.Kind == registries.HelmKind {
		return response{}, fault.ResourceNotFound("Registry not found.")
	}
	return response{http.StatusOK, shapes.OCIEntity(r)}, nil
}

// listRegistryNames is GET /v1/registries/metadata.
func (h registryHandlers) listRegistryNames(c *call) (response, error) {
	return listOf(h.registryPages(c), func(r registries.Summary) any {
		kind := "oci"
		if r.Kind == string(registries.HelmKind) {
			kind = r.Kind
		}
		return api.RegistryName{Name: r.Name, UID: r.UID, Kind: kind, Scope: shapes.Scope(r.Scope), IsPrivate: r.Private}
	})
}

// listHelm is GET /v1/registries/helm. Public clients read all registries in one response, whatever limit they send.
func (h registryHandlers) listHelm(c *call) (response, error) {
	return h.listOfKind(c, func(r registries.Summary) (any, error) {
		stored, err := h.registries.Get(c.Context(), c.principal, r.UID)
		if fault.KindOf(err) == fault.NotFound {
			return nil, nil // deleted since
		}
		return h.show(stored), err
	})
}

// listHelmSummaries is GET /v1/registries/helm/summary.
func (h registryHandlers) listHelmSummaries(c *call) (response, error) {
	return h.listOfKind(c, func(r registries.Summary) (any, error) { return shapes.HelmSummary(r), nil })
}

// listOfKind lists all registries of the kind.
func (h registryHandlers) listOfKind(c *call, show func(registries.Summary) (any, error)) (response, error) {
	type shownSummary struct {
		registries.Summary
		shown any
	}
	pages, tail := h.registryPages(c), listTail{}
	return response{http.StatusOK, items[shownSummary]{
		read: func(after shownSummary) (list []shownSummary, more bool, err error) {
			page, more, err := pages(after.Summary)
			for _, r := range page {
				one := shownSummary{Summary: r}
				if r.Kind == string(h.kind) && err == nil {
					if one.shown, err = show(r); one.shown != nil {
						tail.ListMeta.Count++
					}
				}
				list = append(list, one)
			}
			tail.ListMeta.Limit = int(tail.ListMeta.Count)
			return list, more, err
		},
		show: func(r shownSummary) any { return r.shown },
		tail: func() any { return tail },
	}}, nil
}

// listPack is GET /v1/registries/pack and its summary, of a kind that does not exist.
func listPack(*call) (response, error) {
	return response{http.StatusOK, api.NoRegistries{Items: []struct{}{}}}, nil
}

// watchHandlers handles the routes of the checks of stored registries.
type watchHandlers struct {
	watch  *watch.Service
	checks *checks.Service
}

// checkRegistry is POST /v1/registries/oci/{uid}/check.
func (h watchHandlers) checkRegistry(c *call) (response, error) {
	query := readQuery(c.URL.RawQuery)
	wait := query.boolean("wait")
	if err := fault.InvalidIfAny(query.problems); err != nil {
		return response{}, err
	}
	if !wait {
		_, err := h.watch.RequestCheck(c.Context(), c.principal, c.origin, c.PathValue("uid"))
		return pending("The registry is due for a check."), err
	}
	if c.Body == http.NoBody { // else the deadline of the request would cancel the wait
		_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{}) // fails only on a closed connection
	}
	report, reason, err := h.watch.CheckNow(c.Context(), c.principal, c.origin, c.PathValue("uid"), h.checks.ReserveWait)
	if report == nil {
		return pending(reason), err
	}
	return response{http.StatusOK, report}, nil
}

// pending is the response to a request for a check without its report. The registry stays due.
func pending(message string) response {
	return response{http.StatusAccepted, api.RequestedCheck{Message: message}}
}

const (
	maxHistoryPage = 200
	historyPage    = 20 // entries per query: each has a report
)

// registryHistory is GET /v1/registries/oci/{uid}/basic/history.
func (h watchHandlers) registryHistory(c *call) (response, error) {
	query := readQuery(c.URL.RawQuery)
	limit := query.limit()
	if limit < 0 || limit > maxHistoryPage {
		query.problems = append(query.problems, fault.Field{Field: "limit", Problem: "must be 1–200"})
	}
	limit = cmp.Or(limit, maxHistoryPage)
	if err := fault.InvalidIfAny(query.problems); err != nil {
		return response{}, err
	}
	var status watch.HealthStatus
	return response{http.StatusOK, items[watch.HistoryEntry]{
		read: limitedPages(limit, historyPage, func(limit int,
			after watch.HistoryEntry) (entries []watch.HistoryEntry, more bool, err error) {
			status, entries, err = h.watch.History(c.Context(), c.principal, c.PathValue("uid"), limit, after)
			return entries, len(entries) == limit, err
		}),
		show: func(r watch.HistoryEntry) any { return healthPeriod(r) },
		tail: func() any {
			return struct {
				Status api.RegistryWatchStatus `json:"status"`
			}{watchStatus(status)}
		},
	}}, nil
}

func watchStatus(s watch.HealthStatus) api.RegistryWatchStatus {
	v := s.State
	return api.RegistryWatchStatus{
		Checked: !s.Since.IsZero(), Valid: v.Valid, Code: v.Code, Stage: v.Stage, Reason: v.Reason, Field: v.Field, Message: v.Message,
		Hint:                   v.Hint,
		CertificateExpiresSoon: v.CertificateExpiresSoon, CredentialsExpireSoon: v.CredentialsExpireSoon, Unconfirmed: s.Unconfirmed,
		Since: s.Since, LastCheckedAt: s.LastAt, NextCheckAt: s.NextAt,
		CertificateNotAfter: v.CertificateNotAfter, CredentialsNotAfter: v.CredentialsNotAfter}
}

func healthPeriod(r watch.HistoryEntry) api.RegistryHealthPeriod {
	v := r.Result
	shown := api.RegistryHealthPeriod{Since: r.Since, LastCheckedAt: r.LastAt, Checks: r.Checks, Counted: r.Counted, Valid: v.Valid,
		Code: v.Code, Stage: v.Stage,
		Reason: v.Reason, Field: v.Field, Message: v.Message, Hint: v.Hint,
		CertificateExpiresSoon: v.CertificateExpiresSoon, CredentialsExpireSoon: v.CredentialsExpireSoon,
		CertificateNotAfter: v.CertificateNotAfter, CredentialsNotAfter: v.CredentialsNotAfter}
	if r.Report != nil {
		shown.Report = reports.Public(r.Report)
	}
	return shown
}
