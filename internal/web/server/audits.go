package server

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/reports"
)

// auditHandlers handles the routes of audit records.
type auditHandlers struct{ directory *directory.Directory }

// listAudits is GET /v1/audits.
func (h auditHandlers) listAudits(c *call) (response, error) {
	query, problems := auditQuery(c.URL.RawQuery, c.principal)
	if err := fault.InvalidIfAny(fault.Join(problems, query.Problems())); err != nil {
		return response{}, err
	}
	return response{http.StatusOK, countedList(&query.Request, listTail{}, func() (paging.Page[audit.Record], error) {
		return h.directory.Audits(c.Context(), c.principal, query)
	}, func(record audit.Record) any { return auditRecord(record) })}, nil
}

// auditQuery reads the filters. A filter of public clients that is not supported is refused: the client would take the
// longer list for the filtered one.
func auditQuery(raw string, p auth.Principal) (directory.AuditQuery, []fault.Field) {
	q := readQuery(raw)
	query := directory.AuditQuery{
		Action: audit.Action(q.text("action")), Kind: q.text("resourceKind"), Change: q.text("actionType"),
		Outcome: audit.Outcome(q.text("outcome")), ActorUID: q.text("userUid"), Object: q.text("resourceUid"),
		From: q.moment("startTime"), Until: q.moment("endTime"), Request: q.page(),
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
func (h auditHandlers) getAudit(c *call) (response, error) {
	record, err := h.directory.Audit(c.Context(), c.principal, c.PathValue("uid"))
	return response{http.StatusOK, auditRecord(record)}, err
}

func auditRecord(record audit.Record) api.Audit {
	actor := "user"
	if record.Method == audit.MethodCLI {
		actor = "system"
	}
	message, reason, changed := string(record.Action)+" "+string(record.Outcome), record.Reason, record.Changed()
	if changed != nil {
		reason = ""
	}
	if text := cmp.Or(reason, strings.Join(changed, ", ")); text != "" {
		message += ": " + text
	}
	return api.Audit{
		Metadata: api.Metadata{UID: record.UID, Name: string(record.Action), CreationTimestamp: record.At},
		Spec: api.AuditSpec{
			Action: string(record.Action), ActionType: record.Action.Change(), ActionMsg: message,
			Actor:    api.AuditActor{ActorType: actor, User: api.AuditUser{UID: record.ActorUID, EmailID: record.ActorName}},
			Resource: api.AuditResource{Kind: record.Action.Kind(), UID: record.Object, Target: record.Target, Name: record.ObjectName},
			Outcome:  string(record.Outcome), Reason: reason, Changed: changed, Means: string(record.Method),
			Address: record.Origin.Address, RequestID: record.Origin.RequestID, Repeats: record.Repeats,
			Report: reports.Public(record.Report),
		},
	}
}
