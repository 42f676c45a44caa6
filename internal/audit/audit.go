// Package audit defines audit records and the closed list of audited actions.
//
// Package store stores records, in the transaction of the change that they describe, and the domain packages create
// them. A record never contains a secret.
package audit

import (
	"cmp"
	"strings"
	"time"

	"github.com/google/uuid"
)

// AuthMethod is how the actor was authenticated.
type AuthMethod string

// Authentication methods.
const (
	MethodPassword     AuthMethod = "password"
	MethodToken        AuthMethod = "token"
	MethodAPIKey       AuthMethod = "apiKey"
	MethodConsole      AuthMethod = "console" // the cookie of a browser
	MethodRefreshToken AuthMethod = "refreshToken"
	MethodLink         AuthMethod = "link" // sent to an email address
	MethodCLI          AuthMethod = "cli"
	MethodService      AuthMethod = "service" // scheduled work without a caller
	MethodOIDC         AuthMethod = "oidc"    // a token of another issuer
)

// Outcome is the outcome of an action.
type Outcome string

// Outcomes. A validation is recorded as Started before its first packet is sent, and completed once. A record that
// stays Started is from a process that crashed.
const (
	Started   Outcome = "started"
	Succeeded Outcome = "succeeded"
	Refused   Outcome = "refused" // the caller was refused; Reason has the reason
	Failed    Outcome = "failed"  // the service could not do it
	Valid     Outcome = "valid"   // the result of a validation
	NotValid  Outcome = "notValid"
	Unknown   Outcome = "unknown" // nothing is known of the registry, because the provider of its credentials was down
)

// Origin is the source of a request. The zero value stands for an action of the service itself.
type Origin struct {
	RequestID string // also the "ref" of an error body
	Address   string // the client's address without its port; "cli" for the command line
	AuditUID  string // uid for the record of the change, which the response contains; empty for a new one
}

// CommandLine is the source of commands that access the store directly.
var CommandLine = Origin{Address: "cli"}

// RecordUID returns the uid for the record of a change.
func (o Origin) RecordUID() string { return cmp.Or(o.AuditUID, NewUID()) }

// Record is one entry of the audit log.
type Record struct {
	UID       string // UUID; a validation's is random, and the AuditUid response header
	At        time.Time
	OrgUID    string // empty if no organization is known, as after a login with an unknown organization
	ActorUID  string // empty if unknown
	ActorName string // stored email, or the email given by the caller; at most 256 bytes, without control characters
	Method    AuthMethod
	Action    Action
	Object    string // uid or name of the object; a validation's endpoint
	Target    string // of a changed webhook: scheme, host and port, not the rest, which may be secret; of a login by a token: its subject
	Outcome   Outcome
	Reason    string // a code or a word from a closed list
	Origin    Origin
	Report    []byte // validation report as JSON, without secrets; else nil
	Repeats   int64  // number of others like it that followed within its Window

	ObjectName string // the present name of the object; set by what lists records, not stored
}

const (
	changedPrefix = "changed " // begins the reason of a change that has the names of the changed fields
	maxChanged    = 240        // bytes of a reason, which the store cuts
)

// ChangedReason returns the reason of the record of a change: the names of the fields that it changed. Their values may be secret.
func ChangedReason(fields []string) string {
	for len(fields) > 0 {
		if reason := changedPrefix + strings.Join(fields, ","); len(reason) <= maxChanged {
			return reason
		}
		fields = fields[:len(fields)-1]
	}
	return ""
}

// Changed returns the names of the fields that the recorded change affected, nil if they are not recorded.
func (r Record) Changed() []string {
	fields, is := strings.CutPrefix(r.Reason, changedPrefix)
	if !is {
		return nil
	}
	return strings.Split(fields, ",")
}

// NewUID returns a UUID version 7 (RFC 9562), which begins with the time, so that an index of millions of records grows
// at its end only. It is for records whose uid is not returned when they are created.
func NewUID() string { return uuid.Must(uuid.NewV7()).String() }
