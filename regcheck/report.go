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

// Status is the result of a stage.
type Status string

// A stage is skipped if it does not apply or an earlier one failed, and unknown if the responses of the registry allow no
// conclusion.
const (
	OK      Status = "ok"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	Unknown Status = "unknown"
)

// Report is the result of a check. Its JSON is a contract: values that do not apply are null. It contains no secret, and text
// of the registry only after it was cleaned.
type Report struct {
	Valid      bool
	Code       Code   // empty when valid
	Message    string // empty when valid
	Stage      Stage  // the stage that failed
	Reason     Reason
	Field      string // JSON path of the field to correct; empty if there is none
	Hint       string // what to do
	Retryable  bool   // the same definition may well be valid later
	Registry   string // the API's base address as read
	Stages     []StageResult
	References []ReferenceResult // of Definition.References, in their order
	Warnings   []Warning
	StartedAt  time.Time
	DurationMS int64
	Duration   time.Duration // more precise than DurationMS; not in the JSON
	RoundTrips int           // sequential round trips, without DNS

	// These are not in the JSON.
	CertificateExpires time.Time // of the first certificate of the endpoint; zero without TLS
	CredentialsExpire  time.Time // of the token or password; zero if it does not contain that
	Known              Known     // for the next Recheck
}

// StageResult is the outcome of one stage.
type StageResult struct {
	Name       Stage
	Status     Status
	DurationMS int64
	Detail     string   // what was observed
	RoundTrips int      // part of those of the report
	Hops       []string // origins other than the endpoint's that requests were sent to: token services, targets of redirects

	// Duration is more precise than DurationMS; not in the JSON.
	Duration time.Duration
}

// Warning is a problem that does not change the result.
type Warning struct {
	Code    WarningCode
	Field   string
	Message string
}

// moment is a time in UTC with milliseconds, so that all texts of times have the same length.
type moment time.Time

func (m moment) MarshalText() ([]byte, error) {
	return time.Time(m).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

func (m *moment) UnmarshalText(text []byte) error { return (*time.Time)(m).UnmarshalText(text) }

type reportJSON struct {
	Valid      bool              `json:"valid"`
	Code       *Code             `json:"code"`
	Message    *string           `json:"message"`
	Stage      *Stage            `json:"stage"`
	Reason     *Reason           `json:"reason"`
	Field      *string           `json:"field"`
	Hint       *string           `json:"hint"`
	Retryable  bool              `json:"retryable"`
	Registry   string            `json:"registry"`
	Stages     []StageResult     `json:"stages"`
	References []ReferenceResult `json:"references"`
	Warnings   []Warning         `json:"warnings"`
	StartedAt  moment            `json:"startedAt"`
	DurationMS int64             `json:"durationMs"`
	RoundTrips int               `json:"roundTrips"`
}

type stageJSON struct {
	Name       Stage    `json:"name"`
	Status     Status   `json:"status"`
	DurationMS int64    `json:"durationMs"`
	Detail     *string  `json:"detail"`
	RoundTrips int      `json:"roundTrips"`
	Hops       []string `json:"hops"`
}

type warningJSON struct {
	Code    WarningCode `json:"code"`
	Field   *string     `json:"field"`
	Message string      `json:"message"`
}

// MarshalJSON writes null for values that do not apply. Lists are never null.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(reportJSON{
		Valid: r.Valid, Code: orNull(r.Code), Message: orNull(r.Message), Stage: orNull(r.Stage), Reason: orNull(r.Reason),
		Field: orNull(r.Field), Hint: orNull(r.Hint), Retryable: r.Retryable, Registry: r.Registry,
		Stages: append([]StageResult{}, r.Stages...), References: append([]ReferenceResult{}, r.References...),
		Warnings: append([]Warning{}, r.Warnings...), StartedAt: moment(r.StartedAt), DurationMS: r.DurationMS, RoundTrips: r.RoundTrips,
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
		Stages: j.Stages, References: j.References, Warnings: j.Warnings, StartedAt: time.Time(j.StartedAt),
		Duration: time.Duration(j.DurationMS) * time.Millisecond, DurationMS: j.DurationMS, RoundTrips: j.RoundTrips,
	}
	return nil
}

// MarshalJSON writes null for an empty detail. Hops are never null.
func (s StageResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(stageJSON{s.Name, s.Status, s.DurationMS, orNull(s.Detail), s.RoundTrips, append([]string{}, s.Hops...)})
}

// UnmarshalJSON reads what MarshalJSON wrote. Duration is then in whole milliseconds.
func (s *StageResult) UnmarshalJSON(data []byte) error {
	var j stageJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*s = StageResult{j.Name, j.Status, j.DurationMS, orEmpty(j.Detail), j.RoundTrips, j.Hops, time.Duration(j.DurationMS) * time.Millisecond}
	return nil
}

// MarshalJSON writes null for an empty field.
func (w Warning) MarshalJSON() ([]byte, error) {
	return json.Marshal(warningJSON{w.Code, orNull(w.Field), w.Message})
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
