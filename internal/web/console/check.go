package console

import (
	"encoding/json"
	"net/http"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	pathCheck     = "/console/check"
	maxDefinition = 2 << 20 // a form with three fields of PEM, each of 256 KiB, whose line breaks are encoded

	titleCheck = "Check a definition"
)

type checkPage struct {
	Form    *form
	Result  *checkResult // nil before the check
	MaySave bool
}

func (c *call) checkForm() *form {
	name := field{Name: "name", Label: "Name", Hint: "For example the name of the team"}
	return newForm("Check", pathCheck, append(definitionFields(regcheck.Definition{}), name)...)
}

func (c *call) checkPage(f *form, result *checkResult) checkPage {
	return checkPage{f, result, c.principal.Can(auth.CreateRegistries)}
}

// showCheck is GET /console/check.
func (s *Console) showCheck(c *call) error {
	return c.show("check.html", titleCheck, c.checkPage(c.checkForm(), nil))
}

// check is POST /console/check. The script sends the form to get the stages, and then again without secrets and with the
// uid of the audit record, to get the page with the report.
func (s *Console) check(c *call) error {
	d := c.definition()
	if auditUID := c.PostFormValue("report"); auditUID != "" {
		return s.showChecked(c, d, auditUID)
	}
	request := checks.Request{Action: audit.RegistryDiagnose, Definition: registries.SentDefinition{Definition: d}}
	if c.Request.Header.Get("Accept") == typeStages {
		return s.streamCheck(c, request)
	}
	auditUID, err := s.validate(c, request)
	if err != nil {
		return c.checkRefused(err)
	}
	return s.showChecked(c, d, auditUID)
}

func (s *Console) validate(c *call, r checks.Request) (auditUID string, err error) {
	report, auditUID, err := s.Checks.Validate(c.Context(), c.principal, c.origin, r)
	s.CountValidation(report, err)
	return auditUID, err
}

// showChecked shows a report with the form of its definition.
func (s *Console) showChecked(c *call, d regcheck.Definition, auditUID string) error {
	result, err := s.readResult(c, auditUID)
	if err != nil {
		return err
	}
	result.Snippets = snippets(d)
	return c.show("check.html", titleCheck, c.checkPage(c.checkForm().sent(c), result))
}

// checkRefused shows the form again.
func (c *call) checkRefused(err error) error {
	err = inForm(err)
	return c.showAgain(err, "check.html", titleCheck, c.checkPage(c.checkForm().refused(c, err), nil))
}

// saveChecked is POST /console/check/save: it stores the definition of the form, checked or not.
func (s *Console) saveChecked(c *call) error {
	uid, err := s.Registries.Create(c.Context(), c.principal, c.origin, registries.RegistryInput{Name: c.PostFormValue("name"), Definition: c.definition()})
	if err != nil {
		return c.checkRefused(err)
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
func (s *Console) streamCheck(c *call, r checks.Request) error {
	if problems := registries.Fields(r.Definition.Definition.Problems()); len(problems) > 0 {
		return c.checkRefused(fault.InvalidFields(problems...))
	}
	began := false
	r.Observe = func(stage regcheck.StageResult) {
		if !began {
			began = true
			c.Header().Set("Content-Type", typeStages)
			c.begin(http.StatusOK)
		}
		c.sendLine(stageLine{Stage: stageText(stage)})
	}
	auditUID, err := s.validate(c, r)
	switch {
	case err == nil:
		c.sendLine(stageLine{Report: auditUID})
	case !began:
		return c.checkRefused(err)
	default:
		c.err = err
		c.sendLine(stageLine{Failed: messageOf(fault.Visible(err))})
	}
	return nil
}

// sendLine sends a line at once. It fails only if the browser went away, which ends the check too.
func (c *call) sendLine(line stageLine) {
	text, _ := json.Marshal(line) // never fails: texts only
	_, _ = c.Write(append(text, '\n'))
	_ = http.NewResponseController(c.ResponseWriter).Flush()
}
