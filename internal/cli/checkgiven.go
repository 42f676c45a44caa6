package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/regcheck"
)

// referencesOrFile allows references, or one file.
func referencesOrFile(cmd *cobra.Command, args []string) error {
	if len(args) > 1 && !command.References(args) {
		return command.Usage(cmd, errors.New("check takes references, or one file; https://NAME is always a reference"))
	}
	return nil
}

// runGiven checks what arguments and flags give.
func (f *checkFlags) runGiven(show command.ReportOutput, checker *regcheck.Checker, args []string) error {
	if command.References(args) {
		show.Field = f.Named(f.ReferenceFlag)
	} else if len(args) == 0 {
		show.Field = f.Named(command.DefinitionFlag)
	}
	if show.Field != nil {
		checker.Audience.Field = show.Field
	}
	targets, err := f.Targets(show.Cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	var reports []*regcheck.Report
	if command.IsStructured(show.Format) && len(targets) > 1 {
		show.List = &reports
	}
	var outcome []error
	for i, target := range targets {
		if i > 0 && !command.IsStructured(show.Format) {
			fmt.Fprintln(show.Cmd.OutOrStdout())
		}
		err := f.checkOne(show, checker, target)
		if err != nil && !isOutcome(err) {
			return err
		}
		outcome = append(outcome, err)
	}
	if show.List != nil {
		outcome = append(outcome, command.PrintStructured(show.Cmd, show.Format, reports))
	}
	return errors.Join(outcome...)
}

// isOutcome reports whether an error is that of a check whose report was shown.
func isOutcome(err error) bool {
	return errors.Is(err, command.ErrNotValid) || errors.Is(err, command.ErrWarned)
}

// checkOne checks a definition, with plain HTTP if the server has no TLS and that is allowed, as docker does for registries on its machine.
func (f *checkFlags) checkOne(show command.ReportOutput, checker *regcheck.Checker, target command.Target) error {
	ctx := show.Cmd.Context()
	show.Note = proxyNote(f.engine.proxySetting(), target.Plan)
	return show.Check(target.Title, func(observe regcheck.Observer) (*regcheck.Report, error) {
		if target.Plain == nil {
			return checker.Check(ctx, target.Plan, observe)
		}
		report, held, err := checkTLS(ctx, checker, target.Plan, observe)
		if err == nil && report.Reason == regcheck.ReasonNotTLS {
			return checkPlain(ctx, checker, target, observe)
		}
		for _, stage := range held {
			observe(stage)
		}
		return report, err
	})
}

// checkTLS checks a definition, and holds back the stages from TLS on if that fails.
func checkTLS(ctx context.Context, checker *regcheck.Checker, plan *regcheck.Plan, observe regcheck.Observer) (
	report *regcheck.Report, held []regcheck.StageResult, err error,
) {
	report, err = checker.Check(ctx, plan, func(stage regcheck.StageResult) {
		if held != nil || stage.Name == regcheck.StageTLS && stage.Status == regcheck.Failed {
			held = append(held, stage)
			return
		}
		observe(stage)
	})
	return report, held, err
}

// checkPlain checks a definition with plain HTTP. The stages before TLS are those of checkTLS, which showed them.
func checkPlain(
	ctx context.Context, checker *regcheck.Checker, target command.Target, observe regcheck.Observer,
) (*regcheck.Report, error) {
	note := func(stage *regcheck.StageResult) {
		if stage.Name == regcheck.StageTLS {
			stage.Detail = target.Plan.Endpoint() + " has no TLS; plain HTTP is used, as docker does on this machine"
		}
	}
	started := false
	report, err := checker.Check(ctx, target.Plain, func(stage regcheck.StageResult) {
		note(&stage)
		if started = started || stage.Name == regcheck.StageTLS; started {
			observe(stage)
		}
	})
	if err == nil {
		command.AddNotes(report, note)
	}
	return report, err
}
