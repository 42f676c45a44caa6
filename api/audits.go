package api

import "encoding/json"

// Audits answers PathAudits.
type Audits struct {
	Items    []Audit  `json:"items"`
	ListMeta ListMeta `json:"listmeta"`
}

// Audit is one record. Its name is its action.
type Audit struct {
	Metadata Metadata  `json:"metadata"`
	Spec     AuditSpec `json:"spec"`
}

// AuditSpec is who did what to what, from where, and how it ended. Report is the report of a validation, and is
// there where one record is asked for.
type AuditSpec struct {
	Action     string          `json:"action"`
	ActionType string          `json:"actionType,omitempty"` // create, update, delete; none for what changes nothing
	ActionMsg  string          `json:"actionMsg"`
	Actor      AuditActor      `json:"actor"`
	Resource   AuditResource   `json:"resource"`
	Outcome    string          `json:"outcome"`
	Reason     string          `json:"reason,omitempty"`
	Means      string          `json:"means"`
	Address    string          `json:"address"`
	RequestID  string          `json:"requestId"`
	Repeats    int64           `json:"repeats,omitempty"` // of a refusal: how often the same one followed within its minute
	Report     json.RawMessage `json:"report,omitempty"`
}

// AuditActor is who did it: a user, or the system when that was from the command line.
type AuditActor struct {
	ActorType string    `json:"actorType"`
	User      AuditUser `json:"user"`
}

// AuditUser is a user as the record has it. UID is empty when it is not known.
type AuditUser struct {
	UID     string `json:"uid"`
	EmailID string `json:"emailId"`
}

// AuditResource is what was acted on: its kind, and its uid or what else names it. Target is where a webhook leads.
type AuditResource struct {
	Kind   string `json:"kind"`
	UID    string `json:"uid"`
	Target string `json:"target,omitempty"` // scheme, host and port
}
