package server

import (
	"net/http"
	"strconv"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/fault"
)

// listAudits is GET /v1/audits.
func (s *Server) listAudits(c *call) (answer, error) {
	query, problems := auditQuery(c.URL.RawQuery, c.principal)
	if err := invalid(fault.Join(problems, query.Problems())); err != nil {
		return answer{}, err
	}
	page, err := s.Directory.Audits(c.Context(), c.principal, query)
	items := make([]api.Audit, len(page.Events))
	for i, event := range page.Events {
		items[i] = auditRecord(event)
	}
	meta := api.ListMeta{Continue: page.Continue, Count: page.Count, Limit: page.Limit, Offset: page.Offset}
	return answer{http.StatusOK, api.Audits{Items: items, ListMeta: meta}}, err
}

// auditQuery reads the filters. One that public clients have and we cannot keep is refused: a list that is
// longer than what was asked for would be taken for the answer.
func auditQuery(raw string, p auth.Principal) (directory.AuditQuery, []fault.Field) {
	q := readQuery(raw)
	asked := directory.AuditQuery{
		Action: audit.Action(q.text("action")), Kind: q.text("resourceKind"), Change: q.text("actionType"),
		Outcome: audit.Outcome(q.text("outcome")), ActorUID: q.text("userUid"), Object: q.text("resourceUid"),
		From: q.moment("startTime"), Until: q.moment("endTime"), Continue: q.text("continue"),
	}
	if limit := q.text("limit"); limit != "" {
		n, err := strconv.Atoi(limit)
		if asked.Limit = n; err != nil || n == 0 {
			asked.Limit = -1 // told as a problem of the query
		}
	}
	if tenant := q.text("tenantUid"); tenant != "" && tenant != p.OrgUID {
		q.problems = append(q.problems, fault.Field{Field: "tenantUid", Problem: "is not your organization"})
	}
	if q.text("projectUid") != "" {
		q.problems = append(q.problems, fault.Field{Field: "projectUid", Problem: "is no filter here: records are the organization's"})
	}
	return asked, q.problems
}

// getAudit is GET /v1/audits/{uid}.
func (s *Server) getAudit(c *call) (answer, error) {
	event, err := s.Directory.Audit(c.Context(), c.principal, c.PathValue("uid"))
	return answer{http.StatusOK, auditRecord(event)}, err
}

func auditRecord(e audit.Event) api.Audit {
	actor := "user"
	if e.Means == auth.MeansCLI {
		actor = "system"
	}
	message := string(e.Action) + " " + string(e.Outcome)
	if e.Reason != "" {
		message += ": " + e.Reason
	}
	return api.Audit{
		Metadata: api.Metadata{UID: e.UID, Name: string(e.Action), CreationTimestamp: e.At},
		Spec: api.AuditSpec{
			Action: string(e.Action), ActionType: e.Action.Change(), ActionMsg: message,
			Actor:    api.AuditActor{ActorType: actor, User: api.AuditUser{UID: e.ActorUID, EmailID: e.ActorName}},
			Resource: api.AuditResource{Kind: e.Action.Kind(), UID: e.Object, Target: e.Target},
			Outcome:  string(e.Outcome), Reason: e.Reason, Means: e.Means,
			Address: e.Origin.Address, RequestID: e.Origin.RequestID, Repeats: e.Repeats, Report: e.Report,
		},
	}
}
