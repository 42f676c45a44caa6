package alerts

import (
	"encoding/json"
	"net/url"
	"time"
)

// Services for incidents open one for the first alert of an incident and end it by another request with the same key.

// Actions of a webhook for an incident, in the words of PagerDuty.
const (
	actionTrigger = "trigger"
	actionResolve = "resolve"
)

// action returns what an alert does with its incident.
func (a Alert) action() string {
	if a.Kind == RegistryValid {
		return actionResolve
	}
	return actionTrigger
}

// incident returns the key of the alert's incident. The results of a registry's checks are one, which its recovery resolves. An expiry
// is another one, since a registry that is valid again may have a certificate that expires soon.
func (a Alert) incident() string {
	switch {
	case a.Registry == nil:
		return a.UID
	case a.Kind == CertificateExpiresSoon || a.Kind == CredentialsExpireSoon:
		return a.Registry.UID + "-" + string(a.Kind)
	}
	return a.Registry.UID
}

const (
	opsgenieSource  = "regwarden"
	opsgenieMessage = 130 // characters of a message that Opsgenie accepts
)

// opsgenieAlert is the request that creates an alert at Opsgenie.
type opsgenieAlert struct {
	Message     string            `json:"message"`
	Alias       string            `json:"alias"`
	Description string            `json:"description"`
	Source      string            `json:"source"`
	Details     map[string]string `json:"details"`
}

// opsgenieClosing is the request that closes an alert at Opsgenie.
type opsgenieClosing struct {
	Source string `json:"source"`
	Note   string `json:"note"`
}

// opsgenieRequest returns URL and body of the Alert API of Opsgenie, whose path for new alerts is base.
func opsgenieRequest(base string, a Alert) (to, body string, err error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", "", err
	}
	alias := "regwarden-" + a.incident()
	var sent any = opsgenieClosing{opsgenieSource, a.Message}
	if a.action() == actionResolve {
		u = u.JoinPath(alias, "close")
		u.RawQuery = url.Values{"identifierType": {"alias"}}.Encode()
	} else {
		message := []rune(a.Message)
		sent = opsgenieAlert{string(message[:min(len(message), opsgenieMessage)]), alias, text(a), opsgenieSource, opsgenieDetails(a)}
	}
	encoded, err := json.Marshal(sent)
	return u.String(), string(encoded), err
}

func opsgenieDetails(a Alert) map[string]string {
	details := map[string]string{"kind": string(a.Kind), "component": a.Component, "organization": a.Organization.Name,
		"at": a.At.UTC().Format(time.RFC3339)}
	if a.Link != "" {
		details["link"] = a.Link
	}
	if r := a.Registry; r != nil {
		details["registry"], details["endpoint"] = r.Name, r.Endpoint
		details["code"], details["field"], details["hint"] = r.Current.Code, r.Current.Field, r.Current.Hint
	}
	return details
}
