package console

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/paging"
)

const (
	pathAudit = "/console/audit"

	formMinute = "2006-01-02T15:04" // of an input for date and time
)

type auditsPage struct {
	Filter *form
	paging.Page[audit.Record]
	Pager pager
	Empty empty
	All   bool // not only those of the caller
}

// auditForm is the filter above the list. Names of fields are those of the API's query.
func (c *call) auditForm() *form {
	f := newForm("Filter", pathAudit, choice("action", "Action", audit.Actions), choice("outcome", "Outcome", audit.Outcomes),
		field{Name: "startTime", Label: "From (UTC)", Type: "datetime-local"}, field{Name: "endTime", Label: "Until (UTC)", Type: "datetime-local"})
	for i := range f.Fields {
		f.Fields[i].Value = c.query(f.Fields[i].Name)
	}
	return f
}

// choice is a field for one of these words, or any.
func choice[T ~string](name, label string, words []T) field {
	f := field{Name: name, Label: label, Type: "select", Options: []option{{"", "Any"}}}
	for _, word := range words {
		f.Options = append(f.Options, option{string(word), string(word)})
	}
	return f
}

// auditQuery reads the filter and the position from the address.
func (c *call) auditQuery() (directory.AuditQuery, []fault.Field) {
	from, problems := minute("startTime", c.query("startTime"))
	until, wrong := minute("endTime", c.query("endTime"))
	q := directory.AuditQuery{Action: audit.Action(c.query("action")), Outcome: audit.Outcome(c.query("outcome")), From: from, Until: until, Request: c.pageRequest()}
	return q, fault.Join(append(problems, wrong...), q.Problems())
}

// minute parses the value of an input for date and time. Browsers add the seconds if they are not zero.
func minute(name, text string) (time.Time, []fault.Field) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{formMinute, formMinute + ":05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fault.FieldProblem(name, "must be a time such as 2027-01-31T12:00")
}

// listAudits is GET /console/audit.
func (s *Console) listAudits(c *call) (err error) {
	page := auditsPage{Filter: c.auditForm(), All: c.principal.Can(auth.ReadAllAudits),
		Empty: empty{Text: "No audit record matches the filter.", Path: pathAudit, Action: "Show all"}}
	query, problems := c.auditQuery()
	if len(problems) > 0 {
		err := fault.InvalidFields(problems...)
		page.Filter.addProblems(err)
		return c.showAgain(err, "audits.html", "Audit log", page)
	}
	if page.Page, err = s.Directory.Audits(c.Context(), c.principal, query); err != nil {
		return err
	}
	page.Pager = pagerOf(c, page.Page)
	return c.show("audits.html", "Audit log", page)
}

type auditPage struct {
	audit.Record
	Report     string // indented JSON
	ObjectPath string // page of the object, if there is one
}

// objectPath returns the page of a record's object, or nothing if it has none that the caller may open. Objects may also be names
// and endpoints.
func (c *call) objectPath(r audit.Record) string {
	if uuid.Validate(r.Object) != nil || r.Action.Change() == audit.ChangeDelete {
		return ""
	}
	switch kind := r.Action.Kind(); {
	case kind == "registry":
		return pathOf(pathRegistries, r.Object)
	case kind == "apikey":
		return pathOf(pathKeys, r.Object)
	case kind == "user" && c.principal.Can(auth.ChangeUsers):
		return pathOf(pathUsers, r.Object)
	case kind == "project" && c.principal.Can(auth.ChangeProjects):
		return pathOf(pathProjects, r.Object)
	}
	return ""
}

// showAudit is GET /console/audit/{uid}.
func (s *Console) showAudit(c *call) error {
	record, err := s.Directory.Audit(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	var report bytes.Buffer
	if len(record.Report) > 0 {
		if err := json.Indent(&report, record.Report, "", "  "); err != nil {
			return fault.Wrap("read a report", err)
		}
	}
	return c.show("audit.html", "Audit record", auditPage{record, report.String(), c.objectPath(record)})
}

const pathSettings = "/console/settings"

// Setting is a setting of the service, where its value comes from, and what it means.
type Setting struct{ Name, Value, Source, Meaning string }

// listSettings is GET /console/settings.
func (s *Console) listSettings(c *call) error {
	if err := s.Directory.MayReadSettings(c.Context(), c.principal); err != nil {
		return err
	}
	return c.show("settings.html", "Settings", s.Settings)
}
