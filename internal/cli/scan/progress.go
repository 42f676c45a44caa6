package scan

import (
	"fmt"
	"io"
	"time"
)

// progressInterval is the minimum time between two updates of the progress on a terminal.
const progressInterval = 50 * time.Millisecond

// ProgressLine returns a Checks.Progress that shows the progress in the last line of a terminal, and the function that removes the line.
func ProgressLine(terminal io.Writer, columns int) (show func(done, total int, registry string), remove func()) {
	const eraseLine = "\r\x1b[K"
	var last time.Time
	show = func(done, total int, registry string) {
		if now := time.Now(); now.Sub(last) >= progressInterval {
			last = now
			text := []rune(fmt.Sprintf("%d/%d  %s", done, total, Clean(registry)))
			_, _ = fmt.Fprint(terminal, eraseLine+string(text[:min(len(text), max(columns, minWidth)-1)]))
		}
	}
	return show, func() { _, _ = fmt.Fprint(terminal, eraseLine) }
}
