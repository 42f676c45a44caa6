package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/command"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/flagvalue"
	"github.com/regwarden/regwarden/internal/registries"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/watch"
	"github.com/regwarden/regwarden/regcheck"
)

func newRegistry() *cobra.Command {
	var org string
	list := adminCommand("list --org ORG", "List stored registries with their health status", command.NoArgs, true, func(a *admin, _ []string) error {
		return listRegistries(a, org)
	})
	show := adminCommand("show NAME --org ORG", "Show a stored registry with masked secrets and its status", command.OneArg, true, func(a *admin, args []string) error {
		return showRegistry(a, org, args[0])
	})
	limit := 0
	history := adminCommand("history NAME --org ORG", "List the status history of a stored registry, newest first", command.OneArg, true, func(a *admin, args []string) error {
		return registryHistory(a, org, args[0], limit)
	})
	flagvalue.Number(history.Flags(), &limit, "limit", 20, 0, 200, "maximum number of entries, 1–200; 0 means all")
	check := newRegistryCheck(&org)
	orgFlag(&org, list, show, history, check)
	for _, cmd := range []*cobra.Command{show, history, check} {
		cmd.ValidArgsFunction = completeFirst(registryNames)
	}
	registry := command.Group("registry", "Show and check stored registry definitions", list, show, check, history)
	return registry
}

// find looks a stored registry up.
func (a *admin) find(org, name string) (registries.Registry, error) {
	return registries.New(a.db, registries.Limits{}, time.Now).Find(a.ctx, a.operator, org, name)
}

// watch returns the service with the health of stored registries. It has no engine, since servers run the checks.
func (a *admin) watch() *watch.Service {
	return watch.New(a.db, registries.New(a.db, registries.Limits{}, time.Now), nil, time.Now)
}

func listRegistries(a *admin, org string) error {
	list, err := a.watch().Summaries(a.ctx, a.operator, org)
	if err != nil {
		return err
	}
	rows := make([][]any, len(list))
	for i, r := range list {
		state := store.HealthResult{Valid: r.Valid, Code: r.Code}
		rows[i] = []any{r.UID, r.Name, r.ProviderType, r.Endpoint, healthText(state, r.Since), r.Since, r.LastAt, string(r.Sync)}
	}
	return a.table([]string{"uid", "name", "type", "endpoint", "state", "since", "checked", "sync"}, rows)
}

// healthText returns a health status as one word, empty if since is zero because no check has counted.
func healthText(v store.HealthResult, since time.Time) string {
	switch {
	case since.IsZero():
		return ""
	case v.Valid:
		return "valid"
	default:
		return v.Code
	}
}

func registryHistory(a *admin, org, name string, limit int) error {
	found, err := a.find(org, name)
	if err != nil {
		return err
	}
	_, runs, err := a.watch().History(a.ctx, a.operator, org, found.UID, limit, watch.HistoryEntry{})
	if err != nil {
		return err
	}
	rows := make([][]any, len(runs))
	for i, r := range runs {
		v := r.Result
		rows[i] = []any{r.Since, r.LastAt, r.Checks, healthText(v, r.Since), v.Stage, v.Reason, v.Field, r.Counted}
	}
	return a.table([]string{"since", "last", "checks", "verdict", "stage", "reason", "field", "counted"}, rows)
}

// newRegistryCheck returns the command that requests a check by a server. The result becomes the health status of the registry, so the
// egress settings of the server must apply.
func newRegistryCheck(org *string) *cobra.Command {
	timeout, noColor := watch.DefaultWait, false
	cmd := adminCommand("check NAME --org ORG", "Have a server check a stored registry now", command.OneArg, true, func(a *admin, args []string) error {
		return unchecked(a.ctx, checkRegistry(a, shown{cmd: a.cmd, asJSON: a.json, noColor: noColor}, *org, args[0], timeout))
	})
	flagvalue.Duration(cmd.Flags(), &timeout, "timeout", timeout, 100*time.Millisecond, flagvalue.Day, "", "maximum wait for the report")
	cmd.Flags().BoolVar(&noColor, "no-color", false, "no color, also on a terminal")
	return cmd
}

func checkRegistry(a *admin, show shown, org, name string, timeout time.Duration) error {
	found, err := a.find(org, name)
	if err != nil {
		return err
	}
	scheduled := a.watch()
	request, err := scheduled.RequestCheck(a.ctx, a.operator, a.origin, org, found.UID)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.cmd.ErrOrStderr(), "Waiting up to %s for a server to check %s.\n", timeout, found.Name)
	report, err := scheduled.AwaitCheck(a.ctx, request, timeout)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Unavailable {
		f.Message += fmt.Sprintf(" The request stays pending.\nTo check it without a server: regwarden check --registry %q --org %q", name, org)
	}
	if err != nil {
		return err
	}
	return show.check(found.Definition.Endpoint, func(observe regcheck.Observer) (*regcheck.Report, error) {
		for _, stage := range report.Stages {
			if observe != nil {
				observe(stage)
			}
		}
		return report, nil
	})
}

