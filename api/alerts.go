package api

import (
	"time"

	"github.com/regwarden/regwarden/secret"
)

// AlertComponents is the response of PathProjectAlerts.
type AlertComponents struct {
	Components []AlertComponent `json:"components"`
}

// AlertComponent is a component that has alerts.
type AlertComponent struct {
	Name              string   `json:"name"`
	Description       string   `json:"description"`
	SupportedChannels []string `json:"supportedChannels"`
}

// Alert is the response of PathAlert: the channels of one component.
type Alert struct {
	Component string         `json:"component"`
	Channels  []AlertChannel `json:"channels"`
}

// AlertChannel is a stored channel. Values that may be secret are masked.
type AlertChannel struct {
	UID           string            `json:"uid"`
	Name          string            `json:"name,omitempty"`
	Type          string            `json:"type"`
	IsActive      bool              `json:"isActive"`
	AlertAllUsers bool              `json:"alertAllUsers"`
	Identifiers   []string          `json:"identifiers"`
	Unconfirmed   []string          `json:"unconfirmed,omitempty"` // identifiers without confirmation, which get no alerts
	HTTP          *AlertChannelHTTP `json:"http,omitempty"`
	CreatedAt     time.Time         `json:"createdAt"`
	Status        *AlertStatus      `json:"status,omitempty"`
	AfterMinutes  int64             `json:"afterMinutes,omitempty"` // alerts of a registry that has failed so long; 0: at once
	RepeatHours   int64             `json:"repeatHours,omitempty"`  // alerts again so often while it fails; 0: never
}

// AlertStatus is the result of the newest attempt to send through a channel.
type AlertStatus struct {
	IsSucceeded bool      `json:"isSucceeded"`
	Message     string    `json:"message"`
	Time        time.Time `json:"time"`
}

// AlertChannelHTTP is the request that a channel sends. Its values may be secret, so they print masked.
type AlertChannelHTTP struct {
	URL     string                   `json:"url"`
	Method  string                   `json:"method"`
	Headers map[string]secret.String `json:"headers,omitempty"`
	Body    secret.String            `json:"body,omitempty"`
	Secret  secret.String            `json:"secret,omitempty"`
}

// AlertRequest is the body that replaces the channels of a component.
type AlertRequest struct {
	Channels []AlertChannelRequest `json:"channels"`
}

// AlertChannelRequest is a channel to be stored. Status and times that public clients send back are ignored.
type AlertChannelRequest struct {
	UID           string                   `json:"uid"`
	Name          *string                  `json:"name,omitzero"` // a stored one stays if it is nil, and "" removes it
	Type          string                   `json:"type"`
	IsActive      bool                     `json:"isActive"`
	AlertAllUsers bool                     `json:"alertAllUsers"`
	Identifiers   []string                 `json:"identifiers"`
	HTTP          *AlertChannelHTTPRequest `json:"http"`
	AfterMinutes  *int64                   `json:"afterMinutes,omitzero"` // a stored one stays if it is nil
	RepeatHours   *int64                   `json:"repeatHours,omitzero"`  // a stored one stays if it is nil
}

// AlertChannelHTTPRequest is the request that a channel is to send.
type AlertChannelHTTPRequest struct {
	URL     secret.String            `json:"url"`
	Method  string                   `json:"method"`
	Headers map[string]secret.String `json:"headers"`
	Body    secret.String            `json:"body"`
	Secret  secret.String            `json:"secret"`
}

// CreatedAlertChannel is the response to the creation of a channel. SigningSecret is set if it was generated; no other
// response contains it.
type CreatedAlertChannel struct {
	UID           string `json:"uid"`
	SigningSecret string `json:"signingSecret,omitempty"`
	Warning       string `json:"warning,omitempty"` // why the webhook will get nothing
}

// AlertTest is the response of PathAlertChannelTest: what became of a sample alert. Status and Response are missing if the receiver
// sent no response, Error and Hint if the sample was delivered.
type AlertTest struct {
	Delivered  bool   `json:"delivered"`
	Status     int    `json:"status,omitempty"`   // of HTTP
	Response   string `json:"response,omitempty"` // at most 200 characters; for email the number of messages
	DurationMS int64  `json:"durationMs"`
	Error      string `json:"error,omitempty"`
	Hint       string `json:"hint,omitempty"`
}

