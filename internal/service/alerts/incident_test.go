package alerts

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/alertbodies"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// incidentService is a service for incidents. It has those that are open, by key, with the kind of alert that opened them.
type incidentService struct {
	mu   sync.Mutex
	open map[string]string
}

// read decodes a request and reports whether it has only known fields.
func read(r *http.Request, into any) bool {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	return r.Method == http.MethodPost && strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") && decoder.Decode(into) == nil
}

// pagerDuty is POST /v2/enqueue of PagerDuty: an event must have a key, a known action, a dedup_key of up to 255 characters to resolve an
// incident, and to trigger one a summary of up to 1,024 characters, a source and a known severity.
func (i *incidentService) pagerDuty(w http.ResponseWriter, r *http.Request) {
	var event struct {
		RoutingKey  string `json:"routing_key"`
		EventAction string `json:"event_action"`
		DedupKey    string `json:"dedup_key"`
		Payload     struct {
			Summary   string            `json:"summary"`
			Source    string            `json:"source"`
			Severity  string            `json:"severity"`
			Timestamp time.Time         `json:"timestamp"`
			Class     string            `json:"class"`
			Details   map[string]string `json:"custom_details"`
		} `json:"payload"`
	}
	p := &event.Payload
	ok := read(r, &event) && event.RoutingKey == "k1" && event.DedupKey != "" && utf8.RuneCountInString(event.DedupKey) <= 255
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case ok && event.EventAction == "resolve":
		delete(i.open, event.DedupKey)
	case ok && event.EventAction == "trigger" && p.Summary != "" && utf8.RuneCountInString(p.Summary) <= 1024 && p.Source != "" &&
		slices.Contains([]string{"critical", "error", "warning", "info"}, p.Severity):
		i.open[event.DedupKey] = p.Class
	default:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// opsgenie is POST /v2/alerts and POST /v2/alerts/{alias}/close?identifierType=alias of Opsgenie: a message must have 1 to 130
// characters, an alias at most 512.
func (i *incidentService) opsgenie(w http.ResponseWriter, r *http.Request) {
	var alert struct {
		Message, Alias, Description, Source string
		Details                             map[string]string
	}
	var closing struct{ User, Source, Note string }
	alias := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v2/alerts/"), "/close")
	i.mu.Lock()
	defer i.mu.Unlock()
	switch length := 0; {
	case r.Header.Get("Authorization") != "GenieKey k1":
		w.WriteHeader(http.StatusForbidden)
		return
	case r.URL.Path == "/v2/alerts" && r.URL.RawQuery == "" && read(r, &alert):
		if length = utf8.RuneCountInString(alert.Message); length == 0 || length > 130 || alert.Alias == "" || len(alert.Alias) > 512 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		i.open[alert.Alias] = alert.Details["kind"]
	case r.URL.Path == "/v2/alerts/"+alias+"/close" && r.URL.Query().Get("identifierType") == "alias" && read(r, &closing):
		delete(i.open, alias)
	default:
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// An incident is opened when a registry fails, once whatever its code, and resolved when it is valid again. An expiry that the same
// check found stays open.
func TestIncidentsEndWithTheirCause(t *testing.T) {
	for _, tt := range []struct {
		name, path, body string
		headers          map[string]secret.String
		respond          func(*incidentService) http.HandlerFunc
	}{
		{"PagerDuty", "/v2/enqueue", alertbodies.PagerDuty("k1"), nil, func(i *incidentService) http.HandlerFunc { return i.pagerDuty }},
		{"Opsgenie", "/v2/alerts", alertbodies.Opsgenie, map[string]secret.String{"Authorization": "GenieKey k1"},
			func(i *incidentService) http.HandlerFunc { return i.opsgenie }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service, r := &incidentService{open: map[string]string{}}, newReceiver(t)
			r.Config.Handler = tt.respond(service)
			f := newFixture(t, Config{Egress: loopback(t)})
			uid, _ := f.create(Channel{Type: TypeHTTP, Active: true,
				HTTP: &HTTP{URL: secret.String(r.URL + tt.path), Headers: tt.headers, Body: secret.String(tt.body)}})
			alert := sample(f)
			alert.Message += strings.Repeat(" é", 200)
			send := func(kind Kind, want ...string) {
				t.Helper()
				alert.Kind, alert.Registry.Current.Valid = kind, kind == RegistryValid
				f.write(func(ctx context.Context, tx *store.Tx) error { return Raise(ctx, tx, alert) })
				if f.attempt(); !f.channel(uid).Status.OK {
					t.Errorf("%s: %+v", kind, f.channel(uid).Status)
				}
				if got := slices.Sorted(maps.Values(service.open)); !slices.Equal(got, want) {
					t.Errorf("after %s the open incidents are %q, want %q", kind, got, want)
				}
			}
			send(RegistryNotValid, "registryNotValid")
			send(RegistryCodeChanged, "registryCodeChanged")
			send(CertificateExpiresSoon, "certificateExpiresSoon", "registryCodeChanged")
			send(RegistryValid, "certificateExpiresSoon")
			send(RegistryNotValid, "certificateExpiresSoon", "registryNotValid")
			if tested, err := f.Test(t.Context(), f.admin, audit.Origin{}, f.in, uid); err != nil || !tested.Delivered {
				t.Errorf("the test: %+v, %v", tested, err)
			}
		})
	}
}

// An alert about API keys is an incident of its own: another one is about other keys.
func TestIncidentsOfAPIKeys(t *testing.T) {
	a, b := Alert{UID: "a", Kind: APIKeyExpiresSoon}, Alert{UID: "b", Kind: APIKeyExpiresSoon}
	if a.incident() == b.incident() || a.action() != "trigger" {
		t.Errorf("%q and %q, %s", a.incident(), b.incident(), a.action())
	}
}
