package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/reporttext"
)

// depthFlags are the flags that say how an artifact is examined.
type depthFlags struct{ depth, platform string }

func (f *depthFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.depth, "depth", "quick",
		"how config and layers are checked: quick (asks for them) or full (downloads and hashes them: at most 16 GiB and 15m)")
	flags.StringVar(&f.platform, "platform", "",
		"platform that is checked of an image index: os/architecture[/variant] (default linux/amd64, else the first)")
}

// apply sets what the flags set. The function that it returns removes the progress of a download from the terminal.
func (f *depthFlags) apply(checker *regcheck.Checker, terminal io.Writer) (removeProgress func(), err error) {
	switch {
	case f.depth != "quick" && f.depth != "full":
		return nil, command.AsUsage(errors.New("--depth must be quick or full"))
	case f.platform != "" && !regcheck.IsPlatform(f.platform):
		return nil, command.AsUsage(errors.New("--platform must be os/architecture or os/architecture/variant, such as linux/arm64"))
	}
	checker.Platform, checker.Full = f.platform, f.depth == "full"
	if !checker.Full || !command.IsTerminal(terminal) {
		return nil, nil
	}
	show, remove := downloadLine(terminal)
	checker.Progress = show
	return remove, nil
}

// downloadLine returns a Checker.Progress that shows a long download in a line of a terminal, and the function that removes the line.
func downloadLine(terminal io.Writer) (show func(done, total int64), remove func()) {
	const eraseLine, interval = "\r\x1b[K", 200 * time.Millisecond
	last, shown := time.Now().Add(time.Second), false
	show = func(done, total int64) {
		if now := time.Now(); now.Sub(last) >= interval {
			last, shown = now, true
			_, _ = fmt.Fprintf(terminal, "%s   %s of %s downloaded", eraseLine, reporttext.FormatBytes(done), reporttext.FormatBytes(total))
		}
	}
	return show, func() {
		if shown {
			shown = false
			_, _ = fmt.Fprint(terminal, eraseLine)
		}
	}
}
