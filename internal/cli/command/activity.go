package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/regwarden/regwarden/regcheck"
)

const (
	activityDelay    = time.Second // a check that ends sooner shows nothing
	activityInterval = 200 * time.Millisecond
)

var stages = regcheck.UsualStages()

// Activity shows in the last line of a terminal which stage a check waits in, and for how long. It is safe for concurrent use; nil shows
// nothing.
type Activity struct {
	terminal io.Writer
	columns  int

	mu    sync.Mutex
	stage regcheck.Stage
	since time.Time
	note  string
	shown bool
}

// ActivityOn returns an activity on a terminal, nil if the stream is none, or one without cursor movement.
func ActivityOn(stream io.Writer) *Activity {
	if !IsTerminal(stream) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	columns, _, err := term.GetSize(int(stream.(terminal).Fd()))
	if err != nil || columns <= 0 {
		columns = 80
	}
	return &Activity{terminal: stream, columns: columns}
}

// Begin shows the activity of a check until the function that it returns is called.
func (a *Activity) Begin() (end func()) {
	if a == nil {
		return func() {}
	}
	a.enter(stages[0])
	ticker, done := time.NewTicker(activityInterval), make(chan struct{})
	var shower sync.WaitGroup
	shower.Go(func() {
		for {
			select {
			case <-ticker.C:
				a.show()
			case <-done:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		shower.Wait()
		a.erase()
	}
}

// Ended removes the line, since the line of a stage is printed next, and begins the stage after it.
func (a *Activity) Ended(stage regcheck.Stage) {
	if a == nil {
		return
	}
	a.erase()
	if stage == regcheck.StageCredentials { // which few definitions have
		a.enter(regcheck.StageAuth)
	} else if next := slices.Index(stages, stage) + 1; next < len(stages) {
		a.enter(stages[next])
	}
}

// Note adds a text to the stage, such as how much is downloaded.
func (a *Activity) Note(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note = text
}

func (a *Activity) enter(stage regcheck.Stage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stage, a.since, a.note = stage, time.Now(), ""
}

func (a *Activity) show() {
	a.mu.Lock()
	defer a.mu.Unlock()
	waited := time.Since(a.since)
	if waited < activityDelay {
		return
	}
	text := []rune(fmt.Sprintf("   … %-9s%6d s  %s", a.stage, int(waited.Seconds()), a.note))
	a.shown = true
	_, _ = fmt.Fprint(a.terminal, eraseLine+string(text[:min(len(text), a.columns-1)]))
}

func (a *Activity) erase() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shown {
		a.shown = false
		_, _ = fmt.Fprint(a.terminal, eraseLine)
	}
}

const eraseLine = "\r\x1b[K"
