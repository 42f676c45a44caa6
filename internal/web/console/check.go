package console

import (
	"encoding/json"
	"net/http"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/internal/web/console/words"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	pathCheck     = "/console/check"
	maxDefinition = 2 << 20 // a form with three fields of PEM, each of 256 KiB, whose line breaks are encoded

	titleCheck = "Check a definition"
)

type checkPage struct {
	Form   *forms.Form
	Result *checkResult // nil before the check
}

// checkHandlers has the pages that check a definition.
type checkHandlers struct {
	checks     *checks.Service
	registries *registries.Service
	directory  *directory.Directory
	count      func(*regcheck.Report, error)
}

func checkForm() *forms.Form {
	name := forms.Field{Name: "name", Label: "Name", Hint: "For example the name of the team"}
	return forms.New("Check", pathCheck, append(forms.Definition(regcheck.Definition{}), name)...)
}

// pageOf returns the page with a form, and with the report of its definition if there is one.
func (h checkHandlers) pageOf(c *call, f *forms.Form, auditUID string) (checkPage, error) {
	if auditUID == "" {
		return checkPage{Form: f}, nil
	}
	result, err := h.readResult(c, auditUID)
	if err != nil {
		return checkPage{}, err
	}
	result.Snippets = views.Snippets(forms.ReadDefinition(c))
	f.Want(result.FieldID())
	if mayCreate(c) {
		name, _ := f.Field("name") // never fails: checkForm has it
		result.Name = &name
	}
	return checkPage{f, result}, nil
}

// showCheck is GET /console/check.
func (h checkHandlers) showCheck(c *call) error {
	return c.show("check.html", titleCheck, checkPage{Form: checkForm()})
}

// check is POST /console/check. The script sends the form to get the stages, and then again without secrets and with the
// uid of the audit record, to get the page with the report.
func (h checkHandlers) check(c *call) error {
	if auditUID := c.PostFormValue("report"); auditUID != "" {
		return h.showChecked(c, auditUID)
	}
	request := checks.Request{Action: audit.RegistryDiagnose, Definition: registries.SentDefinition{Definition: forms.ReadDefinition(c)}}
	if c.Request.Header.Get("Accept") == typeStages {
		return h.streamCheck(c, request)
	}
	auditUID, err := h.validate(c, request)
	if err != nil {
		return h.refuse(c, err)
	}
	return h.showChecked(c, auditUID)
}

func (h checkHandlers) validate(c *call, r checks.Request) (auditUID string, err error) {
	report, auditUID, err := h.checks.Validate(c.Context(), c.principal, c.origin, r)
	h.count(report, err)
	return auditUID, err
}

// showChecked shows a report with the form of its definition.
func (h checkHandlers) showChecked(c *call, auditUID string) error {
	page, err := h.pageOf(c, checkForm().Sent(c), auditUID)
	return c.showRead(err, "check.html", titleCheck, page)
}

// refuse shows the form again, with the report in which it was.
func (h checkHandlers) refuse(c *call, err error) error {
	page, readErr := h.pageOf(c, checkForm().Refuse(c, err), c.PostFormValue("report"))
	if readErr != nil {
		return readErr
	}
	return c.showAgain(err, "check.html", titleCheck, page)
}

// saveChecked is POST /console/check/save: it stores the definition of the form, as a button in the report asks for.
func (h checkHandlers) saveChecked(c *call) error {
	uid, err := h.registries.Create(c.Context(), c.principal, c.origin,
		registries.RegistryInput{Name: c.PostFormValue("name"), ProjectUID: projectOf(c), Definition: forms.ReadDefinition(c)})
	if err != nil {
		return h.refuse(c, err)
	}
	return c.redirect("/console/registries/"+uid, "registrySaved")
}

// typeStages is the type of a stream of lines with one JSON object each.
const typeStages = "application/x-ndjson"

// stageLine is the end of a stage, or of the whole check: then it has the audit record with the report, or why there is none.
type stageLine struct {
	Stage  string `json:"stage,omitempty"`
	Report string `json:"report,omitempty"`
	Failed string `json:"failed,omitempty"`
}

// streamCheck sends each stage when it ends. If the check is refused before the first one, the response is the page with the problems
// instead, from which the script takes them.
func (h checkHandlers) streamCheck(c *call, r checks.Request) error {
	began := false
	r.Observe = func(stage regcheck.StageResult) {
		if !began {
			began = true
			c.Header().Set("Content-Type", typeStages)
			c.Header().Set("X-Accel-Buffering", "no") // nginx would send all stages at the end
			c.begin(http.StatusOK)
		}
		sendLine(c, stageLine{Stage: views.StageText(reports.ShowStage(stage, forms.Audience))})
	}
	auditUID, err := h.validate(c, r)
	switch {
	case err == nil:
		sendLine(c, stageLine{Report: auditUID})
	case !began:
		return h.refuse(c, err)
	default:
		c.err = err
		text := words.Message(fault.Visible(err))
		if fault.KindOf(err) == fault.Internal {
			text += " Reference: " + c.origin.RequestID
		}
		sendLine(c, stageLine{Failed: text})
	}
	return nil
}

// sendLine sends a line at once. It fails only if the browser went away, which ends the check too.
func sendLine(c *call, line stageLine) {
	text, _ := json.Marshal(line) // never fails: texts only
	_, _ = c.Write(append(text, '\n'))
	_ = http.NewResponseController(c.ResponseWriter).Flush()
}
