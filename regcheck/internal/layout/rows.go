package layout

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Rows writes rows of text to a terminal. It retains the first error of a write.
type Rows struct {
	W     io.Writer
	Color bool // escape sequences for color
	Width int  // of the terminal; 0 means 80
	Err   error
}

// Parameters of the escape sequences for colors and weights (ECMA-48, SGR).
const (
	Green, Red, Yellow, Faint, Bold = "32", "31", "33", "2", "1"
)

// Branches of a tree.
const (
	Branch     = "├─ "
	LastBranch = "└─ "
)

// Mark is the mark of a leaf with a status.
func Mark[T ~string](status T) (mark [2]string) {
	switch status {
	case "failed":
		return [2]string{"✗", Red}
	case "skipped":
		return [2]string{"–", Faint}
	case "unknown":
		return [2]string{"?", Yellow}
	}
	return [2]string{"✓", Green}
}

// Leaf writes a leaf of a tree: its mark with a color, its name, and a text that continues below itself.
func (r *Rows) Leaf(branch string, mark [2]string, name, text string) {
	head := branch + mark[0] + " "
	if name != "" {
		head += name + "  "
	}
	rows := Wrap(text, r.Columns()-utf8.RuneCountInString(head))
	painted := r.Paint(Faint, branch) + r.Paint(mark[1], mark[0]) + strings.TrimPrefix(head, branch+mark[0])
	if mark[1] == Faint {
		if text == "" {
			head = strings.TrimRight(head, " ")
		}
		painted = r.Paint(Faint, head)
	}
	r.Line(strings.TrimRight(painted+rows[0], " "))
	trunk := strings.NewReplacer("├─", "│ ", "└─", "  ").Replace(branch)
	blanks := strings.Repeat(" ", utf8.RuneCountInString(head)-utf8.RuneCountInString(branch))
	for _, row := range rows[1:] {
		r.Line(r.Paint(Faint, strings.TrimRight(trunk, " ")) + trunk[len(strings.TrimRight(trunk, " ")):] + blanks + row)
	}
}

// Labeled writes a paragraph with a word in the margin.
func (r *Rows) Labeled(label, color, text string) {
	const margin = 9
	for i, row := range Wrap(text, r.Columns()-margin) {
		head := strings.Repeat(" ", margin)
		if i == 0 && label != "" {
			head = r.Paint(color, fmt.Sprintf("%-*s", margin, label))
		}
		r.Line(head + row)
	}
}

// Columns returns the width of the terminal, at least 40.
func (r *Rows) Columns() int {
	if r.Width <= 0 {
		return 80
	}
	return max(r.Width, 40)
}

// Paint returns a text with the escape sequences of a color.
func (r *Rows) Paint(sgr, text string) string {
	if !r.Color || sgr == "" || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// Line writes one row.
func (r *Rows) Line(text string) {
	if r.Err == nil {
		_, r.Err = io.WriteString(r.W, WithoutPipelineCommand(text)+"\n")
	}
}
