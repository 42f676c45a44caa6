package manage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/regcheck/reporttext"
)

// Formats are the values of --output.
var Formats = []string{"text", "wide", "json", "yaml", "name"}

// output prints what a command shows, in the format of --output.
type output struct {
	cmd    *cobra.Command
	format string
	now    time.Time // zero for the time of the call
}

func (o *output) addFlag(cmd *cobra.Command) {
	o.cmd = cmd
	cmd.Flags().StringVarP(&o.format, "output", "o", "text", "output format: text, wide (all columns), json, yaml or name")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(Formats, cobra.ShellCompDirectiveNoFileComp)) // fails only without the flag
}

// check returns a usage error for a format that does not exist.
func (o *output) check() error {
	if o.cmd != nil && !slices.Contains(Formats, o.format) {
		return command.AsUsage(fmt.Errorf("--output must be one of %s, not %q", strings.Join(Formats, ", "), o.format))
	}
	return nil
}

// column is a column of a list. Its name is the key in JSON and YAML.
type column struct {
	name string
	wide bool // not in the format text
	data bool // only in the formats json and yaml
}

// columns returns columns by their names; a name with a trailing "+" is not in the format text, and one with "-" only in json and yaml.
func columns(names ...string) []column {
	all := make([]column, len(names))
	for i, name := range names {
		name, all[i].data = strings.CutSuffix(name, "-")
		all[i].name, all[i].wide = strings.CutSuffix(name, "+")
	}
	return all
}

// table prints a list. A value is a string, number, boolean, time or list of strings; a zero time and an empty string are none.
// The format name prints the column "name", or the first one.
func (o *output) table(columns []column, rows [][]any) error {
	out := o.cmd.OutOrStdout()
	switch o.format {
	case "json", "yaml":
		list := make([]object, len(rows))
		for i, row := range rows {
			list[i] = object{columns, row}
		}
		return o.structured(list)
	case "name":
		at := max(0, slices.IndexFunc(columns, func(c column) bool { return c.name == "name" }))
		var names strings.Builder
		for _, row := range rows {
			names.WriteString(cellOf(row[at]) + "\n")
		}
		_, err := io.WriteString(out, names.String())
		return err
	}
	return o.text(out, columns, rows)
}

// PrintTable prints a list for commands that have the formats text and json only.
func PrintTable(cmd *cobra.Command, asJSON bool, names []string, rows [][]any) error {
	o := output{cmd: cmd, format: "wide"}
	if asJSON {
		o.format = "json"
	}
	return o.table(columns(names...), rows)
}

