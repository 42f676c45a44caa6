package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

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
	if err == nil || usage || errors.Is(err, ErrNotValid) || errors.Is(err, ErrWarned) || fault.KindOf(err) == fault.Invalid {
		return err
	}
	if cause, ok := errors.AsType[Interrupted](context.Cause(ctx)); ok {
		return fmt.Errorf("check %w; no result", cause)
	}
	return NotChecked{err}
}

// ReportOutput shows the report of a check.
type ReportOutput struct {
	Cmd      *cobra.Command
	Out      io.Writer // nil for standard output
	NoColor  bool
	Format   string                      // of OutputFlag; empty is text
	Activity *Activity                   // on a terminal; nil for none
	Field    func(path string) string    // as regcheck.Audience.Field
	FailOn   FailOn                      // "" is FailOnNotValid
	Note     func(*regcheck.StageResult) // adds to the detail of a stage; may be nil
	List     *[]*regcheck.Report         // takes reports instead of printing their JSON; may be nil
}

// Check runs a check and shows its stages as they end, or JSON at the end. It returns ErrNotValid or ErrWarned for what FailOn names.
func (o ReportOutput) Check(endpoint string, run func(regcheck.Observer) (*regcheck.Report, error)) error {
	var printer *reporttext.Printer
	if o.Out == nil {
		o.Out = o.Cmd.OutOrStdout()
	}
	if !IsStructured(o.Format) {
		printer = PrinterTo(o.Out, o.NoColor)
		printer.Field = o.Field
		printer.Start(endpoint)
	}
	report, err := o.run(printer, run)
	if err != nil {
		return fmt.Errorf("check registry: %w", err)
	}
	switch {
	case o.List != nil:
		*o.List = append(*o.List, report)
	case IsStructured(o.Format):
		err = PrintStructured(o.Cmd, o.Format, report)
	default:
		err = printer.Finish(report)
	}
	if err != nil {
		return err
	}
	return o.FailOn.Of(report)
}

// run runs a check with an observer that prints each stage, with its note, as the report has it.
func (o ReportOutput) run(printer *reporttext.Printer, run func(regcheck.Observer) (*regcheck.Report, error)) (*regcheck.Report, error) {
	defer o.Activity.Begin()()
	report, err := run(func(stage regcheck.StageResult) {
		o.Activity.Ended(stage.Name)
		if o.Note != nil {
			o.Note(&stage)
		}
		if printer != nil {
			printer.Observe(stage)
		}
	})
	if err == nil && o.Note != nil {
		AddNotes(report, o.Note)
	}
	return report, err
}

// AddNotes adds notes to the stages of a report. The message of a report ends in the detail of the stage that failed.
func AddNotes(report *regcheck.Report, note func(*regcheck.StageResult)) {
	for i := range report.Stages {
		stage := &report.Stages[i]
		detail := stage.Detail
		note(stage)
		if stage.Status == regcheck.Failed && stage.Detail != detail {
			report.Message = strings.TrimSuffix(report.Message, detail) + stage.Detail
		}
	}
}

// Show shows the report of a check that has ended, as Check does.
func (o ReportOutput) Show(endpoint string, report *regcheck.Report) error {
	return o.Check(endpoint, func(observe regcheck.Observer) (*regcheck.Report, error) {
		for _, stage := range report.Stages {
			observe(stage)
		}
		return report, nil
	})
}
