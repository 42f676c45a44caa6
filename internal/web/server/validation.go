package server

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/regcheck"
)

// checkHandlers handles the routes of checks and scans of what a request sends.
type checkHandlers struct {
	checks    *checks.Service
	directory *directory.Directory
	metrics   *Metrics
	scanBytes int64
}

// validate is POST /v1/registries/oci/basic/validate. It returns 204 for a valid definition, else the report as an
// error.
func (h checkHandlers) validate(c *call) (response, error) {
	report, err := h.check(c, audit.RegistryValidate)
	if err != nil {
		return response{}, err
	}
	if !report.Valid {
		return response{}, notValid{report}
	}
	return response{status: http.StatusNoContent}, nil
}

// diagnose is POST /v1/registries/oci/basic/diagnose: the same check with the report as the response.
func (h checkHandlers) diagnose(c *call) (response, error) {
	report, err := h.check(c, audit.RegistryDiagnose)
	return response{http.StatusOK, report}, err
}

// check makes sure that every outcome is recorded, also of a request that cannot be decoded.
func (h checkHandlers) check(c *call, action audit.Action) (*regcheck.Report, error) {
	setAuditUID(c.w, c.origin.AuditUID) // for a panic in the engine
	request, err := h.readCheck(c)
	if err != nil {
		auditUID, recordErr := h.checks.Refuse(c.Context(), c.principal, c.origin, checks.RefusalOf(action, err))
		setAuditUID(c.w, auditUID)
		h.metrics.Validation(nil, err)
		return nil, cmp.Or(recordErr, err)
	}
	request.Action = action
	report, auditUID, err := h.checks.Validate(c.Context(), c.principal, c.origin, request)
	setAuditUID(c.w, auditUID)
	h.metrics.Validation(report, err)
	return report, err
}

// readCheck leaves decoding problems to the domain, and notes unknown fields.
func (h checkHandlers) readCheck(c *call) (request checks.Request, err error) {
	if err := findProject(c, h.directory); err != nil {
		return request, err
	}
	body, err := c.body()
	if err != nil {
		return request, err
	}
	var sent api.OCIRegistryDefinition
	if request.Undecoded, err = strictjson.Decode(body, &sent); err != nil {
		return request, err
	}
	unknown, known := strictjson.Unknown(body, new(api.OCIRegistryRequestSpec))
	sent.NoteUnknown(unknown, known)
	c.warnOfUnknown(unknown, known)
	request.Definition = registries.SentDefinition{Definition: sent.Definition, RegistryUID: sent.RegistryUID, Scope: sent.Scope}
	return request, nil
}

// scan is POST /v1/registries/oci/basic/scan: the definitions that a file has, as a model.Result. Nothing is stored or contacted.
func (h checkHandlers) scan(c *call) (response, error) {
	request, err := h.readScan(c)
	if err != nil {
		auditUID, recordErr := h.checks.Refuse(c.Context(), c.principal, c.origin, checks.RefusalOf(audit.RegistryScan, err))
		setAuditUID(c.w, auditUID)
		return response{}, cmp.Or(recordErr, err)
	}
	result, auditUID, err := h.checks.Scan(c.Context(), c.principal, c.origin, request)
	setAuditUID(c.w, auditUID)
	return response{http.StatusOK, result}, err
}

// readScan reads a file of any type.
func (h checkHandlers) readScan(c *call) (request checks.ScanRequest, err error) {
	if err := findProject(c, h.directory); err != nil {
		return request, err
	}
	query := readQuery(c.URL.RawQuery)
	format, as := query.text("format"), model.Consumer(query.text("as"))
	if format != "" && !slices.Contains(definitions.FormatNames(), format) {
		query.problems = append(query.problems, fault.Field{Field: "format",
			Problem: "must be one of " + strings.Join(definitions.FormatNames(), ", ")})
	}
	if as != "" && !slices.Contains(model.Consumers, as) {
		query.problems = append(query.problems, fault.Field{Field: "as",
			Problem: "must be one of " + strings.Join(model.ConsumerNames(), ", ")})
	}
	if err := cmp.Or(invalid(query.problems), c.checkEncoding()); err != nil {
		return request, err
	}
	request.Name, request.Options = strictjson.Body, model.Options{Format: model.Format(format), As: as}
	if request.File, err = c.readBody(cmp.Or(h.scanBytes, maxBody)); err == nil && len(request.File) == 0 {
		err = fault.InvalidFields(fault.Field{Field: strictjson.Body, Problem: "is required"})
	}
	return request, err
}
