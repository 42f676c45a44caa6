// Package channelform has the form of an alert channel: its fields for each destination, and the channel that it describes.
package channelform

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/alertbodies"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/secret"
)

// Host is what a webhook sends to. Its URL is often a secret, so only its host is shown.
func Host(c alerts.Channel) string {
	if u, err := url.Parse(c.HTTP.URL.Reveal()); err == nil && u.Host != "" { // masked except for scheme and host
		return u.Host
	}
	return "URL that cannot be decrypted"
}

// Values of the field "template": what a webhook sends.
const (
	sendUnchanged = ""
	sendJSON      = "json"
	sendSlack     = "slack"
	sendTeams     = "teams"
	sendPagerDuty = "pagerduty"
	sendOpsgenie  = "opsgenie"
	sendBody      = "body"
)

const storedValue = secret.String(secret.Mask) // stands for it

// Destination is what a channel sends to, chosen before its form.
type Destination struct {
	Name, Label string
	email       bool
	template    string // of a webhook
	address     string // of a webhook: for example
	fixed       bool   // the address is the same for everyone
}

// Destinations are those that a new channel may have.
var Destinations = []Destination{
	{Name: "slack", Label: "Slack", template: sendSlack, address: "https://hooks.slack.com/services/…"},
	{Name: "teams", Label: "Microsoft Teams", template: sendTeams, address: "https://….logic.azure.com/workflows/…"},
	{Name: "pagerduty", Label: "PagerDuty", template: sendPagerDuty, address: "https://events.pagerduty.com/v2/enqueue", fixed: true},
	{Name: "opsgenie", Label: "Opsgenie", template: sendOpsgenie, address: "https://api.opsgenie.com/v2/alerts", fixed: true},
	{Name: alerts.TypeEmail, Label: "Email", email: true},
	{Name: alerts.TypeHTTP, Label: "Webhook"},
}

// Find returns the destination of a name.
func Find(name string) (Destination, bool) {
	for _, d := range Destinations {
		if d.Name == name {
			return d, true
		}
	}
	return Destination{}, false
}

// New returns a channel without settings.
func (d Destination) New() alerts.Channel {
	if d.email {
		return alerts.Channel{Type: alerts.TypeEmail, Active: true}
	}
	return alerts.Channel{Type: alerts.TypeHTTP, Active: true, HTTP: &alerts.HTTP{Method: http.MethodPost}}
}

// Fields are the fields for a new channel: those that the destination needs.
func (d Destination) Fields() []forms.Field {
	fields := Fields(d.New())
	if d.email {
		return fields
	}
	var own []forms.Field
	for _, f := range fields {
		switch f.Name {
		case "template":
			if d.template != "" {
				continue
			}
			f.Options = forms.Options(sendJSON, "The alert as JSON", sendBody, "A body of your own")
		case "http.url":
			f.Required = true
			if d.template == "" {
				break
			}
			f.Hint = "For example " + d.address + ". It is not shown again."
			if d.fixed {
				f.Secret, f.Value, f.Hint = false, d.address, ""
			}
		case "routingKey":
			if d.template != sendPagerDuty {
				continue
			}
			f.Hint, f.Required = "", true
		case "name", "isActive", "afterMinutes", "repeatHours":
		default:
			if d.template != "" {
				continue
			}
			f.Hint, _, _ = strings.Cut(f.Hint, " Opsgenie")
		}
		own = append(own, f)
	}
	if d.template == sendOpsgenie {
		own = append(own, forms.Field{Name: "genieKey", Label: "API key of Opsgenie", Type: "password", Required: true})
	}
	return own
}

// Input returns the new channel that a form of the destination describes.
func (d Destination) Input(values forms.Values) (alerts.Channel, error) {
	if d.template == sendOpsgenie && strings.TrimSpace(values.PostFormValue("genieKey")) == "" {
		return d.New(), fault.InvalidField("genieKey", "is required")
	}
	return Input(templated{values, d.template}, d.New())
}

// templated are the values of a form whose destination decides what is sent.
type templated struct {
	forms.Values
	template string
}

