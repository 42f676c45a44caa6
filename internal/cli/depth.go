package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/reporttext"
)

const depthFull = "full"

// depthFlags are the flags that say how an artifact is examined.
type depthFlags struct{ depth, platform string }

func (f *depthFlags) addTo(flags *pflag.FlagSet) {
	flagvalue.OneOf(flags, &f.depth, "depth", "quick", []string{"quick", depthFull},
		"how config and layers are checked: quick (asks for them) or full (downloads and hashes them: at most 16 GiB and 15m)")
	f.addPlatform(flags)
}

func (f *depthFlags) addPlatform(flags *pflag.FlagSet) {
	flags.StringVar(&f.platform, "platform", "",
		"platform that is checked of an image index: os/architecture[/variant] (default linux/amd64, else the first)")
}

// apply sets what the flags set. Long downloads are shown by the activity.
func (f *depthFlags) apply(checker *regcheck.Checker, activity *command.Activity) error {
	if f.platform != "" && !regcheck.IsPlatform(f.platform) {
		return command.AsUsage(errors.New("--platform must be os/architecture or os/architecture/variant, such as linux/arm64"))
	}
	checker.Platform, checker.Full = f.platform, f.depth == depthFull
	if checker.Full && activity != nil {
		checker.Progress = func(done, total int64) {
			activity.Note(fmt.Sprintf("%s of %s downloaded", reporttext.FormatBytes(done), reporttext.FormatBytes(total)))
		}
	}
	return nil
}
