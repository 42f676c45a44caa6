package server

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/regcheck"
)

// Stored registry definitions in the format of public clients.

// registryHandlers handles the routes of stored registries.
type registryHandlers struct {
	registries *registries.Service
	scanBytes  int64
}

// createRegistry is POST /v1/registries/oci/basic.
func (h registryHandlers) createRegistry(c *call) (response, error) {
	input, err := c.decodeRegistry()
	if err != nil {
		return response{}, err
	}
	input.ProjectUID = c.project
	uid, err := h.registries.Create(c.Context(), c.principal, c.origin, input)
	return response{http.StatusCreated, api.Created{UID: uid}}, err
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
	if err = cmp.Or(err, invalid(fault.Join(wrong, query.problems))); err != nil {
		return response{}, err
	}
	input.Definitions = body.Items
	list, err := h.registries.Import(c.Context(), c.principal, c.origin, input)
	items := make([]api.ImportedRegistry, len(list))
	for i, r := range list {
		items[i] = api.ImportedRegistry{Result: string(r.Result), Name: r.Name, UID: r.UID, Detail: r.Detail}
	}
	return response{http.StatusOK, api.OCIRegistryImported{Items: items}}, err
}

// replaceRegistry is PUT /v1/registries/oci/{uid}/basic.
func (h registryHandlers) replaceRegistry(c *call) (response, error) {
	input, err := c.decodeRegistry()
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.registries.Replace(c.Context(), c.principal, c.origin, c.PathValue("uid"), input)
}

// decodeRegistry leaves decoding problems to the domain, which reports them together with its own: these depend on what
// is stored.
func (c *call) decodeRegistry() (registries.RegistryInput, error) {
	var body api.OCIRegistryRequest
	wrong, err := c.decode(&body)
	if err != nil {
		return registries.RegistryInput{}, err
	}
	query := readQuery(c.URL.RawQuery)
	skip := query.boolean("skipPackSync")
	return registries.RegistryInput{
		Name: body.Metadata.Name, Annotations: body.Metadata.Annotations, Labels: body.Metadata.Labels, Definition: body.Spec.Definition, Scope: body.Spec.Scope,
		SyncSupported: body.Spec.IsSyncSupported, SpectroManifest: body.Spec.ContainsSpectroManifest, Private: body.Spec.IsPrivate,
		SkipSync: skip, Undecoded: fault.Join(wrong, query.problems),
	}, nil
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
	return response{http.StatusOK, api.OCIRegistry{
		Metadata: registryMetadata(stored),
		Spec:     registrySpec(stored),
		Status:   api.OCIRegistryStatus{SyncStatus: syncStatus(contentsync.StatusOf(stored.SyncSupported, stored.Sync)), Health: registryHealth(stored.Health)},
	}}, nil
}

func registryMetadata(r registries.Registry) api.OCIRegistryMetadata {
	return api.OCIRegistryMetadata{UID: r.UID, Name: r.Name, CreationTimestamp: r.CreatedAt, LastModifiedTimestamp: r.UpdatedAt,
		Annotations: r.Annotations, Labels: r.Labels}
}

func registrySpec(r registries.Registry) api.OCIRegistrySpec {
	d := r.Definition
	return api.OCIRegistrySpec{
		Endpoint: d.Endpoint, ProviderType: providerType(d.ProviderType), BasePath: d.BasePath, BaseContentPath: d.BaseContentPath,
		References: d.References, Scope: scopeOf(r.Scope), IsSyncSupported: r.SyncSupported, ContainsSpectroManifest: r.SpectroManifest,
		IsPrivate: r.Private, Auth: registryAuth(*d.Auth),
	}
}

// What was not sent is returned with its default: Terraform shows a missing value as a change.

func providerType(sent regcheck.ProviderType) string { return string(cmp.Or(sent, regcheck.Helm)) }

func scopeOf(sent string) string { return cmp.Or(sent, "tenant") }

func registryAuth(a regcheck.Auth) api.OCIRegistryAuth {
	return api.OCIRegistryAuth{Type: string(a.Kind()), Username: a.Username, Password: a.Password, Token: a.Token, TLS: api.OCIRegistryTLS{
		Enabled: a.TLS.Enabled, InsecureSkipVerify: a.TLS.InsecureSkipVerify, CA: a.TLS.CA, Certificate: a.TLS.Certificate, Key: a.TLS.Key}}
}

func syncStatus(s contentsync.Status) api.SyncStatus {
	return api.SyncStatus{IsSyncSupported: s.Supported, Status: string(s.Status), Message: s.Message, LastRunTime: s.LastRunAt, LastSyncedTime: s.LastEndedAt,
		Repositories: s.Repositories, Tags: s.Tags}
}

func registryHealth(h watch.HealthStatus) api.RegistryHealth {
	v := &h.State
	return api.RegistryHealth{
		State: string(h.Word()), Since: orNull(&h.Since), Code: orNull(&v.Code), Stage: orNull(&v.Stage), Reason: orNull(&v.Reason), Field: orNull(&v.Field),
		Message: orNull(&v.Message), Hint: orNull(&v.Hint), LastCheck: orNull(&h.LastAt), NextCheck: orNull(&h.NextAt),
		CertificateExpiresSoon: v.CertificateExpiresSoon, CredentialsExpireSoon: v.CredentialsExpireSoon, Unconfirmed: h.Unconfirmed,
		CertificateNotAfter: orNull(&v.CertificateNotAfter), CredentialsNotAfter: orNull(&v.CredentialsNotAfter)}
}

