package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/regcheck"
)

// Registries has the operations on stored registry definitions.
type Registries struct{ c *Client }

const uidLength = 36

// RegistryFilter selects stored registries. Empty fields select all.
type RegistryFilter struct {
	Name     string // a part of the name, in any letter case
	Health   string // healthy, failing or unknown
	Expiry   string // soon: certificate or credentials expire soon
	Label    string // KEY=VALUE, or KEY alone for every value
	Project  string // uid of the project in which the registries were stored
	Sort     string // name, health (failing first), since (newest change first) or expiry (first to expire first); empty means name
	PageSize int    // registries per request, at most 500; 0 means 500
}

// List returns all stored registries by name.
func (r Registries) List(ctx context.Context) iter.Seq2[api.OCIRegistrySummary, error] {
	return r.Search(ctx, RegistryFilter{})
}

// Search returns the stored registries that a filter selects.
func (r Registries) Search(ctx context.Context, filter RegistryFilter) iter.Seq2[api.OCIRegistrySummary, error] {
	start := request{path: api.PathOCIRegistrySummary,
		query: query("name", filter.Name, "health", filter.Health, "expiry", filter.Expiry,
			"label", filter.Label, "project", filter.Project, "sort", filter.Sort, "limit", pageSize(filter.PageSize))}
	return pages(ctx, r.c, start, func(page *api.OCIRegistrySummaries) ([]api.OCIRegistrySummary, string) {
		return page.Items, page.ListMeta.Continue
	})
}

// CountHealth returns how many stored registries have each health.
func (r Registries) CountHealth(ctx context.Context) (*api.RegistryHealthCounts, error) {
	return fetch[api.RegistryHealthCounts](ctx, r.c, request{path: api.PathOCIRegistryHealth})
}

// Find returns the registry with this uid, else the one with this name in any letter case. Names come second: anyone may choose one that
// is the uid of another registry, and would get the secrets meant for that.
func (r Registries) Find(ctx context.Context, name string) (*api.OCIRegistrySummary, error) {
	if len(name) == uidLength {
		found, err := first(r.List(ctx), "Registry", name, func(one api.OCIRegistrySummary) bool { return one.Metadata.UID == name })
		if err == nil || !refusedWith(err, http.StatusNotFound) {
			return found, err
		}
	}
	return first(r.Search(ctx, RegistryFilter{Name: name}), "Registry", name, func(one api.OCIRegistrySummary) bool {
		return strings.EqualFold(one.Metadata.Name, name)
	})
}

// Get returns a stored registry with masked secrets.
func (r Registries) Get(ctx context.Context, uid string) (*api.OCIRegistry, error) {
	return fetch[api.OCIRegistry](ctx, r.c, request{path: api.PathOCIRegistry, args: []string{uid}})
}

// Create stores a definition and returns its uid. The definition is not validated.
func (r Registries) Create(ctx context.Context, registry api.OCIRegistryRequest) (uid string, err error) {
	return r.c.create(ctx, api.PathOCIRegistries, registry)
}

// InProject returns the same operations for registries of a project: Create and Import store them there.
func (r Registries) InProject(uid string) Registries {
	scoped := *r.c
	scoped.headers = r.c.headers.Clone()
	scoped.headers.Set(api.HeaderProjectUID, uid)
	return Registries{&scoped}
}

// Import stores definitions under names from their addresses, except those that are stored already. A dry run stores nothing. The list
// has the definitions in their order, up to one that failed.
func (r Registries) Import(ctx context.Context, sent api.OCIRegistryImport, dryRun bool) ([]api.ImportedRegistry, error) {
	asked := request{method: http.MethodPost, path: api.PathOCIRegistryImport, in: sent, lists: allItems}
	if dryRun {
		asked.query = query("dryRun", "true")
	}
	imported, err := read[api.OCIRegistryImported](ctx, r.c, asked)
	return imported.Items, err
}

