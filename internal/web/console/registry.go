package console

import (
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/web/console/changelog"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/regcheck"
)

const noticeDue = "registryDue"

// historyPages are those of the history on the page of a registry.
var historyPages = views.Numbered{Parameter: "history", Rows: 10, Fragment: "#history"}

type registryPage struct {
	registries.Registry
	Path     string
	Object   string           // of a cluster, that the registry is read from; empty for none
	Report   *regcheck.Report // of the first check with the newest result; nil if there is none
	Timeline views.Timeline
	History  []watch.HistoryEntry // of this page
	Pager    views.Pager          // of the history
	Changes  []changelog.Change
	Sync     contentsync.Status
	Pending  bool // a check was requested, and has not ended yet
	Outdated bool // the result is of an earlier definition

	MayCheck, MaySync, MayChange, MayDelete bool
}

// FixPath is the address of the field to correct, empty if the caller may not change it or the form does not have it.
func (p registryPage) FixPath() string {
	id := forms.FieldID(p.Health.State.Field)
	if id == "" || !p.MayChange {
		return ""
	}
	return p.Path + "/edit#" + id
}

// Waits reports whether the result of a check is to come soon.
func (p registryPage) Waits() bool { return p.Pending || p.Outdated || p.Health.Since.IsZero() }

// OldReport reports whether the report is of an earlier definition.
func (p registryPage) OldReport() bool { return p.Report.StartedAt.Before(p.UpdatedAt) }

func registryPath(uid string) string { return pathRegistries + "/" + uid }

// showRegistry is GET /console/registries/{uid}.
func (h registryHandlers) showRegistry(c *call) error {
	found, err := h.registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	p := c.principal
	page := registryPage{Registry: found, Path: registryPath(found.UID), Sync: contentsync.StatusOf(found.SyncSupported, found.Sync),
		MayCheck:  p.CanIn(access.ValidateRegistries, found.ProjectUID),
		MaySync:   p.CanIn(access.SyncRegistries, found.ProjectUID) && found.SyncSupported,
		MayChange: found.Origin == "" && p.CanIn(access.ChangeRegistries, found.ProjectUID),
		MayDelete: !found.ClusterRead && p.CanIn(access.DeleteRegistries, found.ProjectUID)}
	if found.Origin != "" {
		page.Object = registries.ObjectName(found.Origin)
	}
	page.Pending = c.query("notice") == noticeDue
	history, err := h.watch.Timeline(c.Context(), c.principal, found.UID)
	if err != nil {
		return err
	}
	page.Timeline = views.TimelineOf(views.ChangesOf(history), found.CreatedAt, h.now())
	page.Outdated = outdated(found, history)
	if err := h.readReports(c, &page, history); err != nil {
		return err
	}
	if page.Changes, err = h.changes.Recent(c.Context(), c.principal, found.UID, audit.RegistryCreate, audit.RegistryUpdate); err != nil {
		return err
	}
	return c.show("registry.html", found.Name, page)
}

// outdated reports whether the newest result that counts is of an earlier definition. A check of an earlier definition that ends after the
// change is dropped.
func outdated(r registries.Registry, history []watch.HistoryEntry) bool {
	checked := r.Health.LastAt
	if r.Health.Unconfirmed { // the last check does not count
		for _, entry := range history {
			if checked = entry.LastAt; entry.Counted {
				break
			}
		}
	}
	return !r.Health.Since.IsZero() && checked.Before(r.UpdatedAt)
}

// readReports reads the reports that the page shows: those of its entries of the history, and the newest one.
func (h registryHandlers) readReports(c *call, page *registryPage, history []watch.HistoryEntry) (err error) {
	from := historyPages.Start(c.URL, len(history))
	if page.History, err = h.historyAfter(c, page.UID, history[:from], historyPages.Rows); err != nil {
		return err
	}
	page.Pager = historyPages.Pager(c.URL, from, len(page.History), len(history))
	newest := page.History
	if from > 0 {
		if newest, err = h.historyAfter(c, page.UID, nil, 1); err != nil {
			return err
		}
	}
	if len(newest) == 0 || newest[0].Report == nil {
		return nil
	}
	report, err := reports.Decode(newest[0].Report)
	if err != nil {
		return err
	}
	page.Report = reports.Show(report, forms.Audience)
	if newest[0].Counted && !report.Valid { // so it is the report of the health status, with names of the form
		page.Health.State.Message, page.Health.State.Hint = page.Report.Message, page.Report.Hint
	}
	return nil
}

// historyAfter returns the entries that follow the last of others.
func (h registryHandlers) historyAfter(c *call, uid string, others []watch.HistoryEntry, limit int) ([]watch.HistoryEntry, error) {
	var last watch.HistoryEntry
	if len(others) > 0 {
		last = others[len(others)-1]
	}
	_, entries, err := h.watch.History(c.Context(), c.principal, uid, limit, last)
	return entries, err
}

// checkRegistry is POST /console/registries/{uid}/check.
func (h registryHandlers) checkRegistry(c *call) error {
	c.clearReadDeadline()
	report, _, err := h.watch.CheckNow(c.Context(), c.principal, c.origin, c.PathValue("uid"), h.checks.ReserveWait)
	if err != nil {
		return err
	}
	notice := noticeDue
	if report != nil {
		notice = "registryChecked"
	}
	return c.redirect(registryPath(c.PathValue("uid")), notice)
}

// syncRegistry is POST /console/registries/{uid}/sync.
func (h registryHandlers) syncRegistry(c *call) error {
	err := h.content.Request(c.Context(), c.principal, c.origin, c.PathValue("uid"))
	return c.done(err, registryPath(c.PathValue("uid")), "syncRequested")
}

type contentPage struct {
	registries.Registry
	Path   string
	Filter forms.Field
	contentsync.Page
	Pager views.Pager
	Empty views.Empty
}

// showContent is GET /console/registries/{uid}/content.
func (h registryHandlers) showContent(c *call) error {
	found, err := h.registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	query := contentsync.Query{Repository: c.query("repository"), Request: c.pageRequest()}
	page := contentPage{Registry: found, Path: registryPath(found.UID),
		Filter: forms.Field{Name: "repository", Label: "Repository", Type: "search", Value: query.Repository,
			Hint: "This one and those below it."}}
	if page.Page, err = h.content.List(c.Context(), c.principal, found.UID, query); err != nil {
		return err
	}
	page.Pager = pagerOf(c, page.Page.Page)
	page.Empty = views.Empty{Text: page.Page.Sync.Message}
	switch {
	case query.Repository != "":
		page.Empty = views.Empty{Text: "No repository has this name.", Path: page.Path + "/content", Action: "Show all content"}
	case page.Empty.Text == "":
		page.Empty.Text = "The registry has no content that its credentials can list."
	}
	return c.show("content.html", "Content of "+found.Name, page)
}

// confirmDelete is GET /console/registries/{uid}/delete.
func (h registryHandlers) confirmDelete(c *call) error {
	found, err := h.registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err == nil {
		err = c.principal.MayIn(access.DeleteRegistries, found.ProjectUID)
	}
	return c.showRead(err, "deleteregistry.html", "Delete "+found.Name, registryPage{Registry: found, Path: registryPath(found.UID)})
}
