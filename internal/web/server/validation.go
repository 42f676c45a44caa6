package server

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/internal/web/metrics"
	"github.com/regwarden/regwarden/regcheck"
)

// checkHandlers handles the routes of checks of what a request sends, as a registry of one kind, and of scans.
type checkHandlers struct {
	registryKind
	checks    *checks.Service
	directory *directory.Directory
	metrics   *metrics.Metrics
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
func (h checkHandlers) check(c *call, action audit.Action) (report *regcheck.Report, err error) {
	auditUID := c.origin.AuditUID // if the engine panics
	defer func() { setAuditUID(c.w, auditUID) }()
	request, err := h.readCheck(c)
	if request.Action = action; err != nil {
		auditUID, err = h.refuse(c, action, err)
	} else {
		report, auditUID, err = h.checks.Validate(c.Context(), c.principal, c.origin, request)
	}
	h.metrics.Validation(report, err)
	return h.report(report), h.err(h.names, err)
}

// refuse records the error of a request that cannot be read, and returns it unless that fails.
func (h checkHandlers) refuse(c *call, action audit.Action, err error) (auditUID string, _ error) {
	auditUID, recordErr := h.checks.Refuse(c.Context(), c.principal, c.origin, checks.RefusalOf(action, err))
	return auditUID, cmp.Or(recordErr, err)
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
	var wrong []fault.Field
	request.Definition, wrong, err = h.spec(c, body)
	request.Undecoded = h.names.Domain(wrong)
	return request, err
}

// scan is POST /v1/registries/oci/basic/scan: the definitions that a file has, as a model.Result. Nothing is stored or contacted.
func (h checkHandlers) scan(c *call) (response, error) {
	request, err := h.readScan(c)
	if err != nil {
		auditUID, err := h.refuse(c, audit.RegistryScan, err)
		setAuditUID(c.w, auditUID)
		return response{}, err
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
	if err := cmp.Or(fault.InvalidIfAny(query.problems), c.checkEncoding()); err != nil {
		return request, err
	}
	request.Name, request.Options = strictjson.Body, model.Options{Format: model.Format(format), As: as}
	if request.File, err = c.readBody(cmp.Or(h.scanBytes, maxBody)); err == nil && len(request.File) == 0 {
		err = fault.InvalidField(strictjson.Body, "is required")
	}
	return request, err
}
