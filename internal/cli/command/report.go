package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/reporttext"
)

// ErrNotValid is the error of a check whose report, already printed, is "not valid".
var ErrNotValid = errors.New("the definition is not valid")

// NotChecked is the error of a check without a result.
type NotChecked struct{ Err error }

func (n NotChecked) Error() string { return n.Err.Error() }
func (n NotChecked) Unwrap() error { return n.Err }

// Unchecked returns the error of a check without a result, for its exit code: a signal ended it, or it failed.
func Unchecked(ctx context.Context, err error) error {
	_, usage := errors.AsType[UsageError](err)
	if err == nil || usage || errors.Is(err, ErrNotValid) || fault.KindOf(err) == fault.Invalid {
		return err
	}
	if cause, ok := errors.AsType[Interrupted](context.Cause(ctx)); ok {
		return fmt.Errorf("check %w; no result", cause)
	}
	return NotChecked{err}
}

// ReportOutput shows the report of a check.
type ReportOutput struct {
	Cmd           *cobra.Command
	Out           io.Writer // nil for standard output
	JSON, NoColor bool
	BeforeStage   func()                   // called before the line of a stage; may be nil
	Field         func(path string) string // as regcheck.Audience.Field
}

// Check runs a check and shows its stages as they end, or JSON at the end. It returns ErrNotValid if the definition is not valid.
func (o ReportOutput) Check(endpoint string, run func(regcheck.Observer) (*regcheck.Report, error)) error {
	var printer *reporttext.Printer
	var observe regcheck.Observer
	if o.Out == nil {
		o.Out = o.Cmd.OutOrStdout()
	}
	if !o.JSON {
		printer = PrinterTo(o.Out, o.NoColor)
		printer.Field = o.Field
		printer.Start(endpoint)
		observe = printer.Observe
	}
	report, err := run(o.observer(observe))
	if problems, ok := errors.AsType[*regcheck.DefinitionError](err); ok {
		return DefinitionProblems(nil, problems.Problems, FieldProblem)
	}
	if err != nil {
		return fmt.Errorf("check registry: %w", err)
	}
	if o.JSON {
		err = PrintJSON(o.Cmd, report)
	} else {
		err = printer.Finish(report)
	}
	if err == nil && !report.Valid {
		return ErrNotValid
	}
	return err
}

// observer returns an observer that calls BeforeStage first.
func (o ReportOutput) observer(observe regcheck.Observer) regcheck.Observer {
	if o.BeforeStage == nil {
		return observe
	}
	return func(stage regcheck.StageResult) {
		o.BeforeStage()
		if observe != nil {
			observe(stage)
		}
	}
}

// Show shows the report of a check that has ended, as Check does.
func (o ReportOutput) Show(endpoint string, report *regcheck.Report) error {
	return o.Check(endpoint, func(observe regcheck.Observer) (*regcheck.Report, error) {
		for _, stage := range report.Stages {
			if observe != nil {
				observe(stage)
			}
		}
		return report, nil
	})
}
