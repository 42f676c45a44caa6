package palette_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// channelConfig is a channel of spectrocloud_alert, as it is on the wire.
type channelConfig struct {
	AlertAllUsers bool         `json:"alertAllUsers"`
	HTTP          *channelHTTP `json:"http,omitempty"`
	Identifiers   []string     `json:"identifiers"`
	IsActive      bool         `json:"isActive"`
	Type          string       `json:"type,omitempty"`
}

type channelHTTP struct {
	Body    string            `json:"body,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Method  string            `json:"method,omitempty"`
	URL     string            `json:"url,omitempty"`
}

func emailChannel(identifiers ...string) channelConfig {
	return channelConfig{IsActive: true, Type: "email", Identifiers: identifiers, AlertAllUsers: len(identifiers) == 0}
}

func webhook(url, body string) channelConfig {
	h := channelHTTP{Body: body, Headers: map[string]string{"X-Token": "t0p"}, Method: "POST", URL: url}
	return channelConfig{IsActive: true, Type: "http", HTTP: &h}
}

// applyAlert is create, update and, without channels, destroy: the channels are always replaced.
func (p *provider) applyAlert(channels ...channelConfig) *apiError {
	p.wire.t.Helper()
	body := encoded(p.wire.t, map[string]any{"channels": append([]channelConfig{}, channels...)})
	return p.call(put("/v1/projects/"+p.projectUID+"/alerts/ClusterHealth", body), nil)
}

// readAlert is a refresh: the last channel of each type in the project. there is false if the resource is dropped from the state.
func (p *provider) readAlert(project string) (email, http *channelConfig, there bool) {
	p.wire.t.Helper()
	var read struct {
		Spec *struct {
			Alerts []struct {
				Component string
				Channels  []channelConfig
			}
		}
	}
	p.must(get("/v1/projects/"+project), &read)
	if read.Spec == nil {
		p.crash("spec")
	}
	for _, alert := range read.Spec.Alerts {
		if alert.Component != "ClusterHealth" {
			continue
		}
		for _, channel := range alert.Channels {
			if channel.Type == "email" {
				email = &channel
			} else {
				http = &channel
			}
		}
	}
	return email, http, email != nil || http != nil
}

// The life of an alert in Terraform: create, plan, change, import, destroy. The secrets of a webhook are masked, so that a plan shows an
// update of its block; the update changes nothing.
func TestAlertResourceLife(t *testing.T) {
	w := start(t, "--smtp-host", "127.0.0.1", "--smtp-port", "1", "--smtp-from", "regwarden@own.example", "--smtp-tls", "none",
		"--alert-mail-domains", "acme.example")
	p := w.plugin()
	if _, _, there := p.readAlert(p.projectUID); there {
		t.Error("a new project has alerts")
	}
	own := "/v1/projects/" + p.projectUID + "/alerts/RegistryHealth"
	p.must(post(own, `{"type":"http","isActive":true,"http":{"url":"https://own.example/x"}}`, 201), nil)
	hook := webhook("https://hooks.example/services/1", `{"text":"{{message}}"}`)
	for _, applied := range [][]channelConfig{
		{emailChannel("ops@acme.example", "dev@acme.example")}, {emailChannel()}, {emailChannel(), hook}, {hook},
		{emailChannel("ops@acme.example"), hook},
		{webhook("https://hooks.example/services/2", `{"text":"{{kind}}"}`)},
	} {
		p := w.plugin()
		if err := p.applyAlert(applied...); err != nil {
			t.Fatalf("%+v: %v %s", applied, err, encoded(t, err.Details))
		}
		email, http, _ := w.plugin().readAlert(p.projectUID)
		for _, want := range applied {
			if want.Type == "http" {
				sameWebhook(t, want, http)
			} else if email == nil || !email.IsActive || !slices.Equal(email.Identifiers, want.Identifiers) ||
				email.AlertAllUsers != want.AlertAllUsers {
				t.Errorf("the plan is not empty: %+v, want %+v", email, want)
			}
		}
		if (email != nil) != (applied[0].Type == "email") || (http != nil) != (applied[len(applied)-1].Type == "http") {
			t.Errorf("read %v and %v after %+v", email, http, applied)
		}
	}
	p.sameChannel(emailChannel("ops@acme.example"), emailChannel("ops@acme.example", "dev@acme.example"))
	p.refused(get("/v1/projects/default"), 404, "ResourceNotFound") // import by name tries it as a uid first
	if err := w.plugin().applyAlert(); err != nil {
		t.Fatal(err)
	}
	if _, _, there := p.readAlert(p.projectUID); there {
		t.Error("a destroyed alert is still there")
	}
	var others struct{ Channels []channelConfig }
	if p.must(get(own), &others); len(others.Channels) != 1 {
		t.Errorf("the channels of another component are now %+v", others.Channels)
	}
}

// sameChannel changes the destination of the only channel, which stays with what the provider does not know.
func (p *provider) sameChannel(before, after channelConfig) {
	p.wire.t.Helper()
	type channel struct {
		UID          string
		AfterMinutes int
	}
	list := func(sent channelConfig) []channel {
		p.wire.t.Helper()
		if err := p.applyAlert(sent); err != nil {
			p.wire.t.Fatalf("%+v: %v", sent, err)
		}
		var read struct{ Channels []channel }
		p.must(get("/v1/projects/"+p.projectUID+"/alerts/ClusterHealth"), &read)
		return read.Channels
	}
	uid := list(before)[0].UID
	p.must(put("/v1/projects/"+p.projectUID+"/alerts/ClusterHealth/"+uid,
		strings.Replace(encoded(p.wire.t, before), "{", `{"afterMinutes":15,`, 1)), nil)
	if got := list(after); !slices.Equal(got, []channel{{uid, 15}}) {
		p.wire.t.Errorf("the channel %s is now %+v", uid, got)
	}
}

func sameWebhook(t *testing.T, want channelConfig, got *channelConfig) {
	t.Helper()
	masked := map[string]string{"X-Token": "********"}
	if got == nil || got.HTTP == nil || got.HTTP.Method != want.HTTP.Method || !got.IsActive || !maps.Equal(got.HTTP.Headers, masked) {
		t.Fatalf("the webhook is %+v", got)
	}
	for _, shown := range []string{got.HTTP.URL, got.HTTP.Body} {
		if !strings.HasSuffix(shown, "********") || strings.Contains(shown, "services") {
			t.Errorf("shown: %s", shown)
		}
	}
}

// What cannot be done is refused at once, with the reason where Terraform shows it.
func TestAlertResourceIsRefused(t *testing.T) {
	w := start(t)
	for reason, channel := range map[string]channelConfig{
		"smtp-host": emailChannel("ops@acme.example"),
		"POST, PUT": {IsActive: true, Type: "http", HTTP: &channelHTTP{Method: "GET", URL: "https://hooks.example", Body: "b"}},
	} {
		err := w.plugin().applyAlert(channel)
		if err == nil || err.Code != "InvalidRequest" || err.Retried != "" || !strings.Contains(encoded(t, err.Details), reason) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// A registry that is not valid is reported to the channel.
func TestAlertResourceGetsAlerts(t *testing.T) {
	bodies := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { bodies <- r.Header.Get("X-Token") }))
	t.Cleanup(receiver.Close)
	w := start(t)
	if err := w.plugin().applyAlert(webhook(receiver.URL, "{{kind}}")); err != nil {
		t.Fatal(err)
	}
	c := anonymous(t)
	c.EndpointSuffix = "missing"
	w.plugin().create(c)
	select {
	case token := <-bodies:
		if token != "t0p" {
			t.Errorf("the header is %q", token)
		}
	case <-time.After(time.Minute):
		t.Error("no alert")
	}
}
