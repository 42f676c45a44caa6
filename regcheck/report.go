package regcheck

import (
	"encoding/json"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
)

// Stage names a step of a check.
type Stage = codes.Stage

// Stages in the order in which they run.
const (
	StageResolve = codes.StageResolve
	StageEgress  = codes.StageEgress
	StageConnect = codes.StageConnect
	StageTLS     = codes.StageTLS
	StageAPI     = codes.StageAPI
	// StageCredentials is only in reports of definitions whose credentials are obtained.
	StageCredentials = codes.StageCredentials

	StageAuth    = codes.StageAuth
	StageContent = codes.StageContent
)

// UsualStages returns the stages that every check has, in their order.
func UsualStages() []Stage {
	return []Stage{StageResolve, StageEgress, StageConnect, StageTLS, StageAPI, StageAuth, StageContent}
}

// Status is the result of a stage.
type Status = codes.Status

// A stage is skipped if it does not apply or an earlier one failed, and unknown if the responses of the registry allow no
// conclusion.
const (
	OK      = codes.StatusOK
	Failed  = codes.StatusFailed
	Skipped = codes.StatusSkipped
	Unknown = codes.StatusUnknown
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
	RoundTrips int // sequential round trips, without DNS

	// These are not in the JSON.
	Duration          time.Duration `json:"-"` // more precise than DurationMS
	Certificates      []Certificate `json:"-"` // of the endpoint, as far as it was reached, and that of the definition
	CredentialsExpire time.Time     `json:"-"` // of the token or password; zero if it does not contain that
	Known             Known         `json:"-"` // for the next Recheck
	MessageText       Text          `json:"-"` // Message for other audiences, as all fields of this type
	HintText          Text          `json:"-"`
}

// Certificate is one that the connection to the endpoint needs. Its Role is server, ca (it issued that of the server, directly or not) or
// client (that of the definition).
type Certificate = certs.Certificate

// The roles of certificates.
const (
	RoleServer = certs.Server
	RoleCA     = certs.CA
	RoleClient = certs.Client
)

// CertificateExpires returns when the first of the certificates expires, the zero time if there is none.
func (r *Report) CertificateExpires() time.Time { return certs.First(r.Certificates) }

// StageResult is the outcome of one stage.
type StageResult struct {
	Name       Stage
	Status     Status
	DurationMS int64
	Detail     string   // what was observed
	RoundTrips int      // part of those of the report
	Hops       []string // origins other than the endpoint's that requests were sent to: token services, targets of redirects

	// These are not in the JSON.
	Duration   time.Duration `json:"-"` // more precise than DurationMS
	DetailText Text          `json:"-"`
}

// Warning is a problem that does not change the result.
type Warning struct {
	Code    WarningCode
	Field   string
	Message string
	Text    Text `json:"-"` // of Message
}

// moment is a time in UTC with milliseconds, so that all texts of times have the same length.
type moment time.Time

func (m moment) MarshalText() ([]byte, error) {
	return time.Time(m).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

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

// UnmarshalJSON reads what MarshalJSON wrote. Duration is then in whole milliseconds.
func (r *Report) UnmarshalJSON(data []byte) error {
	type plain Report
	*r = Report{}
	err := json.Unmarshal(data, (*plain)(r))
	r.Duration = time.Duration(r.DurationMS) * time.Millisecond
	return err
}

// MarshalJSON writes null for an empty detail. Hops are never null.
func (s StageResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(stageJSON{s.Name, s.Status, s.DurationMS, orNull(s.Detail), s.RoundTrips, append([]string{}, s.Hops...)})
}

// UnmarshalJSON reads what MarshalJSON wrote. Duration is then in whole milliseconds.
func (s *StageResult) UnmarshalJSON(data []byte) error {
	type plain StageResult
	*s = StageResult{}
	err := json.Unmarshal(data, (*plain)(s))
	s.Duration = time.Duration(s.DurationMS) * time.Millisecond
	return err
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
