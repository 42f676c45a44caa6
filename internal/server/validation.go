package server

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/registries"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/regcheck"
)

// validate is POST /v1/registries/oci/basic/validate: nothing for a valid definition, else the
// report as an error.
func (s *Server) validate(c *call) (answer, error) {
	report, err := s.check(c, registries.Validate)
	if err != nil {
		return answer{}, err
	}
	if !report.Valid {
		return answer{}, notValid{report}
	}
	return answer{status: http.StatusNoContent}, nil
}

// diagnose is POST /v1/registries/oci/basic/diagnose: the same check, the report as the answer.
func (s *Server) diagnose(c *call) (answer, error) {
	report, err := s.check(c, registries.Diagnose)
	return answer{http.StatusOK, report}, err
}

func (s *Server) check(c *call, purpose registries.Purpose) (*regcheck.Report, error) {
	definition, err := s.decodeDefinition(c)
	if err != nil {
		s.Metrics.validation(nil, err)
		return nil, err
	}
	report, err := s.Registries.Check(c.Context(), c.principal, c.origin, registries.Request{
		AuditUID: c.auditUID, Purpose: purpose, Definition: definition, Begun: func() { c.recorded = true },
	})
	s.Metrics.validation(report, err)
	return report, err
}

// decodeDefinition reports wrong types and contradictions together, and notes unknown fields. What a stored registry
// is to add has been added.
func (s *Server) decodeDefinition(c *call) (regcheck.Definition, error) {
	var sent api.OCIRegistryDefinition
	body, err := c.body()
	if err != nil {
		return sent.Definition, err
	}
	wrong, err := strictjson.Decode(body, &sent)
	if err != nil {
		return sent.Definition, err
	}
	sent.NoteUnknown(strictjson.Unknown(body, new(api.OCIRegistryRequestSpec)))
	complete, problems, err := s.Registries.Complete(c.Context(), c.principal,
		registries.Sent{Definition: sent.Definition, RegistryUID: sent.RegistryUID, Scope: sent.Scope})
	if err != nil {
		return sent.Definition, err
	}
	return complete, invalid(fault.Join(wrong, problems))
}
