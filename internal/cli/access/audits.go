package access

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/regcheck"
)

// Number of audit records in a list.
const (
	defaultRecords = 50
	maxRecords     = 10_000
)

// Audit returns the commands for audit records.
func (p Commands) Audit() *cobra.Command {
	show := p.Command("show UID", "Show an audit record, and the report of a check", command.OneArg,
		func(c *manage.Call, args []string) error {
			record, err := c.Client.Audits.Get(c.Ctx, args[0])
			if err != nil {
				return err
			}
			return showAudit(c, record)
		}, manage.Lists, manage.InAnyOrg)
	return command.Group("audit", "Read the audit log", p.listAudits(), show)
}

func (p Commands) listAudits() *cobra.Command {
	var filter client.AuditFilter
	var actor string
	var since time.Duration
	cmd := p.Command("list", "List audit records, newest first", command.NoArgs, func(c *manage.Call, _ []string) (err error) {
		if filter.UserUID, err = userUID(c, actor); err != nil {
			return err
		}
		if since > 0 {
			filter.From = time.Now().Add(-since)
		}
		rows := [][]any{}
		for record, err := range c.Client.Audits.List(c.Ctx, filter) {
			if err != nil {
				return err
			}
			if rows = append(rows, auditRow(record)); len(rows) == filter.PageSize {
				break
			}
		}
		return c.Output.Table(output.Columns("uid+", "at", "action", "outcome", "actor", "reason", "object+", "target+", "address+",
			"repeats+"), rows)
	}, manage.Lists, manage.InAnyOrg)
	cmd.Flags().StringVar(&filter.Action, "action", "", "action of the records, such as auth.login or registry.validate (default: all)")
	cmd.Flags().StringVar(&filter.Outcome, "outcome", "", "outcome of the records: started, succeeded, refused, failed, valid, "+
		"notValid or unknown (default: all)")
	cmd.Flags().StringVar(&actor, "actor", "", "email or uid of the user who acted; for a deleted user its uid (default: all)")
	flagvalue.Duration(cmd.Flags(), &since, "since", 0, time.Second, flagvalue.Longest, "all",
		"maximum age of the records, such as 12h or 30d; 0s means all")
	flagvalue.Number(cmd.Flags(), &filter.PageSize, "limit", defaultRecords, 1, maxRecords, "maximum number of records")
	p.CompleteEmail(cmd, "actor")
	return cmd
}

// userUID returns the uid of a user that is given by email or uid; "" is no user.
func userUID(c *manage.Call, user string) (string, error) {
	if user == "" || manage.IsUID(user) {
		return user, nil
	}
	found, err := c.Client.Users.Get(c.Ctx, user)
	if err != nil {
		return "", err
	}
	return found.Metadata.UID, nil
}

func auditRow(record api.Audit) []any {
	r := record.Spec
	return []any{record.Metadata.UID, record.Metadata.CreationTimestamp, r.Action, r.Outcome, r.Actor.User.EmailID,
		cmp.Or(r.Reason, strings.Join(r.Changed, ", ")), r.Resource.UID, r.Resource.Target, r.Address, r.Repeats}
}

// showAudit prints a record with its report, which people see like that of a check.
func showAudit(c *manage.Call, record *api.Audit) error {
	r := record.Spec
	err := c.Output.Record(
		output.Columns("uid", "at", "action", "outcome", "actor", "reason", "object", "target", "address", "repeats", "actorUid", "kind",
			"means", "requestId", "report"),
		append(auditRow(*record), r.Actor.User.UID, r.Resource.Kind, r.Means, r.RequestID, r.Report))
	if err != nil || r.Report == nil || c.Output.Format != "text" && c.Output.Format != "wide" {
		return err
	}
	report := new(regcheck.Report)
	if err := json.Unmarshal(r.Report, report); err != nil {
		return fmt.Errorf("read the report: %w", err)
	}
	printer := command.PrinterTo(c.Cmd.OutOrStdout(), false)
	fmt.Fprintln(printer.W)
	return printer.Print(report)
}
