package regcheck

import (
	"encoding/json"
	"time"
)

// Stage names a step of a check.
type Stage string

// Stages in the order in which they run.
const (
	StageResolve Stage = "resolve"
	StageEgress  Stage = "egress"
	StageConnect Stage = "connect"
	StageTLS     Stage = "tls"
	StageAPI     Stage = "api"
	StageAuth    Stage = "auth"
	StageContent Stage = "content"
)

// Status says how a stage ended.
type Status string

// A stage is skipped when it does not apply or an earlier one failed, and unknown when the
// registry does not let us know.
const (
	OK      Status = "ok"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	Unknown Status = "unknown"
)

// Report is all that a check learned. Its JSON is a contract: what does not apply is null. No
// secret is in it, and nothing that the registry sent and that was not cleaned.
type Report struct {
	Valid      bool
	Code       Code   // empty when valid
	Message    string // empty when valid
	Stage      Stage  // the stage that failed
	Reason     Reason
	Field      string // JSON path of the field at fault; empty when none is
	Hint       string // what to do
	Retryable  bool   // the same definition may well be valid later
	Registry   string // the API's base address as read
	Stages     []StageResult
	Warnings   []Warning
	StartedAt  time.Time
	DurationMS int64
	Duration   time.Duration // DurationMS for those who print it; not in the JSON
	RoundTrips int           // how many times one after the other something was sent and waited for, DNS aside

	Known Known // for the next Recheck; not in the JSON
}

// StageResult is the outcome of one stage.
type StageResult struct {
	Name       Stage
	Status     Status
	DurationMS int64
	Detail     string // what was seen

	// Duration is for observers, which may want it finer.
	Duration time.Duration
}

// Warning is something to know that does not change the result.
type Warning struct {
	Code    WarningCode
	Field   string
	Message string
}

type reportJSON struct {
	Valid      bool          `json:"valid"`
	Code       *Code         `json:"code"`
	Message    *string       `json:"message"`
	Stage      *Stage        `json:"stage"`
	Reason     *Reason       `json:"reason"`
	Field      *string       `json:"field"`
	Hint       *string       `json:"hint"`
	Retryable  bool          `json:"retryable"`
	Registry   string        `json:"registry"`
	Stages     []StageResult `json:"stages"`
	Warnings   []Warning     `json:"warnings"`
	StartedAt  time.Time     `json:"startedAt"`
	DurationMS int64         `json:"durationMs"`
	RoundTrips int           `json:"roundTrips"`
}

type stageJSON struct {
	Name       Stage   `json:"name"`
	Status     Status  `json:"status"`
	DurationMS int64   `json:"durationMs"`
	Detail     *string `json:"detail"`
}

type warningJSON struct {
	Code    WarningCode `json:"code"`
	Field   *string     `json:"field"`
	Message string      `json:"message"`
}

// MarshalJSON writes the contract's form: null for what does not apply, never for the lists.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(reportJSON{
		Valid: r.Valid, Code: orNull(r.Code), Message: orNull(r.Message), Stage: orNull(r.Stage), Reason: orNull(r.Reason),
		Field: orNull(r.Field), Hint: orNull(r.Hint), Retryable: r.Retryable, Registry: r.Registry,
		Stages: append([]StageResult{}, r.Stages...), Warnings: append([]Warning{}, r.Warnings...),
		StartedAt: r.StartedAt.UTC(), DurationMS: r.DurationMS, RoundTrips: r.RoundTrips,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Report) UnmarshalJSON(data []byte) error {
	var j reportJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*r = Report{
		Valid: j.Valid, Code: orEmpty(j.Code), Message: orEmpty(j.Message), Stage: orEmpty(j.Stage), Reason: orEmpty(j.Reason),
		Field: orEmpty(j.Field), Hint: orEmpty(j.Hint), Retryable: j.Retryable, Registry: j.Registry,
		Stages: j.Stages, Warnings: j.Warnings, StartedAt: j.StartedAt, Duration: time.Duration(j.DurationMS) * time.Millisecond, DurationMS: j.DurationMS, RoundTrips: j.RoundTrips,
	}
	return nil
}

// MarshalJSON writes null for an empty detail.
func (s StageResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(stageJSON{s.Name, s.Status, s.DurationMS, orNull(s.Detail)})
}

// UnmarshalJSON reads what MarshalJSON wrote; Duration is then whole milliseconds.
func (s *StageResult) UnmarshalJSON(data []byte) error {
	var j stageJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*s = StageResult{j.Name, j.Status, j.DurationMS, orEmpty(j.Detail), time.Duration(j.DurationMS) * time.Millisecond}
	return nil
}

// MarshalJSON writes null for an empty field.
func (w Warning) MarshalJSON() ([]byte, error) {
	return json.Marshal(warningJSON{w.Code, orNull(w.Field), w.Message})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (w *Warning) UnmarshalJSON(data []byte) error {
	var j warningJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*w = Warning{j.Code, orEmpty(j.Field), j.Message}
	return nil
}

func orNull[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty[T ~string](s *T) T {
	if s == nil {
		return ""
	}
	return *s
}
