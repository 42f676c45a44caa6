package client

import (
	"context"
	"iter"
	"time"

	"github.com/regwarden/regwarden/api"
)

// Audits has the operations on audit records.
type Audits struct{ c *Client }

// AuditFilter selects audit records. Empty fields select all.
type AuditFilter struct {
	Action       string // such as auth.login
	ActionType   string // create, update or delete
	Outcome      string // started, succeeded, refused, failed, valid or notValid
	ResourceKind string
	ResourceUID  string
	UserUID      string    // who acted
	From, Until  time.Time // Until is excluded
	PageSize     int       // records per request, at most 500; 0 means 500
}

// List returns audit records, the newest first.
func (a Audits) List(ctx context.Context, filter AuditFilter) iter.Seq2[api.Audit, error] {
	start := request{path: api.PathAudits, query: query("action", filter.Action, "actionType", filter.ActionType, "outcome", filter.Outcome,
		"resourceKind", filter.ResourceKind, "resourceUid", filter.ResourceUID, "userUid", filter.UserUID,
		"startTime", timeText(filter.From), "endTime", timeText(filter.Until), "limit", pageSize(filter.PageSize))}
	return pages(ctx, a.c, start, func(page *api.Audits) ([]api.Audit, string) { return page.Items, page.ListMeta.Continue })
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

// Get returns an audit record, with the report if it is of a validation.
func (a Audits) Get(ctx context.Context, uid string) (*api.Audit, error) {
	return fetch[api.Audit](ctx, a.c, request{path: api.PathAudit, args: []string{uid}})
}
