package views

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck"
)

// StageBar is a stage in the waterfall. Start and Width are percentages of the whole time.
type StageBar struct {
	Name, Time, Detail, State string
	Hops                      string
	RoundTrips                int
	Status                    regcheck.Status
	Start, Width              float64
}

var stageNames = map[regcheck.Stage]string{
	regcheck.StageResolve: "Name resolution", regcheck.StageEgress: "Address policy", regcheck.StageConnect: "Connection",
	regcheck.StageTLS: "TLS",
	regcheck.StageAPI: "Registry API", regcheck.StageCredentials: "Credentials",
	regcheck.StageAuth: "Authentication", regcheck.StageContent: "Content",
}

// usualStages returns the names of the stages that every check has, in their order.
func usualStages() (names []string) {
	for _, stage := range []regcheck.Stage{regcheck.StageResolve, regcheck.StageEgress, regcheck.StageConnect, regcheck.StageTLS,
		regcheck.StageAPI, regcheck.StageAuth, regcheck.StageContent} {
		names = append(names, stageNames[stage])
	}
	return names
}

// stageName returns the name for people. A record may be of another version, with other stages.
func stageName(stage regcheck.StageResult) string {
	return cmp.Or(stageNames[stage.Name], string(stage.Name))
}

// stageStates are the icons and colors of a stage with a status that is conclusive.
var stageStates = map[regcheck.Status]string{regcheck.OK: "healthy", regcheck.Failed: "failing"}

// minWidth makes short stages visible.
const minWidth = 0.6

// Stages returns the waterfall of a report.
func Stages(report *regcheck.Report) []StageBar {
	total := int64(1)
	for _, stage := range report.Stages {
		total += stage.DurationMS
	}
	bars, start := make([]StageBar, len(report.Stages)), int64(0)
	for i, stage := range report.Stages {
		bars[i] = StageBar{Name: stageName(stage), Detail: stage.Detail, RoundTrips: stage.RoundTrips, Hops: strings.Join(stage.Hops, ", "),
			Status: stage.Status, State: cmp.Or(stageStates[stage.Status], "unknown"), Start: percent(start, total)}
		if stage.Status != regcheck.Skipped {
			bars[i].Time, bars[i].Width = Milliseconds(stage.DurationMS), max(percent(stage.DurationMS, total), minWidth)
		}
		start += stage.DurationMS
	}
	return bars
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
	text := stageName(stage) + ": " + string(stage.Status)
	if stage.Status != regcheck.Skipped {
		text += ", " + Milliseconds(stage.DurationMS)
	}
	if stage.Detail != "" {
		text += " (" + stage.Detail + ")"
	}
	return text
}
