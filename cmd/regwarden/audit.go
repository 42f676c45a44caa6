package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/directory"
)

func newAudit() *cobra.Command {
	var query directory.AuditQuery
	var action, outcome string
	var since time.Duration
	list := adminCommand("list", "List audit records, the newest first", noArgs, true, func(a *admin, _ []string) error {
		query.Action, query.Outcome = audit.Action(action), audit.Outcome(outcome)
		if since > 0 {
			query.From = time.Now().Add(-since)
		}
		page, err := a.directory.Audits(a.ctx, a.operator, query)
		if err != nil {
			return err
		}
		rows := make([][]any, len(page.Events))
		for i, e := range page.Events {
			rows[i] = []any{e.At, string(e.Action), string(e.Outcome), e.Reason, e.ActorName, e.Object, e.Target, e.Origin.Address, e.UID}
		}
		return a.table([]string{"at", "action", "outcome", "reason", "actor", "object", "target", "address", "uid"}, rows)
	})
	list.Flags().StringVar(&query.Org, "org", "", "organization, by name; without it, records of all and of none")
	list.Flags().StringVar(&action, "action", "", "such as auth.login or registry.validate")
	list.Flags().StringVar(&outcome, "outcome", "", "started, succeeded, refused, failed, valid or notValid")
	durationVar(list.Flags(), &since, "since", 0, time.Second, longest, "all", "maximum age of the records, such as 12h or 30d; 0s means all")
	numberVar(list.Flags(), &query.Limit, "limit", directory.DefaultAudits, 1, directory.MaxAudits, "maximum number of records")
	return group("audit", "Read the audit log", list)
}
