package server

import (
	"net/http"
	"sync"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/directory"
)

// shownComponents is built once: it is the same for all callers, and clients read it often.
var shownComponents = sync.OnceValue(func() api.AlertComponents {
	components := alerts.Components()
	shown := make([]api.AlertComponent, len(components))
	for i, c := range components {
		shown[i] = api.AlertComponent{Name: c.Name, Description: c.Description, SupportedChannels: c.Channels}
	}
	return api.AlertComponents{Components: shown}
})

// alertComponents is GET /v1/projects/alerts.
func alertComponents(*call) (response, error) {
	return response{http.StatusOK, shownComponents()}, nil
}

// alertHandlers handles the routes of alert channels.
type alertHandlers struct {
	channels  *alerts.Channels
	directory *directory.Directory
}

// scope returns the owner of the channels that the path names. It hides the alerts of a project that the caller may not
// see.
func (h alertHandlers) scope(c *call) (alerts.Scope, error) {
	project, err := projectOfPath(c, h.directory)
	return alerts.Scope{OrgUID: project.OrgUID, ProjectUID: project.UID, Component: c.PathValue("component")}, err
}

// listChannels is GET /v1/projects/{uid}/alerts/{component}.
func (h alertHandlers) listChannels(c *call) (response, error) {
	in, err := h.scope(c)
	if err != nil {
		return response{}, err
	}
	alert, err := shownAlert(c, h.channels, in)
	return response{http.StatusOK, alert}, err
}

// shownAlert returns the channels of a component.
func shownAlert(c *call, stored *alerts.Channels, in alerts.Scope) (api.Alert, error) {
	list, err := stored.List(c.Context(), in)
	shown := make([]api.AlertChannel, len(list))
	for i, channel := range list {
		shown[i] = alertChannel(channel)
	}
	return api.Alert{Component: in.Component, Channels: shown}, err
}

// getChannel is GET /v1/projects/{uid}/alerts/{component}/{alertUid}.
func (h alertHandlers) getChannel(c *call) (response, error) {
	in, err := h.scope(c)
	if err != nil {
		return response{}, err
	}
	channel, err := h.channels.Get(c.Context(), in, c.PathValue("alertUid"))
	return response{http.StatusOK, alertChannel(channel)}, err
}

func alertChannel(c alerts.Channel) api.AlertChannel {
	shown := api.AlertChannel{UID: c.UID, Name: c.Name, Type: c.Type, IsActive: c.Active, AlertAllUsers: c.AlertAllUsers,
		Identifiers: append([]string{}, c.Identifiers...), CreatedAt: c.CreatedAt}
	shown.Unconfirmed = c.Unconfirmed
	shown.AfterMinutes, shown.RepeatHours = c.Times()
	if h := c.HTTP; h != nil {
		shown.HTTP = &api.AlertChannelHTTP{URL: h.URL.Reveal(), Method: h.Method, Headers: h.Headers, Body: h.Body,
			Secret: h.Secret} // the URL is already masked except for scheme and host
	}
	if !c.Status.At.IsZero() {
		shown.Status = &api.AlertStatus{IsSucceeded: c.Status.OK, Message: c.Status.Message, Time: c.Status.At}
	}
	return shown
}

// createChannel is POST /v1/projects/{uid}/alerts/{component}.
func (h alertHandlers) createChannel(c *call) (response, error) {
	in, input, err := h.readChannel(c)
	if err != nil {
		return response{}, err
	}
	uid, signing, err := h.channels.Create(c.Context(), c.principal, c.origin, in, input)
	created := api.CreatedAlertChannel{UID: uid, SigningSecret: signing.Reveal()}
	if err == nil && input.HTTP != nil {
		created.Warning = h.channels.Refusal(c.Context(), input.HTTP.URL)
	}
	return response{http.StatusCreated, created}, err
}

// updateChannel is PUT /v1/projects/{uid}/alerts/{component}/{alertUid}.
func (h alertHandlers) updateChannel(c *call) (response, error) {
	in, input, err := h.readChannel(c)
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.channels.Update(c.Context(), c.principal, c.origin, in, c.PathValue("alertUid"), input)
}

func (h alertHandlers) readChannel(c *call) (alerts.Scope, alerts.Channel, error) {
	var body api.AlertChannelRequest
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return alerts.Scope{}, alerts.Channel{}, err
	}
	in, err := h.scope(c)
	return in, channelInput(body), err
}

// replaceChannels is PUT /v1/projects/{uid}/alerts/{component}.
func (h alertHandlers) replaceChannels(c *call) (response, error) {
	var body api.AlertRequest
	if err := c.read(&body, func() []fault.Field {
		if body.Channels == nil { // an empty list deletes all channels; a missing one is probably a mistake
			return fault.FieldProblem("channels", "is required")
		}
		return nil
	}); err != nil {
		return response{}, err
	}
	in, err := h.scope(c)
	if err != nil {
		return response{}, err
	}
	input := make([]alerts.Channel, len(body.Channels))
	for i, channel := range body.Channels {
		input[i] = channelInput(channel)
		input[i].UID = channel.UID
	}
	return response{status: http.StatusNoContent}, h.channels.Replace(c.Context(), c.principal, c.origin, in, input)
}

// testChannel is POST /v1/projects/{uid}/alerts/{component}/{alertUid}/test.
func (h alertHandlers) testChannel(c *call) (response, error) {
	in, err := h.scope(c)
	if err != nil {
		return response{}, err
	}
	t, err := h.channels.Test(c.Context(), c.principal, c.origin, in, c.PathValue("alertUid"))
	return response{http.StatusOK, api.AlertTest{Delivered: t.Delivered, Status: t.Status, Response: t.Response,
		DurationMS: t.Duration.Milliseconds(), Error: t.Error, Hint: t.Hint}}, err
}

// channelInput omits the uid: where a request is about one channel, the path has its uid.
func channelInput(body api.AlertChannelRequest) alerts.Channel {
	input := alerts.Channel{KeepName: body.Name == nil, Type: body.Type, Active: body.IsActive, AlertAllUsers: body.AlertAllUsers,
		Identifiers: body.Identifiers, AfterMinutes: body.AfterMinutes, RepeatHours: body.RepeatHours}
	if body.Name != nil {
		input.Name = *body.Name
	}
	if h := body.HTTP; h != nil {
		input.HTTP = &alerts.HTTP{URL: h.URL, Method: h.Method, Headers: h.Headers, Body: h.Body, Secret: h.Secret}
	}
	return input
}

// deleteChannels is DELETE /v1/projects/{uid}/alerts/{component} and …/{alertUid}.
func (h alertHandlers) deleteChannels(c *call) (response, error) {
	in, err := h.scope(c)
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.channels.Delete(c.Context(), c.principal, c.origin, in, c.PathValue("alertUid"))
}