// PostFormValue returns a value of the form, or what the destination decides.
func (t templated) PostFormValue(name string) string {
	switch {
	case t.template == "":
	case name == "template":
		return t.template
	case name == "http.method":
		return http.MethodPost
	case name == "http.headers" && t.template == sendOpsgenie:
		return "Authorization: GenieKey " + strings.TrimSpace(t.Values.PostFormValue("genieKey"))
	}
	return t.Values.PostFormValue(name)
}

// Fields are the fields for a channel. A stored one has a uid.
func Fields(c alerts.Channel) []forms.Field {
	name := forms.Field{Name: "name", Label: "Name", Value: c.Name, Hint: "For lists and messages. Empty: none."}
	active := forms.Field{Name: "isActive", Label: "Send alerts", Type: "checkbox", Value: forms.Truth(c.Active)}
	if c.HTTP != nil {
		return append(append(append([]forms.Field{name}, webhookFields(c)...), timeFields(c)...), active)
	}
	return append([]forms.Field{name,
		{Name: "identifiers", Label: "Addresses", Type: "textarea", Value: strings.Join(c.Identifiers, "\n"),
			Hint: "One in each line. An address outside of the operator's domains first has to confirm a link that it is sent. " +
				"Empty: only the users chosen below get alerts."},
		{Name: "alertAllUsers", Label: "Also the users of the project and all administrators", Type: "checkbox",
			Value: forms.Truth(c.AlertAllUsers)},
	}, append(timeFields(c), active)...)
}