// shownRegistry is the JSON of a stored definition and its health status. Secrets are masked, and missing values are null.
type shownRegistry struct {
	UID         string                    `json:"uid"`
	Name        string                    `json:"name"`
	Created     any                       `json:"created"`
	Changed     any                       `json:"changed"`
	Definition  api.OCIRegistryDefinition `json:"definition"`
	State       any                       `json:"state"`
	Since       any                       `json:"since"`
	Checked     any                       `json:"checked"`
	NextCheck   any                       `json:"nextCheck"`
	Unconfirmed bool                      `json:"unconfirmed"`
	Result      shownResult               `json:"verdict"`
	Sync        shownSync                 `json:"sync"`
}

type shownResult struct {
	Stage                  any  `json:"stage"`
	Reason                 any  `json:"reason"`
	Field                  any  `json:"field"`
	CertificateExpiresSoon bool `json:"certificateExpiresSoon"`
}

type shownSync struct {
	Supported    bool  `json:"supported"`
	Status       any   `json:"status"`
	Message      any   `json:"message"`
	Synchronized any   `json:"synchronized"`
	Repositories int64 `json:"repositories"`
	Tags         int64 `json:"tags"`
}

func showRegistry(a *admin, org, name string) error {
	found, err := a.find(org, name)
	if err != nil {
		return err
	}
	watched, _, err := a.watch().History(a.ctx, a.operator, org, found.UID, 1, watch.HistoryEntry{})
	if err != nil {
		return err
	}
	synchronized := found.Sync
	v := watched.State
	s := shownRegistry{
		UID: found.UID, Name: found.Name, Created: command.JSONValue(found.CreatedAt), Changed: command.JSONValue(found.UpdatedAt), Definition: api.OCIRegistryDefinition{Definition: found.Definition, Scope: found.Scope},
		State: command.JSONValue(healthText(v, watched.Since)), Since: command.JSONValue(watched.Since), Checked: command.JSONValue(watched.LastAt), NextCheck: command.JSONValue(watched.NextAt),
		Unconfirmed: watched.Unconfirmed, Result: shownResult{command.JSONValue(v.Stage), command.JSONValue(v.Reason), command.JSONValue(v.Field), v.ExpiresSoon},
		Sync: shownSync{found.SyncSupported, command.JSONValue(string(synchronized.Status)), command.JSONValue(synchronized.Message), command.JSONValue(synchronized.LastSyncedAt),
			synchronized.Repositories, synchronized.Tags},
	}
	if a.json {
		return command.PrintJSON(a.cmd, s)
	}
	table := tabwriter.NewWriter(a.cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, line := range s.lines() {
		fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
	}
	return table.Flush()
}

// lines returns the fields for the text output, by the names that messages use, without empty ones.
func (s shownRegistry) lines() (lines [][2]string) {
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, [2]string{name, value})
		}
	}
	d, auth := s.Definition, s.Definition.Auth
	add("uid", s.UID)
	add("name", s.Name)
	add("created", command.Cell(s.Created))
	add("changed", command.Cell(s.Changed))
	add("endpoint", d.Endpoint)
	add("basePath", d.BasePath)
	add("baseContentPath", d.BaseContentPath)
	add("providerType", string(d.ProviderType))
	add("scope", d.Scope)
	add("auth.type", string(auth.Type))
	add("auth.username", auth.Username)
	add("auth.password", auth.Password.String())
	add("auth.token", auth.Token.String())
	add("auth.tls", tlsWords(auth.TLS))
	add("state", command.Cell(s.State))
	add("since", command.Cell(s.Since))
	add("checked", s.checkedWords())
	add("next check", command.Cell(s.NextCheck))
	add("sync", s.syncWords())
	return lines
}

// tlsWords returns the names of the TLS fields that are set, without the certificates.
func tlsWords(t regcheck.TLS) string {
	if !t.Enabled {
		return ""
	}
	words := []string{"enabled"}
	for _, w := range []struct {
		name string
		set  bool
	}{{"insecureSkipVerify", t.InsecureSkipVerify}, {"ca", t.CA != ""}, {"certificate", t.Certificate != ""}, {"key", t.Key != ""}} {
		if w.set {
			words = append(words, w.name)
		}
	}
	return strings.Join(words, ", ")
}

func (s shownRegistry) checkedWords() string {
	words := command.Cell(s.Checked)
	if s.Unconfirmed {
		words += ", transient failure; rechecked soon"
	}
	if s.Result.Field != nil {
		words += ", at fault: " + command.Cell(s.Result.Field)
	}
	if s.Result.CertificateExpiresSoon {
		words += ", the certificate expires soon"
	}
	return words
}

func (s shownRegistry) syncWords() string {
	switch y := s.Sync; {
	case !y.Supported:
		return "off"
	case y.Synchronized == nil:
		return strings.TrimSuffix(command.Cell(y.Status)+", "+command.Cell(y.Message), ", -")
	default:
		return strings.TrimSuffix(fmt.Sprintf("%s, %d repositories and %d tags at %s, %s", command.Cell(y.Status), y.Repositories, y.Tags, command.Cell(y.Synchronized), command.Cell(y.Message)), ", -")
	}
}
