// Package alertbodies has the bodies of webhooks that services for chats and incidents understand. Commands and forms
// create channels with them.
package alertbodies

import (
	"encoding/json"
	"fmt"
)

const (
	// Slack is the body for an incoming webhook of Slack.
	Slack = `{"text": "{{component}}: {{kind}}", "blocks": [{"type": "section", "text": {"type": "plain_text", "text": ` +
		`"{{message}}"}}, {"type": "context", "elements": [{"type": "plain_text", "text": "Registry: {{registry}}"}, {"type": ` +
		`"plain_text", "text": "Fix: {{hint}}"}, {"type": "mrkdwn", "text": "Page: {{link}}"}]}]}`
	// Teams is the body for a workflow of Microsoft Teams.
	Teams = `{"type": "message", "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": {"$schema": ` +
		`"http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": [{"type": ` +
		`"TextBlock", "weight": "Bolder", "wrap": true, "text": "{{kind}} {{registry}}"}, {"type": "TextBlock", "wrap": true, "text": ` +
		`"{{message}}"}, {"type": "FactSet", "facts": [{"title": "Code", "value": "{{code}}"}, {"title": "Field", "value": ` +
		`"{{field}}"}, {"title": "Fix", "value": "{{hint}}"}, {"title": "Page", "value": "{{link}}"}]}]}}]}`

	// Opsgenie stands for requests of Opsgenie's Alert API: a recovery closes an alert by another request, which no template describes.
	Opsgenie = "{{opsgenie}}"

	pagerDuty = `{"routing_key": %s, "event_action": "{{action}}", "dedup_key": "regwarden-{{incident}}", "payload": {"summary": ` +
		`"{{kind}} {{registry}}: {{code}}", "severity": "error", "source": "regwarden", "timestamp": "{{at}}", "class": "{{kind}}", ` +
		`"custom_details": {"message": "{{message}}", "hint": "{{hint}}", "field": "{{field}}", "endpoint": "{{endpoint}}", ` +
		`"link": "{{link}}"}}}`
)

// PagerDuty returns the body for the Events API v2 of PagerDuty, with the integration key of a service.
func PagerDuty(key string) string {
	quoted, _ := json.Marshal(key) // never fails for a string
	return fmt.Sprintf(pagerDuty, quoted)
}
