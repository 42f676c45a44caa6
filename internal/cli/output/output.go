// Package output prints what commands show: tables for people, and JSON, YAML and names for programs.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/internal/csvtext"
	"github.com/regwarden/regwarden/regcheck/reporttext"
)

// Formats are the values of --output.
var Formats = []string{"text", "wide", "csv", "json", "yaml", "name"}

// Writer prints what a command shows, in the format of --output.
type Writer struct {
	Cmd    *cobra.Command
	Format string
	now    time.Time // zero for the time of the call
}

// AddFlag adds --output to a command, without the formats that it does not have.
func (o *Writer) AddFlag(cmd *cobra.Command, without ...string) {
	o.Cmd = cmd
	formats := slices.DeleteFunc(slices.Clone(Formats), func(format string) bool { return slices.Contains(without, format) })
	last := len(formats) - 1
	names := strings.Replace(strings.Join(formats[:last], ", "), "wide", "wide (all columns)", 1) + " or " + formats[last]
	flagvalue.OneOfP(cmd.Flags(), &o.Format, "output", "o", "text", formats, "output format: "+names)
}

// Column is a column of a list. Its name is the key in JSON and YAML.
type Column struct {
	name string
	wide bool // not in the format text
	data bool // only in the formats json and yaml
	keep bool // shortened after the others, and in its middle: paths differ at their end, names at their beginning
	tail bool // shortened at its beginning
	less int  // left out where columns to keep would be shortened: 1 at all, 2 to less than minName
}

// Columns returns columns by their names, which may have marks at their end: "+" is not in the format text, "-" only in json and yaml,
// "*" is shortened last and in its middle, "~" is left out before that and "~~" in narrow terminals only, and "<" is shortened at its
// beginning, such as a file with a line number.
func Columns(names ...string) []Column {
	all := make([]Column, len(names))
	for i, name := range names {
		c := &all[i]
		c.name = strings.TrimRight(name, "+-*<~")
		marks := name[len(c.name):]
		c.wide, c.data = strings.Contains(marks, "+"), strings.Contains(marks, "-")
		c.keep, c.tail, c.less = strings.Contains(marks, "*"), strings.Contains(marks, "<"), strings.Count(marks, "~")
	}
	return all
}

// Table prints a list. A value is a string, number, boolean, time or list of strings; a zero time and an empty string are none.
// The format name prints the column "name", or the first one.
func (o *Writer) Table(columns []Column, rows [][]any) error {
	out := o.Cmd.OutOrStdout()
	switch o.Format {
	case "json", "yaml":
		list := make([]object, len(rows))
		for i, row := range rows {
			list[i] = object{columns, row}
		}
		return command.PrintStructured(o.Cmd, o.Format, list)
	case "csv":
		return printCSV(out, columns, rows)
	case "name":
		at := max(0, slices.IndexFunc(columns, func(c Column) bool { return c.name == "name" }))
		var names strings.Builder
		for _, row := range rows {
			names.WriteString(cellOf(row[at]) + "\n")
		}
		_, err := io.WriteString(out, names.String())
		return err
	}
	return o.text(out, columns, rows)
}

// printCSV prints all columns of a list, with the names of JSON. Lists of texts are separated by commas.
func printCSV(out io.Writer, columns []Column, rows [][]any) error {
	w, names := csvtext.New(out), make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	w.Row(names...)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, value := range row {
			if raw, is := value.(json.RawMessage); is {
				cells[i] = string(raw)
				continue
			}
			if list, is := value.([]string); command.JSONValue(value) != nil && (!is || len(list) > 0) {
				cells[i] = command.Cell(value)
			}
		}
		w.Row(cells...)
	}
	w.Flush()
	return w.Error()
}

// PrintTable prints a list for commands that have the formats text, json and yaml only.
func PrintTable(cmd *cobra.Command, format string, names []string, rows [][]any) error {
	o := Writer{Cmd: cmd, Format: format}
	if format == "text" {
		o.Format = "wide"
	}
	return o.Table(Columns(names...), rows)
}

// Record prints one object, for people as a line per column without those of JSON, and with exact times. The format name prints the
// same as in a list.
func (o *Writer) Record(columns []Column, row []any) error {
	switch o.Format {
	case "json", "yaml":
		return command.PrintStructured(o.Cmd, o.Format, object{columns, row})
	case "csv":
		return o.Table(columns, [][]any{row})
	case "name":
		return o.Table(columns, [][]any{row})
	}
	lines := make([][2]string, 0, len(columns))
	for i, value := range row {
		if _, raw := value.(json.RawMessage); !raw {
			lines = append(lines, [2]string{strings.ToLower(columns[i].head()), command.Cell(value)})
		}
	}
	return Lines(o.Cmd.OutOrStdout(), lines)
}

