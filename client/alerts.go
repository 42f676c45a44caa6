package client

import (
	"context"
	"net/http"

	"github.com/regwarden/regwarden/api"
)

// Alerts has the operations on the alert channels of a project. A component is what raises alerts.
type Alerts struct{ c *Client }

// Components returns the components that raise alerts, and the types of their channels.
func (a Alerts) Components(ctx context.Context) ([]api.AlertComponent, error) {
	found, err := read[api.AlertComponents](ctx, a.c, request{path: api.PathProjectAlerts})
	return found.Components, err
}

// List returns the channels of a component. URLs, headers and bodies are masked.
func (a Alerts) List(ctx context.Context, project, component string) ([]api.AlertChannel, error) {
	found, err := read[api.Alert](ctx, a.c, request{path: api.PathAlert, args: []string{project, component}})
	return found.Channels, err
}

// Get returns a channel.
func (a Alerts) Get(ctx context.Context, project, component, uid string) (*api.AlertChannel, error) {
	return fetch[api.AlertChannel](ctx, a.c, request{path: api.PathAlertChannel, args: []string{project, component, uid}})
}

// Create adds a channel. No other response contains a generated signing secret.
func (a Alerts) Create(ctx context.Context, project, component string, channel api.AlertChannelRequest) (*api.CreatedAlertChannel, error) {
	return fetch[api.CreatedAlertChannel](ctx, a.c,
		request{method: http.MethodPost, path: api.PathAlert, args: []string{project, component}, in: channel, creates: true})
}

// Update replaces a channel.
func (a Alerts) Update(ctx context.Context, project, component, uid string, channel api.AlertChannelRequest) error {
	return a.c.put(ctx, api.PathAlertChannel, channel, project, component, uid)
}

// Replace replaces all channels of a component.
func (a Alerts) Replace(ctx context.Context, project, component string, channels api.AlertRequest) error {
	return a.c.put(ctx, api.PathAlert, channels, project, component)
}

// Test sends a sample through a stored channel now, and returns what became of it.
func (a Alerts) Test(ctx context.Context, project, component, uid string) (*api.AlertTest, error) {
	return fetch[api.AlertTest](ctx, a.c,
		request{method: http.MethodPost, path: api.PathAlertChannelTest, args: []string{project, component, uid}, creates: true})
}

// Delete deletes a channel.
func (a Alerts) Delete(ctx context.Context, project, component, uid string) error {
	return a.c.delete(ctx, api.PathAlertChannel, project, component, uid)
}

// DeleteAll deletes all channels of a component.
func (a Alerts) DeleteAll(ctx context.Context, project, component string) error {
	return a.c.delete(ctx, api.PathAlert, project, component)
}

// Mutes lists the times without alerts that have not ended.
func (a Alerts) Mutes(ctx context.Context) ([]api.Mute, error) {
	found, err := read[api.Mutes](ctx, a.c, request{path: api.PathMutes})
	return found.Items, err
}

// Mute sends no alerts of a registry, of those with a label, or of the organization for a time.
func (a Alerts) Mute(ctx context.Context, mute api.MuteSpec) (*api.Created, error) {
	return fetch[api.Created](ctx, a.c,
		request{method: http.MethodPost, path: api.PathMutes, in: api.MuteRequest{Spec: mute}, creates: true})
}

// Unmute ends a mute.
func (a Alerts) Unmute(ctx context.Context, uid string) error {
	return a.c.delete(ctx, api.PathMute, uid)
}

// Reminders returns how many days before the end of an API key the organization gets alerts, the most first.
func (a Alerts) Reminders(ctx context.Context) ([]int, error) {
	found, err := read[api.Reminders](ctx, a.c, request{path: api.PathReminders})
	return found.Spec.APIKeyDays, err
}

// SetReminders replaces them; none sends no alerts.
func (a Alerts) SetReminders(ctx context.Context, days ...int) error {
	return a.c.put(ctx, api.PathReminders, api.Reminders{Spec: api.RemindersSpec{APIKeyDays: append([]int{}, days...)}})
}
