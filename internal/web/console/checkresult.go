package console

import (
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/regcheck"
)

// checkResult is the outcome of a check, from its audit record.
type checkResult struct {
	UID, Endpoint, Actor, Reason string
	At                           time.Time
	Report                       *regcheck.Report // nil if the check was refused or did not end
	Stages                       views.Waterfall
	Snippets                     []views.Snippet // empty if the definition is not known
	Name                         *forms.Field    // of the registry as which the caller may store the definition; nil for none
}

// showReport is GET /console/check/{uid}: the report of a check that anyone in the organization made.
func (h checkHandlers) showReport(c *call) error {
	result, err := h.readResult(c, c.PathValue("uid"))
	return c.showRead(err, "report.html", "Report", result)
}

func (h checkHandlers) readResult(c *call, auditUID string) (*checkResult, error) {
	record, err := h.directory.Audit(c.Context(), c.principal, auditUID)
	if err != nil {
		return nil, err
	}
	if record.Action != audit.RegistryValidate && record.Action != audit.RegistryDiagnose {
		return nil, fault.ResourceNotFound("There is no report at this address.")
	}
	result := &checkResult{UID: record.UID, Endpoint: record.Object, Actor: record.ActorName, Reason: record.Reason, At: record.At}
	if record.Report == nil {
		return result, nil
	}
	report, err := reports.Decode(record.Report)
	if err != nil {
		return nil, err
	}
	result.Report = reports.Show(report, forms.Audience)
	result.Stages = views.Stages(result.Report)
	return result, nil
}

// FieldID is the id of the field to correct, empty if the form does not have it.
func (r *checkResult) FieldID() string {
	if r.Report == nil {
		return ""
	}
	return forms.FieldID(r.Report.Field)
}

// Duration is the time of the whole check.
func (r *checkResult) Duration() string { return views.Milliseconds(r.Report.DurationMS) }