// record prints one object, for people as a line per column without those of JSON, and with exact times. The format name prints the same as in a list.
func (o *output) record(columns []column, row []any) error {
	switch o.format {
	case "json", "yaml":
		return o.structured(object{columns, row})
	case "name":
		return o.table(columns, [][]any{row})
	}
	lines := tabwriter.NewWriter(o.cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for i, c := range columns {
		if _, raw := row[i].(json.RawMessage); raw {
			continue
		}
		fmt.Fprintf(lines, "%s\t%s\n", c.name, cellOf(row[i]))
	}
	return lines.Flush()
}

// list is output.table for a list that was read with err.
func (c *call) list(err error, columns []column, rows [][]any) error {
	if err != nil {
		return err
	}
	return c.output.table(columns, rows)
}

// namesOf returns the names of the items of a list.
func namesOf[T any](list iter.Seq2[T, error], name func(T) string) (names []string, err error) {
	for item, err := range list {
		if err != nil {
			return names, err
		}
		names = append(names, name(item))
	}
	return names, nil
}

func (o *output) text(out io.Writer, columns []column, rows [][]any) error {
	lines := o.lines(columns, rows)
	if width := command.PrinterTo(out, true).Width; width > 0 && o.format != "wide" {
		fit(lines, width)
	}
	table := tabwriter.NewWriter(out, 0, 0, columnGap, ' ', 0)
	for _, cells := range lines {
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// lines returns the cells of a table, beginning with the line of its heads.
func (o *output) lines(columns []column, rows [][]any) [][]string {
	lines := make([][]string, len(rows)+1)
	for i, c := range columns {
		if c.data || c.wide && o.format != "wide" {
			continue
		}
		lines[0] = append(lines[0], strings.ToUpper(c.name))
		for j, row := range rows {
			lines[j+1] = append(lines[j+1], o.cell(row[i]))
		}
	}
	return lines
}

const (
	columnGap = 2
	minColumn = 5 // shorter texts are of no use
)

// fit shortens the longest cells of a table, so that a line has at most width characters.
func fit(lines [][]string, width int) {
	widths := make([]int, len(lines[0]))
	for i := range widths {
		for _, cells := range lines {
			widths[i] = max(widths[i], utf8.RuneCountInString(cells[i]))
		}
		width -= widths[i] + columnGap
	}
	width += columnGap
	for ; width < 0 && slices.Max(widths) > minColumn; width++ {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
	for _, cells := range lines {
		for i, text := range cells {
			if utf8.RuneCountInString(text) > widths[i] {
				cells[i] = string([]rune(text)[:widths[i]-1]) + "…"
			}
		}
	}
}

// cell returns a value for people. Times are ages, except in the format wide.
func (o *output) cell(value any) string {
	if t, ok := value.(time.Time); ok && !t.IsZero() && o.format != "wide" {
		now := o.now
		if now.IsZero() {
			now = time.Now()
		}
		return age(t, now)
	}
	return cellOf(value)
}

func cellOf(value any) string { return Shown(command.Cell(value)) }

// Shown returns a text of a server, a registry or a file in one line that controls neither a terminal nor a pipeline.
func Shown(text string) string { return reporttext.WithoutPipelineCommand(scan.Clean(text)) }

// age returns how long ago t is, or in how long it will be, in its largest unit.
func age(t, now time.Time) string {
	d, text := now.Sub(t), "%s ago"
	if d < 0 {
		d, text = -d, "in %s"
	}
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"y", 365 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}} {
		if n := int64(d / unit.of); n > 0 {
			return fmt.Sprintf(text, fmt.Sprintf("%d%s", n, unit.name))
		}
	}
	return "now"
}

// value prints one object as JSON or YAML. It returns false for the other formats.
func (o *output) value(v any) (bool, error) {
	if o.format != "json" && o.format != "yaml" {
		return false, nil
	}
	return true, o.structured(v)
}

// structured prints a value as JSON or YAML, with the same keys in the same order.
func (o *output) structured(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if o.format == "json" {
		return command.PrintStructured(o.cmd, o.format, json.RawMessage(data))
	}
	var tree yaml.Node // JSON is YAML: a tree keeps the order of keys
	if err := yaml.Unmarshal(command.EscapeUnprintable(data, escapeYAML), &tree); err != nil {
		return err
	}
	blockStyle(&tree)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&tree), encoder.Close()); err != nil {
		return err
	}
	_, err = o.cmd.OutOrStdout().Write(command.EscapeUnprintable(out.Bytes(), escapeYAML))
	return err
}

func escapeYAML(r rune) string { return fmt.Sprintf(`\U%08x`, r) }

// blockStyle removes the braces and quotes of JSON from a YAML tree. Strings that would be read as another type stay quoted, and those in which
// characters are escaped.
func blockStyle(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.SetString(n.Value)
	}
	if string(command.EscapeUnprintable([]byte(n.Value), escapeYAML)) != n.Value {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		blockStyle(child)
	}
}

// object is a row as JSON, with its keys in the order of the columns.
type object struct {
	columns []column
	row     []any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, c := range o.columns {
		value, err := json.Marshal(command.JSONValue(o.row[i]))
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", c.name, value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}
