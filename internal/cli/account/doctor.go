package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// States of a result.
const (
	good    = "ok"
	warning = "warning"
	bad     = "failed"
)

// Limits beyond which a result is not good.
const (
	clockWarning = 5 * time.Second
	clockFailure = time.Minute // tokens of 15 minutes and certificates of today depend on the clock
	lateCheck    = 5 * time.Minute
	certificate  = 14 * 24 * time.Hour
)

// result is what doctor found out about one part.
type result struct{ part, state, detail, hint string }

// doctor examines a service from this machine.
type doctor struct {
	*manage.Call
	version string
	results []result
}

// Doctor returns the command that examines the service and the way to it.
func (p Commands) Doctor() *cobra.Command {
	return p.Command("doctor", "Examine the service and the way to it", command.NoArgs, func(c *manage.Call, _ []string) error {
		d := &doctor{Call: c, version: p.Version}
		d.examine()
		return d.show()
	}, manage.Lists, manage.InAnyOrg)
}

func (d *doctor) add(part, state, detail, hint string) {
	d.results = append(d.results, result{part, state, detail, hint})
}

// examine stops where nothing more can be found out.
func (d *doctor) examine() {
	if d.Login == nil {
		d.add("target", good, where(nil), "")
	} else {
		d.add("target", good, fmt.Sprintf("%s as %s in %s", d.Login.Server, orKey(d.Login.Email), orKey(d.Login.Org)), "")
	}
	d.certificate()
	if !d.server() {
		return
	}
	if info, err := d.Client.Whoami(d.Ctx); err != nil {
		d.add("login", bad, "the credentials are not accepted", output.Shown(d.ExplainServer(err).Error()))
		return
	} else if d.Login != nil {
		d.add("login", good, fmt.Sprintf("%s (%s) in %s", info.Email, info.Role, info.OrgName), "")
	}
	d.versionAndClock()
	d.checks()
}

func orKey(text string) string {
	if text == "" {
		return "the owner of the API key"
	}
	return text
}

// server examines the server and its database.
func (d *doctor) server() bool {
	err := d.Client.Health(d.Ctx)
	refused, responded := errors.AsType[*api.Error](err)
	switch {
	case err == nil && d.Login == nil:
		d.add("database", good, "can be used", "")
	case err == nil:
		d.add("server", good, "accepts requests, and its database can be used", "")
	case responded:
		d.add("server", bad, strings.TrimSuffix(output.Shown(refused.Message), "."),
			"Read the log of the server: it names what is wrong with its database.")
	default:
		d.add("server", bad, "no connection", output.Shown(d.ExplainServer(err).Error()))
	}
	return err == nil
}

// certificate examines how long the certificate of the server is valid.
func (d *doctor) certificate() {
	if d.Login == nil {
		return
	}
	until, err := d.Login.CertificateNotAfter(d.Ctx)
	left := time.Until(until)
	switch {
	case err != nil || until.IsZero(): // the server itself is examined next; a proxy or plain http has none
	case left < certificate:
		d.add("certificate", warning, "expires "+output.Age(until, time.Now()), "Renew the certificate of the server.")
	default:
		d.add("certificate", good, "expires "+output.Age(until, time.Now()), "")
	}
}

// versionAndClock compares the program and the clock of this machine with those of the server.
func (d *doctor) versionAndClock() {
	asked := time.Now()
	service, err := d.Client.Service(d.Ctx)
	middle := asked.Add(time.Since(asked) / 2)
	if err != nil {
		d.add("version", warning, fmt.Sprintf("%s here; unknown at the server, which may be older", d.version), "")
		return
	}
	state, hint := good, ""
	if service.Version != d.version {
		state, hint = warning, "Use the same version on both sides where something is not as documented."
	}
	d.add("version", state, fmt.Sprintf("%s here, %s at the server", d.version, output.Shown(service.Version)), hint)
	off := service.Time.Sub(middle).Abs().Round(time.Second)
	switch {
	case off >= clockFailure:
		d.add("clock", bad, fmt.Sprintf("differs by %v from that of the server", off), clockHint)
	case off >= clockWarning:
		d.add("clock", warning, fmt.Sprintf("differs by %v from that of the server", off), clockHint)
	default:
		d.add("clock", good, "the same here and at the server", "")
	}
}

const clockHint = "Set both clocks by NTP."

// checks looks for scheduled checks that are late, as where no server runs, and counts registries that fail.
func (d *doctor) checks() {
	late, failing, all := 0, 0, 0
	for r, err := range d.Client.Registries.Search(d.Ctx, client.RegistryFilter{}) {
		if err != nil {
			d.add("checks", bad, output.Shown(d.ExplainServer(err).Error()), "")
			return
		}
		h := r.Status.Health
		all++
		if h.NextCheck != nil && time.Since(*h.NextCheck) > lateCheck {
			late++
		}
		if h.State == api.HealthFailing {
			failing++
		}
	}
	if late > 0 {
		d.add("checks", bad, fmt.Sprintf("%d of %d registries are checked too late", late, all),
			"Start a server with this database and a --watch-interval, or give it more --watch-concurrency.")
		return
	}
	d.add("checks", good, fmt.Sprintf("none of %d registries is checked too late", all), "")
	if failing > 0 {
		d.add("registries", warning, fmt.Sprintf("%d of %d fail", failing, all), "See them with: regwarden registry list --health failing")
	}
}

// show prints the results. It returns an error if one is bad.
func (d *doctor) show() error {
	rows, failed := make([][]any, len(d.results)), 0
	lines := make([][2]string, 0, len(rows))
	for i, f := range d.results {
		rows[i] = []any{f.part, f.state, f.detail, f.hint}
		text := f.state + ": " + f.detail
		if f.hint != "" {
			text += ". " + f.hint
		}
		lines = append(lines, [2]string{f.part, text})
		if f.state == bad {
			failed++
		}
	}
	var err error
	if d.Output.Format == "text" || d.Output.Format == "wide" {
		err = output.Lines(d.Cmd.OutOrStdout(), lines)
	} else {
		err = d.Output.Table(output.Columns("part", "state", "detail", "hint"), rows)
	}
	if cause := context.Cause(d.Ctx); cause != nil {
		return cause
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d parts failed", failed, len(rows))
	}
	return err
}
