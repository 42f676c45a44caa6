// Package scanreport writes the result of a scan in the formats of pipelines: JUnit, SARIF, GitHub annotations, GitLab code quality and
// OpenMetrics. Texts of files and of registries are hostile: they become valid values of each format, and no secret is written.
package scanreport

import (
	"fmt"
	"io"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
)

// Options is how a report is written.
type Options struct {
	// Version is that of the program.
	Version string
	// Dir is an absolute directory. Names of files below it are written relative to it; usually it is the working directory.
	Dir string
	// ShowUsers includes the usernames of definitions.
	ShowUsers bool
	// Messages makes Causes keep places with different messages apart, and include what is valid.
	Messages bool
	// withoutTexts omits messages and hints, for what needs only the identity of an entry.
	withoutTexts bool
	// Summary receives the step summary of the kind github, as Markdown. Nil: it is not written.
	Summary io.Writer
}

// writer is a kind of report.
type writer struct {
	kind  string
	write func(w io.Writer, s *scan, o Options) error
}

// writers are in the order of the documentation.
var writers = []writer{
	{"junit", writeJUnit},
	{"sarif", writeSARIF},
	{"github", writeGitHub},
	{"gitlab", writeGitLab},
	{"openmetrics", writeOpenMetrics},
}

// Kinds returns the kinds of reports.
func Kinds() []string {
	kinds := make([]string, len(writers))
	for i, w := range writers {
		kinds[i] = w.kind
	}
	return kinds
}

// Write writes a report of one kind. The kind github writes workflow commands to w, which has to be the standard output of the step.
func Write(w io.Writer, kind string, result model.Result, o Options) error {
	for _, known := range writers {
		if known.kind == kind {
			return known.write(w, newScan(result, o), o)
		}
	}
	return fmt.Errorf("report must be one of %s", strings.Join(Kinds(), ", "))
}