// Bulk does one action on many registries. What is refused for one does not end the others.
func (r Registries) Bulk(ctx context.Context, sent api.RegistryBulk) ([]api.RegistryBulkItem, error) {
	result, err := read[api.RegistryBulkResult](ctx, r.c, request{method: http.MethodPost, path: api.PathOCIRegistryBulk, in: sent,
		creates: sent.Action == "delete"})
	return result.Items, err
}

// Replace replaces a stored definition. Secrets that are empty or masked stay as they are if the target stays the same.
func (r Registries) Replace(ctx context.Context, uid string, registry api.OCIRegistryRequest) error {
	return r.c.put(ctx, api.PathOCIRegistry, registry, uid)
}

// Delete deletes a stored registry with its history and content.
func (r Registries) Delete(ctx context.Context, uid string) error {
	return r.c.delete(ctx, api.PathOCIRegistry, uid)
}

// Check requests a check of a stored registry, and does not wait for it.
func (r Registries) Check(ctx context.Context, uid string) error {
	return r.c.do(ctx, request{method: http.MethodPost, path: api.PathOCIRegistryCheck, args: []string{uid}}, new(api.RequestedCheck))
}

// PendingError is the error of CheckAndWait if the check has not ended. The registry stays due, and Message has the reason.
type PendingError struct{ Message string }

func (e *PendingError) Error() string { return e.Message }

// CheckAndWait requests a check of a stored registry and returns the report, valid or not. The error is a *PendingError if the check
// has not ended within a minute.
func (r Registries) CheckAndWait(ctx context.Context, uid string) (*regcheck.Report, error) {
	var report regcheck.Report
	var pending api.RequestedCheck
	err := r.c.do(ctx, request{method: http.MethodPost, path: api.PathOCIRegistryCheck, args: []string{uid}, query: query("wait", "true"),
		accepted: &pending}, &report)
	switch {
	case err != nil:
		return nil, err
	case pending.Message != "":
		return nil, &PendingError{pending.Message}
	default:
		return &report, nil
	}
}

// History returns the health of a registry, and the newest periods with the same result: at most limit, or 200 if it is 0.
func (r Registries) History(ctx context.Context, uid string, limit int) (*api.RegistryHistory, error) {
	text := ""
	if limit != 0 {
		text = strconv.Itoa(limit)
	}
	return fetch[api.RegistryHistory](ctx, r.c, request{path: api.PathOCIRegistryHistory, args: []string{uid}, query: query("limit", text)})
}

// Sync requests a synchronization of a registry's content, and does not wait for it.
func (r Registries) Sync(ctx context.Context, uid string) error {
	return r.c.do(ctx, request{method: http.MethodPost, path: api.PathOCIRegistrySync, args: []string{uid}}, nil)
}

// SyncStatus returns the status of the last synchronization.
func (r Registries) SyncStatus(ctx context.Context, uid string) (*api.SyncStatus, error) {
	return fetch[api.SyncStatus](ctx, r.c, request{path: api.PathOCIRegistrySyncState, args: []string{uid}})
}

// Content returns what the last finished synchronization found, of one repository or of all if it is empty.
func (r Registries) Content(ctx context.Context, uid, repository string) iter.Seq2[api.OCIRegistryTag, error] {
	start := request{path: api.PathOCIRegistryContent, args: []string{uid}, query: query("repository", repository, "limit", pageSize(0))}
	return pages(ctx, r.c, start, func(page *api.OCIRegistryContent) ([]api.OCIRegistryTag, string) {
		return page.Items, page.ListMeta.Continue
	})
}

// AWSAccount returns whom the trust policy of a role must allow in a partition of AWS, aws or aws-us-gov, and with which external id.
func (r Registries) AWSAccount(ctx context.Context, partition string) (*api.AWSAccount, error) {
	return fetch[api.AWSAccount](ctx, r.c, request{path: api.PathAWSAccount, query: query("partition", partition)})
}
