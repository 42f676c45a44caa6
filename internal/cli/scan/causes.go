package scan

import (
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/scanreport"
)

// maxCausePlaces is how many places of a cause a summary shows.
const maxCausePlaces = 10

// marks shows severities.
var marks = map[scanreport.Severity]struct{ mark, color string }{
	scanreport.Failure: {"✗", red}, scanreport.NotChecked: {"!", yellow}, scanreport.Warns: {"!", yellow},
	scanreport.Unresolved: {"?", yellow}, scanreport.Notice: {"•", faint}, scanreport.Fine: {"✓", green},
}

// causes writes what was found out, the most severe first. A summary has no messages, and only the first places of each cause.
func (p *printer) causes(result model.Result) {
	for _, c := range scanreport.Causes(result, scanreport.Options{ShowUsers: p.Users, Messages: !p.Summary}) {
		p.cause(c)
	}
}

// cause writes what a code means, and where it is. Places with the same fix follow it.
func (p *printer) cause(c scanreport.Cause) {
	mark := marks[c.Severity]
	p.hanging("", "  ", p.paint(mark.color, mark.mark), mark.mark+" ", fmt.Sprintf("%s: %d %s", c.Code, c.Count, plural(c.Count, "place")))
	left := c.Count
	if p.Summary {
		p.hanging("  ", "  ", "", "", c.Sentence)
		left = maxCausePlaces
	}
	said := ""
	for _, fix := range c.Fixes {
		if left <= 0 {
			break
		}
		if fix.Message != said && c.Severity != scanreport.Fine {
			p.hanging("  ", "  ", "", "", fix.Message)
			said = fix.Message
		}
		p.fix(fix, left)
		left -= len(fix.Places)
	}
	if more := c.Count - maxCausePlaces; more > 0 && p.Summary {
		p.line(fmt.Sprintf("    and %d more", more))
	}
	p.line("")
}

// fix writes what to do, and at most the first places.
func (p *printer) fix(fix scanreport.Fix, most int) {
	if fix.Hint != "" {
		p.hanging("  ", "", p.paint(bold, "hint"), "hint ", fix.Hint)
	}
	for _, place := range fix.Places[:min(most, len(fix.Places))] {
		text := Place(place.At)
		if object := place.At.Object; object != "" && !p.Summary && !strings.Contains(place.Target, object) {
			text += "  " + Clean(object)
		}
		if place.Target != "" {
			text += "  " + place.Target
		}
		p.hanging("    ", detailIndent, "", "", text)
	}
}
