package cli

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/service/auditchain"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// newAuditVerify returns the command that verifies the audit records of a store. It needs the key of the store, and does not trust a
// server.
func newAuditVerify() *cobra.Command {
	var output, noted string
	cmd := adminCommand("verify", "Verify that no audit record was changed", command.NoArgs, func(a *admin, _ []string) error {
		hash, err := parseHash(noted)
		if err != nil {
			return err
		}
		result, err := auditchain.Verify(a.ctx, a.db, hash)
		if err != nil {
			return err
		}
		name, err := a.orgName(result.First.OrgUID)
		if err != nil {
			return err
		}
		if command.IsStructured(output) {
			err = command.PrintStructured(a.cmd, output, verificationOf(result, name))
		} else {
			printVerification(a.cmd.OutOrStdout(), result, name)
		}
		if err == nil && result.Problems > 0 {
			err = command.ErrNotValid
		}
		return err
	})
	cmd.Flags().StringVar(&noted, "newest-hash", "", "newest hash of an earlier verification, which the chain must still have")
	command.OutputFlag(cmd, &output)
	return cmd
}

func parseHash(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	hash, err := hex.DecodeString(text)
	if err != nil || len(hash) != 32 {
		return nil, command.AsUsage(errors.New("--newest-hash must be 64 hexadecimal digits"))
	}
	return hash, nil
}

// orgName returns the name of an organization, empty if it was deleted.
func (a *admin) orgName(uid string) (string, error) {
	org, err := store.Read(a.ctx, a.db, func(tx *store.Tx) (store.Org, error) { return tx.Orgs.Get(a.ctx, uid) })
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return org.Name, err
}

// verification is a result as JSON.
type verification struct {
	Valid         bool         `json:"valid"`
	Records       int64        `json:"records"`
	Unlinked      int64        `json:"unlinked"`
	Before        int64        `json:"before"`
	Organizations int          `json:"organizations"`
	Batches       int64        `json:"batches"`
	BeganAt       *time.Time   `json:"beganAt"`
	NewestBatch   int64        `json:"newestBatch"`
	NewestHash    string       `json:"newestHash"`
	Problems      int64        `json:"problems"`
	First         *firstByTime `json:"first"`
}

type firstByTime struct {
	Kind            string `json:"kind"`
	UID             any    `json:"uid"`
	Organization    any    `json:"organization"`
	OrganizationUID any    `json:"organizationUid"`
	At              any    `json:"at"`
	Batch           int64  `json:"batch"`
}

func verificationOf(r auditchain.Result, org string) verification {
	v := verification{Valid: r.Problems == 0, Records: r.Records, Unlinked: r.Unlinked, Before: r.Before, Organizations: r.Orgs,
		Batches: r.Batches, NewestBatch: r.Newest.Number, NewestHash: auditchain.Hex(r.Newest.Hash), Problems: r.Problems}
	if !r.BeganAt.IsZero() {
		v.BeganAt = &r.BeganAt
	}
	if p := r.First; r.Problems > 0 {
		v.First = &firstByTime{p.Kind, command.JSONValue(p.RecordUID), command.JSONValue(org), command.JSONValue(p.OrgUID),
			command.JSONValue(p.At), p.Batch}
	}
	return v
}

func printVerification(out io.Writer, r auditchain.Result, org string) {
	fmt.Fprintf(out, "%s the chain: %s, %s.\n", counted(r.Records, "audit record fits", "audit records fit"),
		counted(int64(r.Orgs), "organization", "organizations"), counted(r.Batches, "batch", "batches"))
	if r.Unlinked > 0 {
		fmt.Fprintf(out, "%s not linked yet.\n", counted(r.Unlinked, "record is", "records are"))
	}
	if r.Before > 0 {
		fmt.Fprintf(out, "%s from before the chain, which begins at %s: changes of them are not found.\n",
			counted(r.Before, "record is", "records are"), r.BeganAt.Format(time.RFC3339))
	}
	if r.Problems > 0 {
		fmt.Fprintf(out, "%s. The first: %s\n", counted(r.Problems, "problem", "problems"), describeProblem(r.First, org))
	}
	if r.Newest.Number > 0 {
		fmt.Fprintf(out, "Newest hash: %s (batch %d, %s)\n",
			auditchain.Hex(r.Newest.Hash), r.Newest.Number, r.Newest.LinkedAt.Format(time.RFC3339))
	}
}

func counted(n int64, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func describeProblem(p auditchain.Problem, org string) string {
	of := "no organization"
	if p.OrgUID != "" {
		of = fmt.Sprintf("the organization %s %s", p.OrgUID, org)
	}
	at := p.At.Format(time.RFC3339)
	switch p.Kind {
	case auditchain.RecordChanged:
		return fmt.Sprintf("the record %s of %s at %s was changed.", p.RecordUID, of, at)
	case auditchain.RecordDeleted:
		return fmt.Sprintf("the record %s of %s at %s was deleted.", p.RecordUID, of, at)
	case auditchain.RecordAdded:
		return fmt.Sprintf("the record %s of %s at %s is not in the chain.", p.RecordUID, of, at)
	case auditchain.BatchChanged:
		return fmt.Sprintf("batch %d of %s, linked at %s, was changed.", p.Batch, of, at)
	case auditchain.BatchDeleted:
		return fmt.Sprintf("batches before batch %d of %s, linked at %s, were deleted.", p.Batch, of, at)
	case auditchain.HashNotFound:
		return "no batch has the given hash: the end of the chain was cut off, a backup was restored, or the retention time deleted " +
			"the batch."
	case auditchain.NotBegun:
		return "there is no chain. Start a server of this version."
	default:
		return "the row that says when the chain began was changed or deleted."
	}
}
