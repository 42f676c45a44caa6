package scan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/scanreport"
)

// Report is a report to write. Without a file it goes to standard output.
type Report struct{ kind, file string }

// KindGitHub is the only report for standard output: GitHub reads annotations there.
const KindGitHub = "github"

// ParseReports reads KIND=FILE. stdoutInUse is whether standard output has something else that programs read.
func ParseReports(values []string, stdoutInUse bool) ([]Report, error) {
	var reports []Report
	for _, value := range values {
		kind, file, _ := strings.Cut(value, "=")
		switch {
		case !slices.Contains(scanreport.Kinds(), kind):
			return nil, fmt.Errorf("must be KIND=FILE with one of the kinds %s, not %q", strings.Join(scanreport.Kinds(), ", "), value)
		case file == "" && kind != KindGitHub:
			return nil, fmt.Errorf("%s requires a file: %[1]s=FILE", kind)
		case file == "" && stdoutInUse:
			return nil, errors.New("github cannot be combined with --output json or yaml; give it a file: github=FILE")
		}
		if file != "" {
			if err := CheckWritable(file); err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
		}
		reports = append(reports, Report{kind, file})
	}
	return reports, nil
}

// WriteReports writes reports of a result. summaryFile is the file for the summary of a step of a GitHub workflow, "" for none.
func WriteReports(stdout io.Writer, reports []Report, summaryFile string, result model.Result, o scanreport.Options) (err error) {
	if o.Dir, err = os.Getwd(); err != nil {
		return err
	}
	for _, r := range reports {
		if err := r.write(stdout, summaryFile, result, o); err != nil {
			return fmt.Errorf("write the report %s: %w", r.kind, err)
		}
	}
	return nil
}

func (r Report) write(stdout io.Writer, summaryFile string, result model.Result, o scanreport.Options) error {
	var out, summary bytes.Buffer
	if r.kind == KindGitHub && summaryFile != "" {
		o.Summary = &summary
	}
	if err := scanreport.Write(&out, r.kind, result, o); err != nil {
		return err
	}
	if o.Summary != nil {
		if err := appendFile(summaryFile, summary.Bytes()); err != nil {
			return err
		}
	}
	if r.file != "" {
		return writeFile(r.file, out.Bytes())
	}
	_, err := io.Copy(stdout, &out)
	return err
}
