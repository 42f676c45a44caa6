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

// AuditSpec is the content of an audit record. Report is the report of a validation, and is set only in the response for a
// single record.
type AuditSpec struct {
	Action     string          `json:"action"`
	ActionType string          `json:"actionType,omitempty"` // create, update, delete; empty for other actions
	ActionMsg  string          `json:"actionMsg"`
	Actor      AuditActor      `json:"actor"`
	Resource   AuditResource   `json:"resource"`
	Outcome    string          `json:"outcome"`
	Reason     string          `json:"reason,omitempty"`
	Means      string          `json:"means"`
	Address    string          `json:"address"`
	RequestID  string          `json:"requestId"`
	Repeats    int64           `json:"repeats,omitempty"` // of a rejection: how often it was repeated within its minute
	Report     json.RawMessage `json:"report,omitempty"`
}

// AuditActor is the actor: a user, or the system for the command line.
type AuditActor struct {
	ActorType string    `json:"actorType"`
	User      AuditUser `json:"user"`
}

// AuditUser is the user of an audit record. UID is empty if it is not known.
type AuditUser struct {
	UID     string `json:"uid"`
	EmailID string `json:"emailId"`
}

// AuditResource is the resource of an action: its kind, and its uid or another name. Target is the target of a webhook.
type AuditResource struct {
	Kind   string `json:"kind"`
	UID    string `json:"uid"`
	Target string `json:"target,omitempty"` // scheme, host and port
}
