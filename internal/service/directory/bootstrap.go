package directory

import (
	"context"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// CodeNotEmpty is the code of a bootstrap on a store that has an organization.
const CodeNotEmpty = "StoreNotEmpty"

// Bootstrap creates the first organization with its default project and administrator in one transaction. Of concurrent
// calls one succeeds.
//
// Faults: Invalid with fields org, emailId, password; Conflict with CodeNotEmpty.
func (d *Directory) Bootstrap(ctx context.Context, origin audit.Origin, org, email string, password secret.String) error {
	input := NewUser{Email: email, Password: password, Role: auth.RoleAdmin}
	problems := append(fault.FieldProblem("org", names.NameProblem(org)), d.UserProblems(auth.Principal{OrgName: org}, input)...)
	if len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	hash, err := d.passwords.Hash(ctx, "", password)
	if err != nil {
		return err
	}
	err = d.db.InTx(ctx, func(tx *store.Tx) error { return d.bootstrap(ctx, tx, origin, org, input, hash) })
	return fault.Wrap("create the first organization", err)
}

func (d *Directory) bootstrap(ctx context.Context, tx *store.Tx, origin audit.Origin, name string, input NewUser, hash string) error {
	if err := tx.Orgs.First(ctx); err != nil {
		return auth.ExistsAs(err, CodeNotEmpty, "The store already has an organization.")
	}
	now := d.now()
	org, project, err := insertOrg(ctx, tx, name, now)
	if err != nil {
		return err
	}
	admin := newUser(org.UID, input, hash, now)
	if err := insertUser(ctx, tx, admin, NewUser{}); err != nil {
		return err
	}
	for action, uid := range map[audit.Action]string{audit.OrgCreate: org.UID, audit.ProjectCreate: project.UID,
		audit.UserCreate: admin.UID} {
		record := auth.Operator().AuditRecord(origin, action)
		record.UID, record.At, record.OrgUID, record.Object, record.Outcome = audit.NewUID(), now, org.UID, uid, audit.Succeeded
		if err := tx.Audits.Append(ctx, record); err != nil {
			return err
		}
	}
	return nil
}
