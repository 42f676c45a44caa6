// Package audit says what is recorded about who did what: the event and the closed list of actions.
//
// It only describes. internal/store keeps events, in the transaction of the change they tell of, and
// the domain packages decide when one is due. An event never holds a secret.
package audit

import (
	"cmp"
	"time"

	"github.com/google/uuid"
)

// AuthMethod is how the actor proved its identity.
type AuthMethod string

// Authentication methods.
const (
	MethodPassword     AuthMethod = "password"
	MethodToken        AuthMethod = "token"
	MethodAPIKey       AuthMethod = "apiKey"
	MethodRefreshToken AuthMethod = "refreshToken"
	MethodLink         AuthMethod = "link" // sent to an email address
	MethodCLI          AuthMethod = "cli"
	MethodService      AuthMethod = "service" // scheduled work, without a caller
)

// Outcome is how it ended.
type Outcome string

// Outcomes. A validation is recorded as Started before its first packet leaves and completed once;
// a record that stays Started tells of a process that died meanwhile.
const (
	Started   Outcome = "started"
	Succeeded Outcome = "succeeded"
	Refused   Outcome = "refused" // the caller was turned away; Reason says why
	Failed    Outcome = "failed"  // we could not do it
	Valid     Outcome = "valid"   // a validation's verdict
	NotValid  Outcome = "notValid"
)

// Origin tells where a request came from. The zero value is an action of the service itself.
type Origin struct {
	RequestID string // also the "ref" of an error body
	Address   string // the client's address without its port; "cli" for the command line
	AuditUID  string // uid for the record of the change that the request makes, which the response contains; empty: any
}

// RecordUID returns the uid for the record of a change.
func (o Origin) RecordUID() string { return cmp.Or(o.AuditUID, NewUID()) }

// Event is one record.
type Event struct {
	UID       string // UUID; a validation's is random, and the AuditUid response header
	At        time.Time
	OrgUID    string // empty: no organization is known (a sign-in that named none of ours)
	ActorUID  string // the user who acted, empty when unknown
	ActorName string // e-mail as known to us, or as claimed; at most 256 bytes, control characters removed by the writer
	Method    AuthMethod
	Action    Action
	Object    string // uid or name of what was acted on; a validation's endpoint
	Target    string // scheme, host and port that a changed webhook leads to; no other part of its URL, which may be secret
	Outcome   Outcome
	Reason    string // a code or a word of a closed list
	Origin    Origin
	Report    []byte // JSON of a validation's report, without secrets; nil otherwise
	Repeats   int64  // of a refusal: how often the same one followed within its minute
}

// NewUID names a record by its time first (UUID version 7, RFC 9562), so that an index of millions of records grows at
// its end and not everywhere. It is for records whose name nobody is shown when they are made.
func NewUID() string { return uuid.Must(uuid.NewV7()).String() }