// orNull returns nil, which is null in JSON, for the zero value.
func orNull[T comparable](value *T) *T {
	var zero T
	if *value == zero {
		return nil
	}
	return value
}

// listRegistries is GET /v1/registries/oci/summary. Public clients use no query, and read all registries in one response.
func (h registryHandlers) listRegistries(c *call) (response, error) {
	query := readQuery(c.URL.RawQuery)
	if query.hasAny("name", "health", "sort", "limit", "continue") {
		return h.searchRegistries(c, query)
	}
	var shown api.OCIRegistrySummary
	return listOf(http.StatusOK, h.registryPages(c), func(r registries.Summary) any {
		shown = registrySummary(r)
		return &shown
	})
}

// searchRegistries returns a page of the registries that match a query.
func (h registryHandlers) searchRegistries(c *call, q *queryValues) (response, error) {
	query := registries.Query{Name: q.text("name"), Health: registries.Health(q.text("health")), Sort: registries.Sort(q.text("sort")),
		Request: q.page()}
	if err := invalid(fault.Join(q.problems, query.Problems())); err != nil {
		return response{}, err
	}
	return response{http.StatusOK, countedList(&query.Request, listTail{}, func() (paging.Page[registries.Summary], error) {
		return h.registries.Search(c.Context(), c.principal, "", query)
	}, func(r registries.Summary) any { return registrySummary(r) })}, nil
}

// countRegistryHealth is GET /v1/registries/oci/summary/health.
func (h registryHandlers) countRegistryHealth(c *call) (response, error) {
	counts, err := h.registries.CountHealth(c.Context(), c.principal, "")
	return response{http.StatusOK, api.RegistryHealthCounts(counts)}, err
}

func (h registryHandlers) registryPages(c *call) func(registries.Summary) ([]registries.Summary, bool, error) {
	var buffer []registries.Summary
	return func(after registries.Summary) (page []registries.Summary, more bool, err error) {
		page, more, err = h.registries.List(c.Context(), c.principal, "", after, buffer)
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
	d := r.Definition
	return response{http.StatusOK, api.OCIRegistryEntity{Type: registryType, Endpoint: d.Endpoint, ProviderType: providerType(d.ProviderType),
		Scope: scopeOf(r.Scope), Auth: registryAuth(*d.Auth)}}, nil
}

// registryType is the type of every stored registry: clients accept only this and "ecr".
const registryType = "basic"

func registrySummary(r registries.Summary) api.OCIRegistrySummary {
	return api.OCIRegistrySummary{
		Metadata: api.OCIRegistryMetadata{UID: r.UID, Name: r.Name, CreationTimestamp: r.CreatedAt, LastModifiedTimestamp: r.UpdatedAt},
		Spec: api.OCIRegistrySummarySpec{RegistryType: registryType, Endpoint: r.Endpoint, ProviderType: providerType(regcheck.ProviderType(r.ProviderType)),
			Scope: scopeOf(r.Scope), IsSyncSupported: r.SyncSupported, ContainsSpectroManifest: r.SpectroManifest, IsPrivate: r.Private},
		Status: api.OCIRegistrySummaryStatus{Sync: syncStatus(contentsync.StatusOf(r.SyncSupported, r.Sync)), Health: registryHealth(r.Health)},
	}
}

// listRegistryNames is GET /v1/registries/metadata.
func (h registryHandlers) listRegistryNames(c *call) (response, error) {
	return listOf(http.StatusOK, h.registryPages(c), func(r registries.Summary) any {
		return api.RegistryName{Name: r.Name, UID: r.UID, Kind: "oci", Scope: scopeOf(r.Scope), IsPrivate: r.Private}
	})
}

// listUnsupportedKind is GET /v1/registries/helm and GET /v1/registries/pack, and their summaries.
func listUnsupportedKind(*call) (response, error) {
	return response{http.StatusOK, api.NoRegistries{Items: []struct{}{}}}, nil
}

// unsupportedKind returns 404 for kinds of registries that are not supported. Clients that import a registry request
// /ecr first, and try the other paths only after this code.
func unsupportedKind(*call) (response, error) {
	return response{}, fault.ResourceNotFound("Registries of this kind are not supported.")
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
	if err := invalid(query.problems); err != nil {
		return response{}, err
	}
	if !wait {
		_, err := h.watch.RequestCheck(c.Context(), c.principal, c.origin, "", c.PathValue("uid"))
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
	if err := invalid(query.problems); err != nil {
		return response{}, err
	}
	var status watch.HealthStatus
	return response{http.StatusOK, items[watch.HistoryEntry]{
		read: limitedPages(limit, historyPage, func(limit int,
			after watch.HistoryEntry) (entries []watch.HistoryEntry, more bool, err error) {
			status, entries, err = h.watch.History(c.Context(), c.principal, "", c.PathValue("uid"), limit, after)
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
		shown.Report = json.RawMessage(r.Report)
	}
	return shown
}
