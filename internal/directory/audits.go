package directory

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// Limits of a list of records.
const (
	DefaultAudits = 50
	MaxAudits     = 500
	auditsCounted = 10_000 // lists are counted up to this number, since counting reads all rows
)

// AuditQuery selects records. A zero field matches all.
type AuditQuery struct {
	Org         string // optional for an operator; empty for others
	Action      audit.Action
	Kind        string // of the object, such as "user"
	Change      string // create, update or delete
	Outcome     audit.Outcome
	ActorUID    string
	Object      string
	From, Until time.Time // From is included, Until is not
	Limit       int       // per page; 0 is DefaultAudits
	Continue    string    // AuditPage.Continue of the previous page
	Uncounted   bool      // omits AuditPage.Count
}

// AuditPage is a page of a list, newest record first, without reports.
type AuditPage struct {
	Records  []audit.Record
	Continue string // for the next page; empty if there is none
	Count    int64  // records in the whole list, counted up to 10,000
	Offset   int    // number of records before the next page
	Limit    int
}

// Problems returns all problems of a query.
func (q AuditQuery) Problems() []fault.Field {
	ofKind := func(a audit.Action) bool { return a.Kind() == q.Kind }
	_, errPosition := parsePosition(q.Continue)
	var problems []fault.Field
	for _, rule := range []struct {
		broken         bool
		field, problem string
	}{
		{q.Action != "" && !slices.Contains(audit.Actions, q.Action), "action", fmt.Sprintf("must be one of %s", list(audit.Actions))},
		{q.Kind != "" && !slices.ContainsFunc(audit.Actions, ofKind), "resourceKind", "is not a resource kind of audit records"},
		{!slices.Contains(audit.Changes, q.Change), "actionType", "must be one of create, update, delete"},
		{q.Outcome != "" && !slices.Contains(audit.Outcomes, q.Outcome), "outcome", fmt.Sprintf("must be one of %s", list(audit.Outcomes))},
		{q.Limit < 0 || q.Limit > MaxAudits, "limit", fmt.Sprintf("must be 1–%d", MaxAudits)},
		{errPosition != nil, "continue", "must be the value that the previous page returned"},
	} {
		if rule.broken {
			problems = append(problems, fault.Field{Field: rule.field, Problem: rule.problem})
		}
	}
	return problems
}

// actions returns the actions that match the query's filters, nil for all.
func (q AuditQuery) actions() []audit.Action {
	if q.Action == "" && q.Kind == "" && q.Change == "" {
		return nil
	}
	left := []audit.Action{"none"} // matches nothing, if the filters exclude each other
	for _, a := range audit.Actions {
		if (q.Action == "" || a == q.Action) && (q.Kind == "" || a.Kind() == q.Kind) && (q.Change == "" || a.Change() == q.Change) {
			left = append(left, a)
		}
	}
	return left
}

// Audits lists records of the caller's organization: for administrators all, for others those of their own actions. For
// an operator who names no organization it lists the records of all organizations and those without one.
//
// Faults: Invalid with the fields of Problems; Forbidden; NotFound for an operator's organization.
func (d *Directory) Audits(ctx context.Context, p auth.Principal, q AuditQuery) (AuditPage, error) {
	if problems := q.Problems(); len(problems) > 0 {
		return AuditPage{}, fault.InvalidFields(problems...)
	}
	if !p.Can(auth.ReadAllAudits) {
		if q.ActorUID != "" && q.ActorUID != p.UserUID {
			return AuditPage{}, p.May(auth.ReadAllAudits)
		}
		q.ActorUID = p.UserUID
	}
	var page AuditPage
	err := d.db.View(ctx, func(tx *store.Tx) error {
		filter, err := auditFilter(ctx, tx, p, q)
		if err != nil {
			return err
		}
		page, err = auditPage(ctx, tx, filter, q)
		return err
	})
	return page, fault.Wrap("list audit records", err)
}

func auditFilter(ctx context.Context, tx *store.Tx, p auth.Principal, q AuditQuery) (store.AuditFilter, error) {
	filter := store.AuditFilter{ActorUID: q.ActorUID, Object: q.Object, Outcome: q.Outcome, Actions: q.actions(), From: q.From, Until: q.Until}
	if p.Role == auth.RoleOperator && q.Org == "" && p.OrgUID == "" {
		return filter, nil
	}
	org, err := p.Org(ctx, tx, q.Org)
	filter.OrgUID = org.UID
	return filter, err
}

func auditPage(ctx context.Context, tx *store.Tx, filter store.AuditFilter, q AuditQuery) (AuditPage, error) {
	page := AuditPage{Limit: q.Limit}
	if page.Limit == 0 {
		page.Limit = DefaultAudits
	}
	var err error
	if !q.Uncounted {
		if page.Count, err = tx.Audits.Count(ctx, filter, auditsCounted); err != nil {
			return page, err
		}
	}
	from, err := parsePosition(q.Continue)
	if err != nil {
		return page, err
	}
	if q.Continue != "" {
		filter.Until, filter.BeforeUID = from.at, from.uid
	}
	// The query reads one row more than a page, to find out whether there is a next page.
	page.Records, err = tx.Audits.List(ctx, filter, page.Limit+1)
	more := len(page.Records) > page.Limit
	page.Records = page.Records[:min(len(page.Records), page.Limit)]
	page.Offset = from.offset + len(page.Records)
	if more {
		last := page.Records[len(page.Records)-1]
		page.Continue = position{at: last.At, uid: last.UID, offset: page.Offset}.String()
	}
	return page, err
}

// position is the end of a page. Records are added at the other end, so the next page neither misses nor repeats one.
type position struct {
	at     time.Time
	uid    string
	offset int
}

func (p position) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %d %s", p.at.UnixMilli(), p.offset, p.uid))
}

// parsePosition parses the result of String; the empty text is the zero position.
func parsePosition(text string) (position, error) {
	if text == "" {
		return position{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(raw), " ")
	if err != nil || len(parts) != 3 {
		return position{}, errors.New("not a position")
	}
	at, errAt := strconv.ParseInt(parts[0], 10, 64)
	offset, errOffset := strconv.Atoi(parts[1])
	uid, errUID := uuid.Parse(parts[2])
	if err := errors.Join(errAt, errOffset, errUID); err != nil || offset < 0 {
		return position{}, fmt.Errorf("parse a position: %w", err)
	}
	return position{at: time.UnixMilli(at), uid: uid.String(), offset: offset}, nil
}

// Audit returns one record with its report. Everyone in the organization who knows the uid of a validation's record may
// read it, since users share reports this way. Other records are for administrators and for the actor.
//
// Faults: NotFound, also for records of other organizations.
func (d *Directory) Audit(ctx context.Context, p auth.Principal, uid string) (audit.Record, error) {
	var record audit.Record
	err := d.db.View(ctx, func(tx *store.Tx) (err error) {
		record, err = tx.Audits.Get(ctx, uid)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && !mayReadAudit(p, record) {
		return audit.Record{}, fault.ResourceNotFound("Audit record not found.")
	}
	return record, fault.Wrap("look up an audit record", err)
}

func mayReadAudit(p auth.Principal, record audit.Record) bool {
	switch {
	case p.Role == auth.RoleOperator:
		return true
	case p.OrgUID == "" || record.OrgUID != p.OrgUID:
		return false
	}
	validation := record.Action == audit.RegistryValidate || record.Action == audit.RegistryDiagnose
	return validation || p.Can(auth.ReadAllAudits) || record.ActorUID == p.UserUID
}

// list returns the values of a closed list, separated by commas.
func list[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
