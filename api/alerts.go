package api

import (
	"time"

	"github.com/regwarden/regwarden/secret"
)

// AlertComponents answers PathProjectAlerts.
type AlertComponents struct {
	Components []AlertComponent `json:"components"`
}

// AlertComponent is one thing that alerts can be had about.
type AlertComponent struct {
	Name              string   `json:"name"`
	Description       string   `json:"description"`
	SupportedChannels []string `json:"supportedChannels"`
}

// Alert answers PathAlert with the channels of one component.
type Alert struct {
	Component string         `json:"component"`
	Channels  []AlertChannel `json:"channels"`
}

// AlertChannel is one channel as it is kept. What may be secret is masked.
type AlertChannel struct {
	UID           string            `json:"uid"`
	Type          string            `json:"type"`
	IsActive      bool              `json:"isActive"`
	AlertAllUsers bool              `json:"alertAllUsers"`
	Identifiers   []string          `json:"identifiers"`
	Unconfirmed   []string          `json:"unconfirmed,omitempty"` // of the identifiers; they get no alerts
	HTTP          *AlertChannelHTTP `json:"http,omitempty"`
	CreatedAt     time.Time         `json:"createdAt"`
	Status        *AlertStatus      `json:"status,omitempty"`
}

// AlertStatus is how the newest attempt to send by a channel ended.
type AlertStatus struct {
	IsSucceeded bool      `json:"isSucceeded"`
	Message     string    `json:"message"`
	Time        time.Time `json:"time"`
}

// AlertChannelHTTP is where and what a channel sends. Its texts may hold secrets, and print masked.
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

// AlertChannelRequest is a channel that is wanted. Status and times that public clients send back are not read.
type AlertChannelRequest struct {
	UID           string                   `json:"uid"`
	Type          string                   `json:"type"`
	IsActive      bool                     `json:"isActive"`
	AlertAllUsers bool                     `json:"alertAllUsers"`
	Identifiers   []string                 `json:"identifiers"`
	HTTP          *AlertChannelHTTPRequest `json:"http"`
}

// AlertChannelHTTPRequest is where and what a channel is to send.
type AlertChannelHTTPRequest struct {
	URL     secret.String            `json:"url"`
	Method  string                   `json:"method"`
	Headers map[string]secret.String `json:"headers"`
	Body    secret.String            `json:"body"`
	Secret  secret.String            `json:"secret"`
}

// CreatedAlertChannel answers what makes a channel. SigningSecret is there when it was made here, and nowhere else.
type CreatedAlertChannel struct {
	UID           string `json:"uid"`
	SigningSecret string `json:"signingSecret,omitempty"`
}

// RegistryHistory answers PathOCIRegistryHistory.
type RegistryHistory struct {
	Status RegistryWatchStatus `json:"status"`
	Items  []RegistryVerdict   `json:"items"`
}

// RegistryWatchStatus is what the watch knows of a registry now. What has not come is left out.
type RegistryWatchStatus struct {
	Checked                bool      `json:"checked"` // a check has counted, and the rest is its outcome
	Valid                  bool      `json:"valid"`
	Code                   string    `json:"code,omitempty"`
	Stage                  string    `json:"stage,omitempty"`
	Reason                 string    `json:"reason,omitempty"`
	Field                  string    `json:"field,omitempty"`
	CertificateExpiresSoon bool      `json:"certificateExpiresSoon"`
	Unconfirmed            bool      `json:"unconfirmed"`
	Since                  time.Time `json:"since,omitzero"`
	LastCheckedAt          time.Time `json:"lastCheckedAt,omitzero"`
	NextCheckAt            time.Time `json:"nextCheckAt,omitzero"`
}

// RegistryVerdict is a run of equal verdicts.
type RegistryVerdict struct {
	Since                  time.Time `json:"since"`
	LastCheckedAt          time.Time `json:"lastCheckedAt"`
	Checks                 int64     `json:"checks"`
	Counted                bool      `json:"counted"`
	Valid                  bool      `json:"valid"`
	Code                   string    `json:"code,omitempty"`
	Stage                  string    `json:"stage,omitempty"`
	Reason                 string    `json:"reason,omitempty"`
	Field                  string    `json:"field,omitempty"`
	CertificateExpiresSoon bool      `json:"certificateExpiresSoon"`
	Report                 any       `json:"report"` // of the run's first check; null when the definition could not be tried
}