func (o *Writer) text(out io.Writer, columns []Column, rows [][]any) error {
	columns, lines := o.lines(columns, rows)
	if width := command.PrinterTo(out, true).Width; width > 0 && o.Format != "wide" {
		fit(withoutLess(columns, lines, width), lines, width)
	} else if width > 0 && total(widthsOf(lines)) > width {
		return blocks(out, lines)
	}
	table := tabwriter.NewWriter(out, 0, 0, columnGap, ' ', 0)
	for _, cells := range lines {
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// blocks prints a table that is wider than the terminal as a block of lines per row.
func blocks(out io.Writer, lines [][]string) error {
	for i, cells := range lines[1:] {
		block := make([][2]string, len(cells))
		for j, text := range cells {
			block[j] = [2]string{lines[0][j], text}
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := Lines(out, block); err != nil {
			return err
		}
	}
	return nil
}

// minValue is the least width in which a value is wrapped.
const minValue = 20

// Lines prints names and values, one per line. On a terminal, long values are wrapped.
func Lines(out io.Writer, lines [][2]string) error {
	name := 0
	for _, line := range lines {
		name = max(name, utf8.RuneCountInString(line[0]))
	}
	width := 0
	if terminal := command.PrinterTo(out, true).Width; terminal > 0 {
		width = max(terminal-name-columnGap, minValue)
	}
	var text strings.Builder
	for _, line := range lines {
		for i, part := range command.Wrap(Shown(line[1]), width) {
			head := line[0]
			if i > 0 {
				head = ""
			}
			fmt.Fprintf(&text, "%-*s%*s%s\n", name, head, columnGap, "", part)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// lines returns the shown columns and the cells of a table, beginning with the line of its heads.
func (o *Writer) lines(columns []Column, rows [][]any) (shown []Column, lines [][]string) {
	lines = make([][]string, len(rows)+1)
	for i, c := range columns {
		if c.data || c.wide && o.Format != "wide" {
			continue
		}
		shown = append(shown, c)
		lines[0] = append(lines[0], c.head())
		for j, row := range rows {
			lines[j+1] = append(lines[j+1], o.cell(row[i]))
		}
	}
	return shown, lines
}

// head is the name of a column in words.
func (c Column) head() string {
	var words strings.Builder
	for _, r := range c.name {
		if unicode.IsUpper(r) {
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToUpper(r))
	}
	return words.String()
}

const (
	columnGap = 2
	minColumn = 5  // shorter texts are of no use
	minText   = 14 // a health, a result or an age is shorter, and stays whole while longer texts can be shortened
	minName   = 24
)

func widthsOf(lines [][]string) []int {
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, text := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	return widths
}

func total(widths []int) int {
	sum := -columnGap
	for _, width := range widths {
		sum += width + columnGap
	}
	return sum
}

// withoutLess removes the columns that are worth less than whole texts in columns to keep, as far as the width requires it.
func withoutLess(columns []Column, lines [][]string, width int) []Column {
	for level, longest := range []int{1: width, 2: minName} {
		for i, c := range slices.Backward(columns) {
			if c.less == 0 || c.less != level || least(columns, lines, longest) <= width {
				continue
			}
			columns = slices.Delete(slices.Clone(columns), i, i+1)
			for j := range lines {
				lines[j] = slices.Delete(lines[j], i, i+1)
			}
		}
	}
	return columns
}

// least returns the width of a table with shortened texts, and at most longest characters in columns to keep.
func least(columns []Column, lines [][]string, longest int) int {
	widths := widthsOf(lines)
	for i, c := range columns {
		if c.keep {
			widths[i] = min(widths[i], longest)
		} else {
			widths[i] = min(widths[i], minText)
		}
	}
	return total(widths)
}

// fit shortens the longest cells of a table, so that a line has at most width characters: first long texts, then columns to keep, and
// what is short anyway only in a terminal that is too narrow for it.
func fit(columns []Column, lines [][]string, width int) {
	widths := widthsOf(lines)
	over := total(widths) - width
	for _, step := range []struct {
		keep  bool
		least int
	}{{false, minText}, {true, minName}, {false, minColumn}, {true, minColumn}} {
		for ; over > 0; over-- {
			longest := -1
			for i, c := range columns {
				if c.keep == step.keep && widths[i] > step.least && (longest < 0 || widths[i] > widths[longest]) {
					longest = i
				}
			}
			if longest < 0 {
				break
			}
			widths[longest]--
		}
	}
	for _, cells := range lines {
		for i, text := range cells {
			cells[i] = columns[i].shortened(text, widths[i])
		}
	}
}

// shortened returns at most width characters of a text.
func (c Column) shortened(text string, width int) string {
	letters := []rune(text)
	if len(letters) <= width {
		return text
	}
	head := width - 1
	switch {
	case c.tail:
		head = 0
	case c.keep:
		head = width / 2
	}
	return string(letters[:head]) + "…" + string(letters[len(letters)-(width-1-head):])
}

// cell returns a value for people. Times are ages, except in the format wide.
func (o *Writer) cell(value any) string {
	if t, ok := value.(time.Time); ok && !t.IsZero() && o.Format != "wide" {
		now := o.now
		if now.IsZero() {
			now = time.Now()
		}
		return Age(t, now)
	}
	return cellOf(value)
}

func cellOf(value any) string { return Shown(command.Cell(value)) }

// Shown returns a text of a server, a registry or a file in one line that controls neither a terminal nor a pipeline.
func Shown(text string) string { return reporttext.WithoutPipelineCommand(scan.Clean(text)) }

// Age returns how long ago t is, or in how long it will be, in its largest unit. The future is rounded: a key made for 30 days expires in
// 30 days, not in 29.
func Age(t, now time.Time) string {
	d, text := now.Sub(t), "%s ago"
	if d < 0 {
		d, text = -d, "in %s"
	}
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"y", 365 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		n := d / unit.of
		if text == "in %s" && n > 0 {
			n = d.Round(unit.of) / unit.of
		}
		if n > 0 {
			return fmt.Sprintf(text, fmt.Sprintf("%d%s", n, unit.name))
		}
	}
	return "now"
}

// Value prints one object as JSON or YAML. It returns false for the other formats.
func (o *Writer) Value(v any) (bool, error) {
	if o.Format != "json" && o.Format != "yaml" {
		return false, nil
	}
	return true, command.PrintStructured(o.Cmd, o.Format, v)
}

// object is a row as JSON, with its keys in the order of the columns.
type object struct {
	columns []Column
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