// timeFields are when the channel alerts of a registry.
func timeFields(c alerts.Channel) []forms.Field {
	number := func(n *int64) string {
		if n == nil || *n == 0 {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	return []forms.Field{
		{Name: "afterMinutes", Label: "Alert after minutes", Type: "number", Value: number(c.AfterMinutes),
			Hint: "Of failing, 1–1440. A registry that recovers before causes no alert. Empty: at once."},
		{Name: "repeatHours", Label: "Repeat every hours", Type: "number", Value: number(c.RepeatHours),
			Hint: "While a registry fails, 1–168. Empty: one alert for each change."},
	}
}

// readTimes sets when the channel alerts of a registry. An empty field is 0.
func readTimes(values forms.Values, input *alerts.Channel) (problems []fault.Field) {
	for name, to := range map[string]**int64{"afterMinutes": &input.AfterMinutes, "repeatHours": &input.RepeatHours} {
		n, err := strconv.ParseInt(cmp.Or(strings.TrimSpace(values.PostFormValue(name)), "0"), 10, 64)
		if *to = &n; err != nil {
			problems = append(problems, fault.Field{Field: name, Problem: "must be a whole number"})
		}
	}
	return problems
}

func webhookFields(c alerts.Channel) []forms.Field {
	address := forms.Field{Name: "http.url", Label: "URL", Type: "url", Secret: true,
		Hint: "For example https://hooks.example.com/regwarden. It is not shown again."}
	send := forms.Field{Name: "template", Label: "Send", Type: "select",
		Options: forms.Options(sendJSON, "The alert as JSON", sendSlack, "A message for Slack", sendTeams, "A card for Microsoft Teams",
			sendPagerDuty, "An event for PagerDuty", sendOpsgenie, "An alert for Opsgenie", sendBody, "A body of your own")}
	headers := forms.Field{Name: "http.headers", Label: "Headers", Type: "textarea", Rows: 2, Secret: true,
		Hint: "One in each line, as Name: value. Empty: none. " +
			"Opsgenie needs Authorization: GenieKey with its key, and the URL https://api.opsgenie.com/v2/alerts."}
	signing := forms.Field{Name: "http.secret", Label: "Signing secret", Type: "password", Autocomplete: "new-password",
		Hint: "16 bytes or more. Empty: one is generated and shown once."}
	without := []forms.Field(nil)
	if c.UID != "" {
		address.Hint = "Sends to " + Host(c) + ". Empty means unchanged."
		send.Options = append(forms.Options(sendUnchanged, "Unchanged"), send.Options...)
		headers.Hint, signing.Hint = "One in each line, as Name: value. Empty means unchanged.", "16 bytes or more. Empty means unchanged."
		if names := headerNames(c); len(names) > 0 {
			headers.Hint += " Stored: " + strings.Join(names, ", ") +
				". A name without a value has the stored one; headers that you leave out are removed."
			without = []forms.Field{{Name: "removeHeaders", Label: "Remove all headers", Type: "checkbox"}}
		}
	}
	fields := []forms.Field{address,
		{Name: "http.method", Label: "Method", Type: "select", Value: c.HTTP.Method,
			Options: forms.Options(http.MethodPost, "POST", http.MethodPut, "PUT")}, send,
		{Name: "routingKey", Label: "Integration key of PagerDuty", Type: "password",
			Hint: "For an event for PagerDuty. Its URL is https://events.pagerduty.com/v2/enqueue."},
		{Name: "http.body", Label: "Body of your own", Type: "textarea", Secret: true,
			Hint: "A template with placeholders such as {{message}} and {{hint}}. It is not shown again."},
		headers}
	return append(append(fields, without...), signing)
}

// Input returns the channel that a form describes. What it leaves empty is that of old, where masks stand for stored values.
func Input(values forms.Values, old alerts.Channel) (alerts.Channel, error) {
	input := old
	input.Name = values.PostFormValue("name")
	input.Active = values.PostFormValue("isActive") == "true"
	if problems := readTimes(values, &input); len(problems) > 0 {
		return input, fault.InvalidFields(problems...)
	}
	if old.HTTP == nil {
		input.AlertAllUsers = values.PostFormValue("alertAllUsers") == "true"
		input.Identifiers = strings.FieldsFunc(values.PostFormValue("identifiers"),
			func(r rune) bool { return strings.ContainsRune("\r\n\t ,;", r) })
		return input, nil
	}
	sent := *old.HTTP
	input.HTTP, sent.Method = &sent, values.PostFormValue("http.method")
	if to := strings.TrimSpace(values.PostFormValue("http.url")); to != "" {
		sent.URL = secret.String(to)
	}
	if signing := values.PostFormValue("http.secret"); signing != "" {
		sent.Secret = secret.String(signing)
	}
	if problems := append(readHeaders(values, &sent), readBody(values, &sent)...); len(problems) > 0 {
		return input, fault.InvalidFields(problems...)
	}
	return input, nil
}

// readBody sets what the webhook sends.
func readBody(values forms.Values, sent *alerts.HTTP) []fault.Field {
	body := ""
	switch values.PostFormValue("template") {
	case sendUnchanged:
		if values.PostFormValue("http.body") != "" {
			return fault.FieldProblem("template", "must be a body of your own, since there is one below")
		}
		return nil
	case sendJSON:
	case sendSlack:
		body = alertbodies.Slack
	case sendTeams:
		body = alertbodies.Teams
	case sendOpsgenie:
		body = alertbodies.Opsgenie
	case sendPagerDuty:
		key := strings.TrimSpace(values.PostFormValue("routingKey"))
		if key == "" {
			return fault.FieldProblem("routingKey", "is required for PagerDuty")
		}
		body = alertbodies.PagerDuty(key)
	case sendBody:
		if body = values.PostFormValue("http.body"); body == "" {
			return fault.FieldProblem("http.body", "is required")
		}
	default:
		return fault.FieldProblem("template", "must be one of the list")
	}
	sent.Body = secret.String(body)
	return nil
}

// readHeaders sets the headers of the webhook.
func readHeaders(values forms.Values, sent *alerts.HTTP) []fault.Field {
	if values.PostFormValue("removeHeaders") == "true" {
		sent.Headers = nil
	}
	text := strings.TrimSpace(values.PostFormValue("http.headers"))
	if text == "" {
		return nil
	}
	sent.Headers = map[string]secret.String{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if name == "" && value == "" {
			continue
		}
		if _, twice := sent.Headers[name]; twice {
			return fault.FieldProblem("http.headers", "must not have a name twice")
		}
		if sent.Headers[name] = secret.String(value); value == "" {
			sent.Headers[name] = storedValue
		}
	}
	return nil
}

// VerifiesSignatures reports whether the receiver can verify signatures.
func (d Destination) VerifiesSignatures(values forms.Values) bool {
	send := templated{values, d.template}.PostFormValue("template")
	return send == sendJSON || send == sendBody
}

// headerNames are the names of the stored headers, in their order.
func headerNames(c alerts.Channel) []string {
	return slices.Sorted(maps.Keys(c.HTTP.Headers))
}