// RegistryHistory is the response of PathOCIRegistryHistory.
type RegistryHistory struct {
	Status RegistryWatchStatus    `json:"status"`
	Items  []RegistryHealthPeriod `json:"items"`
}

// RegistryWatchStatus is the health status of a registry. Values that are not known yet are omitted.
type RegistryWatchStatus struct {
	Checked                bool      `json:"checked"` // the other values are the result of a counted check
	Valid                  bool      `json:"valid"`
	Code                   string    `json:"code,omitempty"`
	Stage                  string    `json:"stage,omitempty"`
	Reason                 string    `json:"reason,omitempty"`
	Field                  string    `json:"field,omitempty"`
	Message                string    `json:"message,omitempty"`
	Hint                   string    `json:"hint,omitempty"`
	CertificateExpiresSoon bool      `json:"certificateExpiresSoon"`
	CredentialsExpireSoon  bool      `json:"credentialsExpireSoon"`
	CertificateNotAfter    time.Time `json:"certificateNotAfter,omitzero"`
	CredentialsNotAfter    time.Time `json:"credentialsNotAfter,omitzero"`
	Unconfirmed            bool      `json:"unconfirmed"`
	Since                  time.Time `json:"since,omitzero"`
	LastCheckedAt          time.Time `json:"lastCheckedAt,omitzero"`
	NextCheckAt            time.Time `json:"nextCheckAt,omitzero"`
}

// RegistryHealthPeriod is a period with the same health status.
type RegistryHealthPeriod struct {
	Since                  time.Time `json:"since"`
	LastCheckedAt          time.Time `json:"lastCheckedAt"`
	Checks                 int64     `json:"checks"`
	Counted                bool      `json:"counted"`
	Valid                  bool      `json:"valid"`
	Code                   string    `json:"code,omitempty"`
	Stage                  string    `json:"stage,omitempty"`
	Reason                 string    `json:"reason,omitempty"`
	Field                  string    `json:"field,omitempty"`
	Message                string    `json:"message,omitempty"`
	Hint                   string    `json:"hint,omitempty"`
	CertificateExpiresSoon bool      `json:"certificateExpiresSoon"`
	CredentialsExpireSoon  bool      `json:"credentialsExpireSoon"`
	CertificateNotAfter    time.Time `json:"certificateNotAfter,omitzero"`
	CredentialsNotAfter    time.Time `json:"credentialsNotAfter,omitzero"`
	Report                 any       `json:"report"` // of the first check of the period; null if the definition could not be checked
}

// Mutes is the response of PathMutes: the times without alerts that have not ended.
type Mutes struct {
	Items []Mute `json:"items"`
}

// Mute is a time without alerts.
type Mute struct {
	Metadata Metadata   `json:"metadata"`
	Spec     MuteSpec   `json:"spec"`
	Status   MuteStatus `json:"status"`
}

// MuteRequest is the body that creates a mute.
type MuteRequest struct {
	Spec MuteSpec `json:"spec"`
}

// MuteSpec says what is muted, and when: a registry, those with a label (KEY=VALUE, or KEY for every value), or without both the whole
// organization. The times are RFC 3339; an empty From means now.
type MuteSpec struct {
	RegistryUID string `json:"registryUid,omitempty"`
	Label       string `json:"label,omitempty"`
	From        string `json:"from,omitempty"`
	Until       string `json:"until"`
	Reason      string `json:"reason,omitempty"`
}

// MuteStatus has who created a mute, and whether it is active now.
type MuteStatus struct {
	IsActive     bool   `json:"isActive"`
	CreatedBy    string `json:"createdBy"`
	RegistryName string `json:"registryName,omitempty"`
}

// Reminders are for GET and PUT PathReminders: when an organization gets alerts about what ends.
type Reminders struct {
	Spec RemindersSpec `json:"spec"`
}

// RemindersSpec has how many days before the end of an API key an alert is sent: at most three, each from 1 to 90; none sends no alerts.
type RemindersSpec struct {
	APIKeyDays []int `json:"apiKeyDays"`
}
