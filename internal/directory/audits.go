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

// Bounds of a list of records.
const (
	DefaultAudits = 50
	MaxAudits     = 500
	auditsCounted = 10_000 // no list is counted further: that would read all of it
)

// AuditQuery asks for records. A zero field lets all through.
type AuditQuery struct {
	Org         string // an operator may name an organization; others leave it empty
	Action      audit.Action
	Kind        string // of thing, such as "user"
	Change      string // create, update or delete
	Outcome     audit.Outcome
	ActorUID    string
	Object      string
	From, Until time.Time // at or after From, before Until
	Limit       int       // of one page; 0 is DefaultAudits
	Continue    string    // of the page before
	Uncounted   bool      // leaves AuditPage.Count out
}

// AuditPage is a part of a list, the newest record first and reports left out.
type AuditPage struct {
	Events   []audit.Event
	Continue string // asks for the next page; empty: there is none
	Count    int64  // how many records the whole list has, counted up to 10,000
	Offset   int    // how many come before the next page
	Limit    int
}

// Problems returns everything that is wrong with a query.
func (q AuditQuery) Problems() []fault.Field {
	ofKind := func(a audit.Action) bool { return a.Kind() == q.Kind }
	_, errPlace := readPlace(q.Continue)
	var problems []fault.Field
	for _, rule := range []struct {
		broken         bool
		field, problem string
	}{
		{q.Action != "" && !slices.Contains(audit.Actions, q.Action), "action", fmt.Sprintf("must be one of %s", list(audit.Actions))},
		{q.Kind != "" && !slices.ContainsFunc(audit.Actions, ofKind), "resourceKind", "is no kind of thing that records are about"},
		{!slices.Contains(audit.Changes, q.Change), "actionType", "is not create, update or delete"},
		{q.Outcome != "" && !slices.Contains(audit.Outcomes, q.Outcome), "outcome", fmt.Sprintf("must be one of %s", list(audit.Outcomes))},
		{q.Limit < 0 || q.Limit > MaxAudits, "limit", fmt.Sprintf("must be 1–%d", MaxAudits)},
		{errPlace != nil, "continue", "is not what a list answered"},
	} {
		if rule.broken {
			problems = append(problems, fault.Field{Field: rule.field, Problem: rule.problem})
		}
	}
	return problems
}

// actions are those that the query's filters leave, nil for all.
func (q AuditQuery) actions() []audit.Action {
	if q.Action == "" && q.Kind == "" && q.Change == "" {
		return nil
	}
	left := []audit.Action{"none"} // so that filters that exclude each other find nothing
	for _, a := range audit.Actions {
		if (q.Action == "" || a == q.Action) && (q.Kind == "" || a.Kind() == q.Kind) && (q.Change == "" || a.Change() == q.Change) {
			left = append(left, a)
		}
	}
	return left
}

// Audits lists records of the caller's organization: to administrators all, to others those of what they
// did themselves. An operator who names no organization sees those of all and of none.
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
	if p.Role == auth.RoleOperator && q.Org == "" {
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
	from, err := readPlace(q.Continue)
	if err != nil {
		return page, err
	}
	if q.Continue != "" {
		filter.Until, filter.BeforeUID = from.at, from.uid
	}
	// One more than the page has tells whether there is a next one.
	page.Events, err = tx.Audits.List(ctx, filter, page.Limit+1)
	more := len(page.Events) > page.Limit
	page.Events = page.Events[:min(len(page.Events), page.Limit)]
	page.Offset = from.offset + len(page.Events)
	if more {
		last := page.Events[len(page.Events)-1]
		page.Continue = place{at: last.At, uid: last.UID, offset: page.Offset}.String()
	}
	return page, err
}

// place is where a page ended. Records are added at the other end, so none is missed or comes twice.
type place struct {
	at     time.Time
	uid    string
	offset int
}

func (p place) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %d %s", p.at.UnixMilli(), p.offset, p.uid))
}

// readPlace reads what String wrote; the empty text is the zero place.
func readPlace(text string) (place, error) {
	if text == "" {
		return place{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(raw), " ")
	if err != nil || len(parts) != 3 {
		return place{}, errors.New("not of the form of a place")
	}
	at, errAt := strconv.ParseInt(parts[0], 10, 64)
	offset, errOffset := strconv.Atoi(parts[1])
	uid, errUID := uuid.Parse(parts[2])
	if err := errors.Join(errAt, errOffset, errUID); err != nil || offset < 0 {
		return place{}, fmt.Errorf("parts of a place: %w", err)
	}
	return place{at: time.UnixMilli(at), uid: uid.String(), offset: offset}, nil
}

// Audit returns one record whole. A validation's is for everyone in its organization who has its uid:
// that is how a report is handed on. Others are for administrators and for who acted.
//
// Faults: NotFound, for records of other organizations too.
func (d *Directory) Audit(ctx context.Context, p auth.Principal, uid string) (audit.Event, error) {
	var event audit.Event
	err := d.db.View(ctx, func(tx *store.Tx) (err error) {
		event, err = tx.Audits.Get(ctx, uid)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && !seesAudit(p, event) {
		return audit.Event{}, fault.ResourceNotFound("There is no such audit record.")
	}
	return event, fault.Wrap("look up an audit record", err)
}

func seesAudit(p auth.Principal, e audit.Event) bool {
	switch {
	case p.Role == auth.RoleOperator:
		return true
	case p.OrgUID == "" || e.OrgUID != p.OrgUID:
		return false
	}
	validation := e.Action == audit.RegistryValidate || e.Action == audit.RegistryDiagnose
	return validation || p.Can(auth.ReadAllAudits) || e.ActorUID == p.UserUID
}

// list writes the values of a closed list with commas between them.
func list[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
