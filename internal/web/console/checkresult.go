package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/regcheck"
)

// checkResult is the outcome of a check, from its audit record.
type checkResult struct {
	UID, Endpoint, Actor, Reason string
	At                           time.Time
	Report                       *regcheck.Report // nil if the check was refused or did not end
	Stages                       []stageBar
	Snippets                     []snippet // empty if the definition is not known
}

// showReport is GET /console/check/{uid}: the report of a check that anyone in the organization made.
func (s *Console) showReport(c *call) error {
	result, err := s.readResult(c, c.PathValue("uid"))
	if err != nil {
		return err
	}
	return c.show("report.html", "Report", result)
}

func (s *Console) readResult(c *call, auditUID string) (*checkResult, error) {
	record, err := s.Directory.Audit(c.Context(), c.principal, auditUID)
	if err != nil {
		return nil, err
	}
	if record.Action != audit.RegistryValidate && record.Action != audit.RegistryDiagnose {
		return nil, fault.ResourceNotFound("There is no report at this address.")
	}
	result := &checkResult{UID: record.UID, Endpoint: record.Object, Actor: record.ActorName, Reason: record.Reason, At: record.At}
	if record.Report == nil {
		return result, nil
	}
	if err := json.Unmarshal(record.Report, &result.Report); err != nil {
		return nil, fmt.Errorf("decode the report of %s: %w", record.UID, err)
	}
	result.Stages = stageBars(result.Report)
	return result, nil
}

// FieldID is the id of the field to correct, empty if the form does not have it.
func (r *checkResult) FieldID() string { return fieldID(r.Report.Field) }

// stageBar is a stage in the waterfall. Start and Width are percentages of the whole time.
type stageBar struct {
	Name, Time, Detail, State string
	Hops                      string
	RoundTrips                int
	Status                    regcheck.Status
	Start, Width              float64
}

var stageNames = map[regcheck.Stage]string{
	regcheck.StageResolve: "Name resolution", regcheck.StageEgress: "Address policy", regcheck.StageConnect: "Connection", regcheck.StageTLS: "TLS",
	regcheck.StageAPI: "Registry API", regcheck.StageAuth: "Authentication", regcheck.StageContent: "Content",
}

// stageName returns the name for people. A record may be of another version, with other stages.
func stageName(stage regcheck.StageResult) string {
	return cmp.Or(stageNames[stage.Name], string(stage.Name))
}

// stageStates are the icons and colors of a stage with a status that is conclusive.
var stageStates = map[regcheck.Status]string{regcheck.OK: "healthy", regcheck.Failed: "failing"}

// minWidth makes short stages visible.
const minWidth = 0.6

func stageBars(report *regcheck.Report) []stageBar {
	total := int64(1)
	for _, stage := range report.Stages {
		total += stage.DurationMS
	}
	bars, start := make([]stageBar, len(report.Stages)), int64(0)
	for i, stage := range report.Stages {
		bars[i] = stageBar{Name: stageName(stage), Detail: stage.Detail, RoundTrips: stage.RoundTrips, Hops: strings.Join(stage.Hops, ", "), Status: stage.Status, State: cmp.Or(stageStates[stage.Status], "unknown"), Start: percent(start, total)}
		if stage.Status != regcheck.Skipped {
			bars[i].Time, bars[i].Width = milliseconds(stage.DurationMS), max(percent(stage.DurationMS, total), minWidth)
		}
		start += stage.DurationMS
	}
	return bars
}

func percent(part, total int64) float64 { return float64(part) * 100 / float64(total) }

func milliseconds(n int64) string {
	if n == 0 {
		return "under 1 ms"
	}
	return strconv.FormatInt(n, 10) + " ms"
}

// Duration is the time of the whole check.
func (r *checkResult) Duration() string { return milliseconds(r.Report.DurationMS) }

// stageText describes a stage in one line.
func stageText(stage regcheck.StageResult) string {
	text := stageName(stage) + ": " + string(stage.Status)
	if stage.Status != regcheck.Skipped {
		text += ", " + milliseconds(stage.DurationMS)
	}
	if stage.Detail != "" {
		text += " (" + stage.Detail + ")"
	}
	return text
}
