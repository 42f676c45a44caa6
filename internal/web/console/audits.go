package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/csvtext"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/internal/web/console/words"
)

const (
	pathAudit = "/console/audit"

	formMinute = "2006-01-02T15:04" // of an input for date and time
)

type auditsPage struct {
	Filter *forms.Form
	paging.Page[audit.Record]
	Pager views.Pager
	Empty views.Empty
	All   bool   // not only those of the caller
	CSV   string // the address of all records that match, as a file
}

// auditHandlers has the pages of audit records.
type auditHandlers struct{ directory *directory.Directory }

// auditForm is the filter above the list. Names of fields are those of the API's query, except for the user.
func auditForm(c *call) *forms.Form {
	f := forms.New("Filter", pathAudit, choice("action", "Action", audit.Actions, func(a audit.Action) string { return string(a) }),
		choice("outcome", "Outcome", audit.Outcomes, func(o audit.Outcome) string { return words.Capital(o) }),
		forms.Field{Name: "actor", Label: "User", Path: "userUid", Hint: "Email or uid"},
		forms.Field{Name: "object", Label: "Object", Path: "resourceUid", Hint: "Uid, or the name or endpoint in the list"},
		forms.Field{Name: "startTime", Label: "From (UTC)", Type: "datetime-local"},
		forms.Field{Name: "endTime", Label: "Until (UTC)", Type: "datetime-local"})
	for i := range f.Fields {
		f.Fields[i].Value = c.query(f.Fields[i].Name)
	}
	return f
}

// choice is a field for one of these values, or any.
func choice[T ~string](name, label string, values []T, show func(T) string) forms.Field {
	f := forms.Field{Name: name, Label: label, Type: "select", Options: forms.Options("", "Any")}
	for _, value := range values {
		f.Options = append(f.Options, forms.Option{Value: string(value), Label: show(value)})
	}
	return f
}

// auditQuery reads the filter and the position from the address.
func (h auditHandlers) auditQuery(c *call) (q directory.AuditQuery, problems []fault.Field, err error) {
	from, problems := minute("startTime", c.query("startTime"))
	until, wrong := minute("endTime", c.query("endTime"))
	q = directory.AuditQuery{Action: audit.Action(c.query("action")), Outcome: audit.Outcome(c.query("outcome")), Object: c.query("object"),
		ActorUID: c.query("actor"), From: from, Until: until, Request: c.pageRequest()}
	var problem string
	if q.ActorUID, problem, err = h.actor(c, q.ActorUID); problem != "" {
		wrong = append(wrong, fault.Field{Field: "userUid", Problem: problem})
	}
	return q, fault.Join(append(problems, wrong...), q.Problems()), err
}

// actor returns the uid of a user who is named by it or by an email, or the problem with the name.
func (h auditHandlers) actor(c *call, named string) (uid, problem string, err error) {
	switch {
	case named == "" || uuid.Validate(named) == nil:
		return named, "", nil
	case names.Canonical(named) == names.Canonical(c.principal.Email): // without the permission to read users
		return c.principal.UserUID, "", nil
	}
	user, err := h.directory.User(c.Context(), c.principal, named)
	switch fault.KindOf(err) {
	case fault.NotFound:
		return "", "does not exist in your organization; for a deleted user enter its uid", nil
	case fault.Forbidden:
		return "", "must be your own email: your roles do not permit to read users", nil
	default:
		return user.UID, "", err
	}
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
func (h auditHandlers) listAudits(c *call) (err error) {
	page := auditsPage{Filter: auditForm(c), All: c.principal.Can(access.ReadAllAudits),
		Empty: views.Empty{Text: "No audit record matches the filter.", Path: pathAudit, Action: "Show all"}}
	query, problems, err := h.auditQuery(c)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		err := fault.InvalidFields(problems...)
		page.Filter.AddProblems(err)
		return c.showAgain(err, "audits.html", "Audit log", page)
	}
	if page.Page, err = h.directory.Audits(c.Context(), c.principal, query); err != nil {
		return err
	}
	page.Pager = pagerOf(c, page.Page)
	page.CSV = pathAudit + ".csv?" + c.URL.RawQuery
	return c.show("audits.html", "Audit log", page)
}

const maxCSVRecords = 10_000

// exportAudits is GET /console/audit.csv: the records that the filter of the list matches, the newest first.
func (h auditHandlers) exportAudits(c *call) error {
	query, problems, err := h.auditQuery(c)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	query.Request = paging.Request{Limit: 100, Uncounted: true}
	out := csvtext.New(c)
	for rows := 0; rows < maxCSVRecords; {
		page, err := h.directory.Audits(c.Context(), c.principal, query)
		if err != nil {
			return err
		}
		if rows == 0 {
			c.beginCSV("audit.csv")
			out.Row("uid", "at", "action", "outcome", "reason", "changedFields", "user", "object", "objectName", "address")
		}
		for _, r := range page.Items {
			out.Row(csvCells(r)...)
		}
		if out.Flush(); out.Error() != nil {
			return nil // the browser went away
		}
		if rows += len(page.Items); page.Continue == "" {
			return nil
		}
		query.Continue = page.Continue
	}
	return nil
}

// beginCSV sends the headers of a file that is downloaded.
func (c *call) beginCSV(name string) {
	c.Header().Set("Content-Type", "text/csv; charset=utf-8")
	c.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	c.begin(http.StatusOK)
	c.clearReadDeadline()
}

// clearReadDeadline is for responses that take long: the deadline of the request would cancel their context.
func (c *call) clearReadDeadline() {
	_ = http.NewResponseController(c.ResponseWriter).SetReadDeadline(time.Time{}) // fails only on a closed connection
}

// csvCells are the cells of a record.
func csvCells(r audit.Record) []string {
	reason, changed := r.Reason, r.Changed()
	if changed != nil {
		reason = ""
	}
	return []string{r.UID, csvtext.Time(r.At), string(r.Action), string(r.Outcome), reason, strings.Join(changed, " "),
		r.ActorName, r.Object, r.ObjectName, r.Origin.Address}
}

type auditPage struct {
	audit.Record
	Report     string // indented JSON
	ObjectPath string // page of the object, if there is one
}

// objectPath returns the page of a record's object, or nothing if it has none that p may open. Objects may also be names
// and endpoints.
func objectPath(p auth.Principal, r audit.Record) string {
	if uuid.Validate(r.Object) != nil || r.Action.Change() == audit.ChangeDelete {
		return ""
	}
	switch kind := r.Action.Kind(); {
	case kind == "registry":
		return pathOf(pathRegistries, r.Object)
	case kind == "apikey" && mayOpenKey(p, r.ActorUID): // the record does not name the owner, who mostly is the actor
		return pathOf(pathKeys, r.Object)
	case kind == "user" && p.Can(access.ChangeUsers):
		return pathOf(pathUsers, r.Object)
	case kind == "project" && p.Can(access.ChangeProjects):
		return pathOf(pathProjects, r.Object)
	}
	return ""
}

// showAudit is GET /console/audit/{uid}.
func (h auditHandlers) showAudit(c *call) error {
	record, err := h.directory.Audit(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	var report bytes.Buffer
	if len(record.Report) > 0 {
		if err := json.Indent(&report, reports.Public(record.Report), "", "  "); err != nil {
			return fault.Wrap("read a report", err)
		}
	}
	return c.show("audit.html", "Audit record", auditPage{record, report.String(), objectPath(c.principal, record)})
}
