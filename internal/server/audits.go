package server

import (
	"cmp"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/fault"
)

// listAudits is GET /v1/audits.
func (s *Server) listAudits(c *call) (response, error) {
	query, problems := auditQuery(c.URL.RawQuery, c.principal)
	if err := invalid(fault.Join(problems, query.Problems())); err != nil {
		return response{}, err
	}
	meta := api.ListMeta{Limit: cmp.Or(query.Limit, directory.DefaultAudits)}
	return response{http.StatusOK, items[audit.Event]{
		read: limitedPages(meta.Limit, recordsPage, func(limit int, _ audit.Event) ([]audit.Event, bool, error) {
			query.Limit = limit
			page, err := s.Directory.Audits(c.Context(), c.principal, query)
			if !query.Uncounted {
				meta.Count = page.Count
			}
			meta.Continue, meta.Offset = page.Continue, page.Offset
			query.Continue, query.Uncounted = page.Continue, true
			return page.Events, page.Continue != "", err
		}),
		show: func(e audit.Event) any { return auditRecord(e) },
		tail: func() any { return listTail{ListMeta: meta} },
	}}, nil
}

// auditQuery reads the filters. A filter of public clients that is not supported is refused: the client would take the
// longer list for the filtered one.
func auditQuery(raw string, p auth.Principal) (directory.AuditQuery, []fault.Field) {
	q := readQuery(raw)
	query := directory.AuditQuery{
		Action: audit.Action(q.text("action")), Kind: q.text("resourceKind"), Change: q.text("actionType"),
		Outcome: audit.Outcome(q.text("outcome")), ActorUID: q.text("userUid"), Object: q.text("resourceUid"),
		From: q.moment("startTime"), Until: q.moment("endTime"), Continue: q.text("continue"), Limit: q.limit(),
	}
	if tenant := q.text("tenantUid"); tenant != "" && tenant != p.OrgUID {
		q.problems = append(q.problems, fault.Field{Field: "tenantUid", Problem: "is not your organization"})
	}
	if q.text("projectUid") != "" {
		q.problems = append(q.problems, fault.Field{Field: "projectUid", Problem: "is not supported; records belong to the organization"})
	}
	return query, q.problems
}

// getAudit is GET /v1/audits/{uid}.
func (s *Server) getAudit(c *call) (response, error) {
	event, err := s.Directory.Audit(c.Context(), c.principal, c.PathValue("uid"))
	return response{http.StatusOK, auditRecord(event)}, err
}

func auditRecord(e audit.Event) api.Audit {
	actor := "user"
	if e.Method == audit.MethodCLI {
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
			Outcome:  string(e.Outcome), Reason: e.Reason, Means: string(e.Method),
			Address: e.Origin.Address, RequestID: e.Origin.RequestID, Repeats: e.Repeats, Report: e.Report,
		},
	}
}
