package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/internal/cli/scanreport"
	"github.com/regwarden/regwarden/regcheck/reporttext"
)

// pastFlags are the flags for a repository with issues that are not corrected now.
type pastFlags struct {
	baseline, writeBaseline string
	known                   scan.Baseline
}

func (f *pastFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.baseline, "baseline", "", "file of known issues, which are not reported")
	flags.StringVar(&f.writeBaseline, "write-baseline", "", "write all issues to this file, for --baseline")
}

// read reads the baseline, before the scan.
func (f *pastFlags) read() (err error) {
	if f.writeBaseline != "" && f.baseline != "" {
		return errors.New("--write-baseline cannot be combined with --baseline")
	}
	if f.baseline != "" {
		if f.known, err = scan.ReadBaseline(f.baseline); err != nil {
			return fmt.Errorf("--baseline: %w", err)
		}
	}
	if f.writeBaseline != "" {
		if err = scan.CheckWritable(f.writeBaseline); err != nil {
			return fmt.Errorf("--write-baseline: %w", err)
		}
	}
	return nil
}

// apply removes what comments and the baseline name, or writes the baseline. What was just written is known.
func (f *pastFlags) apply(cmd *cobra.Command, stdin []byte, result *model.Result) error {
	for _, wrong := range scan.Ignore(result, stdin) {
		fmt.Fprintln(cmd.ErrOrStderr(), "regwarden: "+reporttext.WithoutPipelineCommand(wrong))
	}
	name := f.baseline
	if f.writeBaseline != "" {
		var err error
		if f.known, err = scan.WriteBaseline(f.writeBaseline, *result); err != nil {
			return err
		}
		name = f.writeBaseline
	}
	if name == "" {
		return nil
	}
	return f.known.Compare(name, result)
}

// readCA reads certificates that all definitions trust.
func readCA(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	pem, err := command.ReadFlagFile("ca", name)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(pem) {
		err = fmt.Errorf("--ca: %q has no PEM certificate", name)
	}
	return string(pem), command.AsUsage(err)
}

// completeReport completes the kinds of reports, and files after them.
func completeReport(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(typed, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var kinds []string
	for _, kind := range scanreport.Kinds() {
		if kinds = append(kinds, kind+"="); kind == scan.KindGitHub {
			kinds = append(kinds, kind)
		}
	}
	return kinds, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
