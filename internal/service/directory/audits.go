package directory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// AuditQuery selects records. A zero field matches all.
type AuditQuery struct {
	paging.Request
	Action      audit.Action
	Kind        string // of the object, such as "user"
	Change      string // create, update or delete
	Outcome     audit.Outcome
	ActorUID    string
	Object      string
	From, Until time.Time // From is included, Until is not
}

// Problems returns all problems of a query.
func (q AuditQuery) Problems() []fault.Field {
	ofKind := func(a audit.Action) bool { return a.Kind() == q.Kind }
	var problems []fault.Field
	for _, rule := range []struct {
		broken         bool
		field, problem string
	}{
		{q.Action != "" && !slices.Contains(audit.Actions, q.Action), "action", fmt.Sprintf("must be one of %s", list(audit.Actions))},
		{q.Kind != "" && !slices.ContainsFunc(audit.Actions, ofKind), "resourceKind", "is not a resource kind of audit records"},
		{!slices.Contains(audit.Changes, q.Change), "actionType", "must be one of create, update, delete"},
		{q.Outcome != "" && !slices.Contains(audit.Outcomes, q.Outcome), "outcome", fmt.Sprintf("must be one of %s", list(audit.Outcomes))},
	} {
		if rule.broken {
			problems = append(problems, fault.Field{Field: rule.field, Problem: rule.problem})
		}
	}
	_, err := readCursor(q.Continue)
	return append(problems, q.Request.Problems(err)...)
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

// Audits lists records of the caller's organization: all with access.ReadAllAudits, for others those of their own actions. For
// an operator who names no organization it lists the records of all organizations and those without one. The newest
// record is the first; reports are left out.
//
// Faults: Invalid with the fields of Problems; Forbidden; NotFound for an operator's organization.
func (d *Directory) Audits(ctx context.Context, p auth.Principal, q AuditQuery) (page paging.Page[audit.Record], err error) {
	if problems := q.Problems(); len(problems) > 0 {
		return page, fault.InvalidFields(problems...)
	}
	if !p.Limit.Allows(access.ReadAllAudits, "") {
		return page, p.May(access.ReadAllAudits)
	}
	if !p.Can(access.ReadAllAudits) {
		if q.ActorUID != "" && q.ActorUID != p.UserUID {
			return page, p.May(access.ReadAllAudits)
		}
		q.ActorUID = p.UserUID
	}
	err = d.db.View(ctx, func(tx *store.Tx) error {
		filter, err := auditFilter(ctx, tx, p, q)
		if err != nil {
			return err
		}
		if page, err = auditPage(ctx, tx, filter, q.Request); err != nil {
			return err
		}
		return setObjectNames(ctx, tx, p, page.Items)
	})
	return page, fault.Wrap("list audit records", err)
}

// setObjectNames sets the present names of the objects of records that have one: deleted objects have none, nor those that the caller may
// not read.
func setObjectNames(ctx context.Context, tx *store.Tx, p auth.Principal, records []audit.Record) error {
	names := map[string]string{}
	for i := range records {
		r := &records[i]
		if uuid.Validate(r.Object) != nil || r.OrgUID == "" {
			continue
		}
		name, known := names[r.Object]
		if !known {
			var err error
			if name, err = objectName(ctx, tx, p, *r); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			names[r.Object] = name
		}
		r.ObjectName = name
	}
	return nil
}

// objectName returns the present name of the object of a record. A caller who may read all records may know all names. Another one may have
// lost the right to read the object of an own record, or never had it: a refused request is recorded with any uid.
func objectName(ctx context.Context, tx *store.Tx, p auth.Principal, r audit.Record) (string, error) {
	all := p.Can(access.ReadAllAudits)
	switch r.Action.Kind() {
	case "registry":
		if !all {
			project, err := tx.Projects.OfRegistry(ctx, r.OrgUID, r.Object)
			if err != nil || !p.CanIn(access.ReadRegistries, project) {
				return "", err
			}
		}
		return tx.Registries.Name(ctx, r.OrgUID, r.Object)
	case "user":
		if all || r.Object == p.UserUID || p.Can(access.ReadUsers) {
			user, err := tx.Users.Get(ctx, r.OrgUID, r.Object)
			return user.Email, err
		}
	case "project":
		if !all {
			project, err := projectFor(ctx, tx, p, r.Object)
			return project.Name, err
		}
		project, err := tx.Projects.Get(ctx, r.OrgUID, r.Object)
		return project.Name, err
	case "team":
		if all || p.Can(access.ReadTeams) {
			team, err := tx.Teams.Get(ctx, r.OrgUID, r.Object)
			return team.Name, err
		}
	case "apikey":
		key, err := tx.APIKeys.Get(ctx, r.OrgUID, r.Object)
		if all || key.UserUID == p.UserUID || p.Can(access.ReadAllAPIKeys) {
			return key.Name, err
		}
	}
	return "", nil
}

// RegistryChanges lists the newest changes of registries, and of their health, that Audits lists for the caller: of one registry, or of all
// if uid is empty; with these actions, or with all if there is none. Refused and failed changes are left out.
func (d *Directory) RegistryChanges(ctx context.Context, p auth.Principal, uid string, actions []audit.Action,
	limit int) (list []audit.Record, err error) {
	filter := audits.Filter{OrgUID: p.OrgUID, Object: uid, Actions: actions}
	if !p.Can(access.ReadAllAudits) {
		filter.ActorUID = p.UserUID
	}
	err = d.db.View(ctx, func(tx *store.Tx) (err error) {
		list, err = tx.Audits.RegistryChanges(ctx, filter, limit)
		return err
	})
	return list, fault.Wrap("list changes of registries", err)
}

func auditFilter(ctx context.Context, tx *store.Tx, p auth.Principal, q AuditQuery) (audits.Filter, error) {
	filter := audits.Filter{ActorUID: q.ActorUID, Object: q.Object, Outcome: q.Outcome, Actions: q.actions(),
		From: q.From, Until: q.Until}
	if p.Role == auth.RoleOperator && p.OrgUID == "" {
		return filter, nil
	}
	org, err := p.Org(ctx, tx)
	filter.OrgUID = org.UID
	return filter, err
}

func auditPage(ctx context.Context, tx *store.Tx, filter audits.Filter, r paging.Request) (page paging.Page[audit.Record], err error) {
	count := func(limit int) (int64, error) { return tx.Audits.Count(ctx, filter, limit) }
	from, err := readCursor(r.Continue)
	if err != nil {
		return page, err
	}
	rest := filter
	if r.Continue != "" {
		rest.Until, rest.BeforeUID = from.at, from.uid
	}
	list := func(limit int) ([]audit.Record, error) { return tx.Audits.List(ctx, rest, limit) }
	return paging.Read(r, from.offset, count, list, func(last audit.Record) []string {
		return []string{strconv.FormatInt(last.At.UnixMilli(), 10), last.UID}
	})
}

// cursor is the end of a page. Records are added at the other end, so the next page neither misses nor repeats one.
type cursor struct {
	at     time.Time
	uid    string
	offset int
}

// readCursor parses AuditQuery.Continue. The empty text is the zero cursor.
func readCursor(text string) (cursor, error) {
	offset, position, err := paging.ReadCursor(text)
	if err != nil || text == "" {
		return cursor{}, err
	}
	at, errAt := strconv.ParseInt(position[0], 10, 64)
	uid, errUID := uuid.Parse(position[1])
	return cursor{at: time.UnixMilli(at), uid: uid.String(), offset: offset}, errors.Join(errAt, errUID)
}

// Audit returns one record with its report. Everyone in the organization who knows the uid of a validation's record may
// read it, since users share reports this way. Other records require access.ReadAllAudits, except for the actor.
//
// Faults: NotFound, also for records of other organizations.
func (d *Directory) Audit(ctx context.Context, p auth.Principal, uid string) (audit.Record, error) {
	record, err := store.Read(ctx, d.db, func(tx *store.Tx) (audit.Record, error) {
		found, err := tx.Audits.Get(ctx, uid)
		if err != nil {
			return found, err
		}
		named := []audit.Record{found}
		err = setObjectNames(ctx, tx, p, named)
		return named[0], err
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
	case p.OrgUID == "" || record.OrgUID != p.OrgUID, !p.Limit.Allows(access.ReadAllAudits, ""):
		return false
	}
	validation := record.Action == audit.RegistryValidate || record.Action == audit.RegistryDiagnose
	return validation || p.Can(access.ReadAllAudits) || record.ActorUID == p.UserUID
}

// list returns the values of a closed list, separated by commas.
func list[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
