package api

import "encoding/json"

// Audits is the response of PathAudits.
type Audits struct {
	Items    []Audit  `json:"items"`
	ListMeta ListMeta `json:"listmeta"`
}

// Audit is one audit record. Its name is its action.
type Audit struct {
	Metadata Metadata  `json:"metadata"`
	Spec     AuditSpec `json:"spec"`
}

// AuditSpec has the actor, the object, the origin and the outcome of an action. Report is the report of a validation;
// only the response with a single record contains it.
type AuditSpec struct {
	Action     string        `json:"action"`
	ActionType string        `json:"actionType,omitempty"` // create, update, delete; empty for actions that change nothing
	ActionMsg  string        `json:"actionMsg"`
	Actor      AuditActor    `json:"actor"`
	Resource   AuditResource `json:"resource"`
	Outcome    string        `json:"outcome"`
	Reason     string        `json:"reason,omitempty"`
	Changed    []string      `json:"changedFields,omitempty"` // names of the fields of a stored registry that an update changed
	Means      string        `json:"means"`
	Address    string        `json:"address"`
	RequestID  string        `json:"requestId"`
	// Number of identical refusals that followed within the same minute, or of refreshes within the same hour.
	Repeats int64           `json:"repeats,omitempty"`
	Report  json.RawMessage `json:"report,omitempty"`
}

// AuditActor is the actor: a user, or the system for the command line.
type AuditActor struct {
	ActorType string    `json:"actorType"`
	User      AuditUser `json:"user"`
}

// AuditUser is a user as recorded. UID is empty if unknown.
type AuditUser struct {
	UID     string `json:"uid"`
	EmailID string `json:"emailId"`
}

// AuditResource is the object: its kind, and its uid or name. Target is the destination of a webhook.
type AuditResource struct {
	Kind   string `json:"kind"`
	UID    string `json:"uid"`
	Target string `json:"target,omitempty"` // scheme, host and port
	Name   string `json:"name,omitempty"`   // the present one; empty if the resource was deleted, or has none
}
