package views

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/internal/web/console/words"
	"github.com/regwarden/regwarden/regcheck"
)

// Waterfall has the stages of a check on one axis of time.
type Waterfall struct {
	Bars []StageBar
	End  string // of the axis
}

// StageBar is a stage in the waterfall. Start and Width are percentages of the axis.
type StageBar struct {
	Name, Time, Detail, State string
	Hops                      string
	RoundTrips                int
	Status                    regcheck.Status
	Start, Width              float64
}

// stageLabel returns the name of a stage as the command line shows it, with capitals. A record may be of another version, with other
// stages.
func stageLabel(name regcheck.Stage) string {
	if name == regcheck.StageTLS || name == regcheck.StageAPI {
		return strings.ToUpper(string(name))
	}
	return words.Capital(name)
}

// usualStages returns the labels of the stages that every check has, in their order.
func usualStages() (labels []string) {
	for _, stage := range regcheck.UsualStages() {
		labels = append(labels, stageLabel(stage))
	}
	return labels
}

// stageStates are the icons and colors of a stage with a status that is conclusive.
var stageStates = map[regcheck.Status]string{regcheck.OK: "healthy", regcheck.Failed: "failing"}

// minWidth makes short stages visible.
const minWidth = 0.6

// Stages returns the waterfall of a report.
func Stages(report *regcheck.Report) Waterfall {
	sum := int64(0)
	for _, stage := range report.Stages {
		sum += stage.DurationMS
	}
	total := max(1, sum, report.DurationMS)
	bars, start := make([]StageBar, len(report.Stages)), int64(0)
	for i, stage := range report.Stages {
		bars[i] = StageBar{Name: stageLabel(stage.Name), Detail: stage.Detail, RoundTrips: stage.RoundTrips, Status: stage.Status,
			State: cmp.Or(stageStates[stage.Status], "unknown"), Hops: strings.Join(stage.Hops, ", "),
			Start: min(percent(start, total), 100-minWidth)}
		if stage.Status != regcheck.Skipped {
			bars[i].Time, bars[i].Width = Milliseconds(stage.DurationMS), max(percent(stage.DurationMS, total), minWidth)
		}
		start += stage.DurationMS
	}
	return Waterfall{bars, Milliseconds(total)}
}

func percent(part, total int64) float64 { return float64(part) * 100 / float64(total) }

// Milliseconds returns a duration in words.
func Milliseconds(n int64) string {
	if n == 0 {
		return "under 1 ms"
	}
	return strconv.FormatInt(n, 10) + " ms"
}

// StageText describes a stage in one line.
func StageText(stage regcheck.StageResult) string {
	text := stageLabel(stage.Name) + ": " + string(stage.Status)
	if stage.Status != regcheck.Skipped {
		text += ", " + Milliseconds(stage.DurationMS)
	}
	if stage.Detail != "" {
		text += " (" + stage.Detail + ")"
	}
	return text
}
