package console

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/contentsync"
	"github.com/regwarden/regwarden/internal/registries"
	"github.com/regwarden/regwarden/internal/watch"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	historyChunk = 20 // entries per query: each has a report
	historyPage  = 10 // entries per page

	noticeDue = "registryDue"
)

type registryPage struct {
	registries.Registry
	Path     string
	Report   *regcheck.Report // of the first check with the newest result; nil if there is none
	Timeline timeline
	History  []watch.HistoryEntry // of this page, without reports
	Pager    pager                // of the history
	Changes  []change
	Sync     contentsync.Status
	Pending  bool // a check was requested, and has not ended yet

	MayCheck, MaySync, MayChange, MayDelete bool
}

// FixPath is the address of the field to correct, empty if the caller may not change it or the form does not have it.
func (p registryPage) FixPath() string {
	id := fieldID(p.Health.State.Field)
	if id == "" || !p.MayChange {
		return ""
	}
	return p.Path + "/edit#" + id
}

func registryPath(uid string) string { return pathRegistries + "/" + uid }

// showRegistry is GET /console/registries/{uid}.
func (s *Console) showRegistry(c *call) error {
	found, err := s.Registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	p := c.principal
	page := registryPage{Registry: found, Path: registryPath(found.UID), Sync: contentsync.StatusOf(found.SyncSupported, found.Sync),
		MayCheck: p.Can(auth.ValidateRegistries), MaySync: p.Can(auth.SyncRegistries) && found.SyncSupported,
		MayChange: p.Can(auth.ChangeRegistries), MayDelete: p.Can(auth.DeleteRegistries)}
	page.Pending = c.query("notice") == noticeDue
	history, newest, err := s.history(c, found.UID)
	if err != nil {
		return err
	}
	page.Timeline = timelineOf(history, s.Now())
	page.History, page.Pager = c.historyPage(history)
	if newest != nil {
		page.Report = &regcheck.Report{}
		if err := json.Unmarshal(newest, page.Report); err != nil {
			return err
		}
	}
	if page.Changes, err = s.recentChanges(c, found.UID, audit.RegistryCreate, audit.RegistryUpdate); err != nil {
		return err
	}
	return c.show("registry.html", found.Name, page)
}

// history returns all that is stored of a registry's history, without reports, and the newest report.
func (s *Console) history(c *call, uid string) (all []watch.HistoryEntry, newest []byte, err error) {
	var last watch.HistoryEntry
	for more := true; more; {
		_, chunk, err := s.Watch.History(c.Context(), c.principal, "", uid, historyChunk, last)
		if err != nil {
			return nil, nil, err
		}
		if len(all) == 0 && len(chunk) > 0 {
			newest = chunk[0].Report
		}
		for _, last = range chunk {
			last.Report = nil
			all = append(all, last)
		}
		more = len(chunk) == historyChunk
	}
	return all, newest, nil
}

// historyPage returns the entries of the page that the address names, by its number.
func (c *call) historyPage(all []watch.HistoryEntry) ([]watch.HistoryEntry, pager) {
	number, _ := strconv.Atoi(c.query("history"))
	number = max(min(number, (len(all)-1)/historyPage+1), 1)
	from := (number - 1) * historyPage
	shown := all[from:min(len(all), from+historyPage)]
	p := pager{Position: positions(from+len(shown), len(shown), int64(len(all)))}
	if number > 1 {
		p.Previous = c.withQuery("history", strconv.Itoa(number-1)) + "#history"
	}
	if from+len(shown) < len(all) {
		p.Next = c.withQuery("history", strconv.Itoa(number+1)) + "#history"
	}
	return shown, p
}

// checkRegistry is POST /console/registries/{uid}/check.
func (s *Console) checkRegistry(c *call) error {
	// The deadline of the request would cancel the wait.
	_ = http.NewResponseController(c.ResponseWriter).SetReadDeadline(time.Time{}) // fails only on a closed connection
	report, _, err := s.Watch.CheckNow(c.Context(), c.principal, c.origin, c.PathValue("uid"), s.Checks.ReserveWait)
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
func (s *Console) syncRegistry(c *call) error {
	if err := s.ContentSync.Request(c.Context(), c.principal, c.origin, c.PathValue("uid")); err != nil {
		return err
	}
	return c.redirect(registryPath(c.PathValue("uid")), "syncRequested")
}

type contentPage struct {
	registries.Registry
	Path   string
	Filter field
	contentsync.Page
	Pager pager
	Empty empty
}

// showContent is GET /console/registries/{uid}/content.
func (s *Console) showContent(c *call) error {
	found, err := s.Registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	query := contentsync.Query{Repository: c.query("repository"), Request: c.pageRequest()}
	page := contentPage{Registry: found, Path: registryPath(found.UID), Filter: field{Name: "repository", Label: "Repository", Type: "search", Value: query.Repository,
		Hint: "This one and those below it."}}
	if page.Page, err = s.ContentSync.List(c.Context(), c.principal, found.UID, query); err != nil {
		return err
	}
	page.Pager = pagerOf(c, page.Page.Page)
	page.Empty = empty{Text: page.Page.Sync.Message}
	switch {
	case query.Repository != "":
		page.Empty = empty{"No repository has this name.", page.Path + "/content", "Show all content"}
	case page.Empty.Text == "":
		page.Empty.Text = "The registry has no content that its credentials can list."
	}
	return c.show("content.html", "Content of "+found.Name, page)
}

// confirmDelete is GET /console/registries/{uid}/delete.
func (s *Console) confirmDelete(c *call) error {
	if err := c.principal.May(auth.DeleteRegistries); err != nil {
		return err
	}
	found, err := s.Registries.Get(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	return c.show("deleteregistry.html", "Delete "+found.Name, registryPage{Registry: found, Path: registryPath(found.UID)})
}

// deleteRegistry is POST /console/registries/{uid}/delete.
func (s *Console) deleteRegistry(c *call) error {
	if err := s.Registries.Delete(c.Context(), c.principal, c.origin, c.PathValue("uid")); err != nil {
		return err
	}
	return c.redirect(pathRegistries, "registryDeleted")
}
