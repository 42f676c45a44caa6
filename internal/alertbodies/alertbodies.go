// Package alertbodies has the bodies of webhooks that services for chats and incidents understand. Commands and forms
// create channels with them.
package alertbodies

import (
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed slack.json
var slack string

//go:embed teams.json
var teams string

//go:embed pagerduty.json
var pagerDuty string

// Slack returns the body for an incoming webhook of Slack.
func Slack() string { return strings.TrimSpace(slack) }

// Teams returns the body for a workflow of Microsoft Teams.
func Teams() string { return strings.TrimSpace(teams) }

// PagerDuty returns the body for the Events API v2 of PagerDuty, with the integration key of a service.
func PagerDuty(key string) (string, error) {
	quoted, err := json.Marshal(key)
	return strings.Replace(strings.TrimSpace(pagerDuty), `"XXXX"`, string(quoted), 1), err
}
