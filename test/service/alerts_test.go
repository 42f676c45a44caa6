package service_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
)

// channelsOf is where a project's channels for the health of registries are.
func channelsOf(project string) string { return "/v1/projects/" + project + "/alerts/RegistryHealth" }

func hook(url string) string {
	return instance.JSON(object{"type": "http", "isActive": true, "alertAllUsers": false, "identifiers": []string{},
		"http": object{"url": url, "method": "POST"}})
}

// project is the uid of the first project.
func (p person) project() string {
	p.t.Helper()
	var list items
	p.get("/v1/projects", &list)
	return list.Items[0].Metadata.UID
}

// account is a registry that knows one password, which can be changed.
type account struct {
	mu       sync.Mutex
	password string
	checks   int
}

func (a *account) change(password string) { a.mu.Lock(); defer a.mu.Unlock(); a.password = password }

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checks++
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	w.Header().Set("Content-Type", "application/json")
	if _, password, ok := r.BasicAuth(); !ok || password != a.password {
		w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"no"}]}`)
		return
	}
	_, _ = io.WriteString(w, "{}")
}

func (a *account) checked() int { a.mu.Lock(); defer a.mu.Unlock(); return a.checks }

// delivery is what a webhook was sent.
type delivery struct {
	ID            string `json:"deliveryId"`
	Kind, Message string
	At            time.Time
	key           string // of the header
}

// hooks receives deliveries.
type hooks struct {
	mu   sync.Mutex
	got  []delivery
	hold chan struct{} // when set, responses wait until it is closed
}

func (h *hooks) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var d delivery
	_ = json.Unmarshal(body, &d) // a body that is not a delivery has no kind, which fails the test
	d.key = r.Header.Get("Regwarden-Delivery")
	h.mu.Lock()
	h.got = append(h.got, d)
	hold := h.hold
	h.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
}

func (h *hooks) kinds() (kinds []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.got {
		kinds = append(kinds, d.Kind)
	}
	return kinds
}

func listenHere(t *testing.T, handler http.Handler) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// health is what a registry and its summary have in status.health.
type health struct {
	State, Code, Stage, Reason, Field, Message, Hint string
	Since, LastCheck, NextCheck                      time.Time
}

func watchEvery(interval string, more ...string) instance.Options {
	return instance.Options{Flags: append([]string{"--watch-interval", interval, "--metrics-listen", "127.0.0.1:0"}, more...)}
}

// A password that expires soon is in the health and its history with its date, and raises one alert that names it.
func TestCredentialsExpireSoon(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, watchEvery("1s"))
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	password := realregistry.ExpiringPassword(3 * 24 * time.Hour)
	registry, receiver := &account{password: password}, &hooks{}
	admin.make(channelsOf(admin.project()), hook(listenHere(t, receiver)))
	uid := admin.make(registriesPath, newRegistry("watched", spec(listenHere(t, registry), basicAuth(password), nil)))
	var history api.RegistryHistory
	instance.Await(t, "two checks", func() bool {
		admin.get(at(uid)+"/history", &history)
		return len(history.Items) > 0 && history.Items[0].Checks > 1
	})
	type entity struct{ Status api.OCIRegistryStatus }
	var single entity
	var list struct{ Items []entity }
	admin.get(at(uid), &single)
	admin.get("/v1/registries/oci/summary", &list)
	for name, expiring := range map[string]bool{"registry": single.Status.Health.CredentialsExpireSoon,
		"list":   list.Items[0].Status.Health.CredentialsExpireSoon,
		"status": history.Status.CredentialsExpireSoon, "history": history.Items[0].CredentialsExpireSoon} {
		if !expiring || !history.Status.Valid {
			t.Errorf("%s: the credentials expire soon: %t", name, expiring)
		}
	}
	var counts api.RegistryHealthCounts
	admin.get("/v1/registries/oci/summary/health", &counts)
	expires := history.Status.CredentialsNotAfter
	if left := time.Until(expires); left > 3*24*time.Hour || left < 2*24*time.Hour {
		t.Errorf("the credentials expire at %v", expires)
	}
	for name, at := range map[string]*time.Time{"registry": single.Status.Health.CredentialsNotAfter,
		"list":    list.Items[0].Status.Health.CredentialsNotAfter,
		"history": &history.Items[0].CredentialsNotAfter, "counts": &counts.CredentialsNotAfter} {
		if at == nil || !at.Equal(expires) {
			t.Errorf("%s: the credentials expire at %v, want %v", name, at, expires)
		}
	}
	instance.Await(t, "the alert", func() bool { return len(receiver.kinds()) > 0 })
	if got := receiver.kinds(); !slices.Equal(got, []string{"credentialsExpireSoon"}) {
		t.Errorf("alerts %v, want one", got)
	}
	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	if message := receiver.got[0].Message; !strings.HasSuffix(message, " expire on "+expires.UTC().Format(time.RFC1123)+".") {
		t.Errorf("the alert: %s", message)
	}
}

// The registry of a stored definition changes its password: one alert is sent then, and one when the definition is fixed.
func TestAPasswordChangesWhileWatched(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, watchEvery("1s"))
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry, receiver := &account{password: "first"}, &hooks{}
	admin.make(channelsOf(admin.project()), hook(listenHere(t, receiver)))
	endpoint := listenHere(t, registry)
	uid := admin.make(registriesPath, newRegistry("watched", spec(endpoint, basicAuth("first"), nil)))
	var h api.RegistryHistory
	standing := func(valid bool) func() bool {
		return func() bool { admin.get(at(uid)+"/history", &h); return h.Status.Checked && h.Status.Valid == valid }
	}
	instance.Await(t, "the first check", standing(true))

	registry.change("second")
	instance.Await(t, "the watch notices", standing(false))
	var single struct{ Status struct{ Health health } }
	var list struct {
		Items []struct{ Status struct{ Health health } }
	}
	admin.get(at(uid), &single)
	admin.get("/v1/registries/oci/summary", &list)
	for _, got := range []health{single.Status.Health, list.Items[0].Status.Health} {
		if got.Since.IsZero() || got.LastCheck.Before(got.Since) || got.NextCheck.IsZero() {
			t.Errorf("health %+v", got)
		}
		got.Since, got.LastCheck, got.NextCheck = time.Time{}, time.Time{}, time.Time{}
		if want := (health{"failing", "RegistryAuthFailed", "auth", "refused", "auth.password", h.Items[0].Message, h.Status.Hint,
			time.Time{}, time.Time{}, time.Time{}}); got != want || got.Hint == "" {
			t.Errorf("health %+v, want %+v", got, want)
		}
	}
	ofIt := `{kind="oci",organization="Acme",registry="watched"} `
	for _, want := range []string{"regwarden_registry_healthy" + ofIt + "0", "regwarden_registry_last_check_timestamp_seconds" + ofIt,
		`regwarden_registry_failure_info{code="RegistryAuthFailed",kind="oci",organization="Acme",reason="refused",registry="watched",` +
			`stage="auth"} 1`, "regwarden_registry_series_omitted 0"} {
		if text := server.Metrics(t); !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s:\n%s", want, text)
		}
	}
	seen := registry.checked()
	instance.Await(t, "it is checked again and again", func() bool { return registry.checked() > seen+6 })
	if got := receiver.kinds(); !slices.Equal(got, []string{"registryNotValid"}) {
		t.Errorf("alerts %v, want one", got)
	}
	registry.change("third")
	admin.do("PUT", at(uid), newRegistry("watched", spec(endpoint, basicAuth("third"), nil))).Want(http.StatusNoContent)
	instance.Await(t, "the definition is valid again", standing(true))
	instance.Await(t, "the second alert", func() bool { return len(receiver.kinds()) > 1 })
	seen = registry.checked()
	instance.Await(t, "it is checked once more", func() bool { return registry.checked() > seen+4 })
	if got := receiver.kinds(); !slices.Equal(got, []string{"registryNotValid", "registryValid"}) {
		t.Errorf("alerts %v", got)
	}
	admin.get(at(uid)+"/history", &h)
	if len(h.Items) != 3 || !h.Items[0].Valid || h.Items[1].Code != "RegistryAuthFailed" || h.Items[1].Field != "auth.password" ||
		h.Items[1].Checks < 2 || h.Items[1].Report == nil || !h.Items[2].Counted {
		t.Errorf("history %+v", h)
	}
	admin.refused("GET", at(uid)+"/history?limit=0", "", 400, "InvalidRequest")
	admin.get(at(uid)+"/history?limit=1", &h)
	if len(h.Items) != 1 {
		t.Errorf("a limit of 1 gives %d", len(h.Items))
	}
	page := admin.records("?action=registry.watch")
	if len(page.Items) != 2 {
		t.Errorf("%d changes were recorded, want 2", len(page.Items))
	}
	text := server.Metrics(t)
	if strings.Contains(text, "regwarden_registry_failure_info") {
		t.Error("the metrics have a failure of a healthy registry")
	}
	if strings.Contains(text, `regwarden_watch_checks_total{outcome="notValid"} 0`) {
		t.Error("the metrics count no check that was not valid")
	}
	for _, want := range []string{"regwarden_registry_healthy" + ofIt + "1",
		`regwarden_alert_deliveries_total{channel="http",outcome="delivered"} 2`,
		`regwarden_watch_checks_total{outcome="notValid"}`,
		`regwarden_watch_records{state="late"} 0`, `regwarden_alert_deliveries_waiting 0`,
		`regwarden_queue_latency_seconds_bucket{queue="alerts",le="60"} 2`,
		`regwarden_queue_latency_seconds_bucket{queue="watch",le="60"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if code := server.Stop(syscall.SIGTERM); code != 0 || strings.Contains(server.Log(), "level=ERROR") {
		t.Errorf("exit %d\n%s", code, server.Log())
	}
}

// statuses are the messages of all channels, in order.
func (p person) statuses(project string) (messages []string) {
	p.t.Helper()
	var list struct {
		Channels []struct{ Status *struct{ Message string } }
	}
	p.get(channelsOf(project), &list)
	for _, c := range list.Channels {
		message := ""
		if c.Status != nil {
			message = c.Status.Message
		}
		messages = append(messages, message)
	}
	return messages
}

// A receiver that is down or slow, redirects, or has a forbidden address delays neither the other receivers nor the
// scheduled checks.
func TestReceiversThatFail(t *testing.T) {
	t.Parallel()
	forbidden, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	contacted := make(chan struct{}, 16)
	go func() {
		for {
			c, err := forbidden.Accept()
			if err != nil {
				return
			}
			contacted <- struct{}{}
			_ = c.Close()
		}
	}()
	defer forbidden.Close()
	server := instance.Start(t, watchEvery("1s", "--egress-deny", "127.0.0.2"))
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	project := admin.project()
	slow, good, redirected := &hooks{hold: make(chan struct{})}, &hooks{}, &hooks{}
	defer close(slow.hold)
	target := listenHere(t, redirected)
	for _, url := range []string{
		unusedEndpoint(t), listenHere(t, slow), "http://" + forbidden.Addr().String() + "/", server.URL,
		listenHere(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target, http.StatusTemporaryRedirect)
		})),
		listenHere(t, good),
	} {
		admin.make(channelsOf(project), hook(url))
	}
	registry := &account{password: "first"}
	uid := admin.make(registriesPath, newRegistry("watched", spec(listenHere(t, registry), basicAuth("first"), nil)))
	var h api.RegistryHistory
	instance.Await(t, "the first check", func() bool { admin.get(at(uid)+"/history", &h); return h.Status.Checked })
	registry.change("second")
	instance.Await(t, "an alert at the good receiver", func() bool { return len(good.kinds()) == 1 })
	want := []string{"the connection to the receiver failed", "the receiver did not respond within 15s",
		"not sent: the address is not allowed, since the operator denies this address",
		"not sent: the address is not allowed, since regwarden itself or its database listens on it",
		"the receiver returned HTTP 307; redirects are not followed, so set http.url to their target", "the receiver returned HTTP 200"}
	instance.Await(t, "the status of every channel", func() bool { return slices.Equal(admin.statuses(project), want) })
	seen := registry.checked()
	instance.Await(t, "another scheduled check", func() bool { return registry.checked() > seen })
	if len(redirected.kinds()) != 0 || len(contacted) != 0 {
		t.Errorf("a redirect was followed %d times, a forbidden address contacted %d times", len(redirected.kinds()), len(contacted))
	}
	if !strings.Contains(server.Metrics(t), "regwarden_alert_deliveries_waiting 5") {
		t.Error("something is not waiting to be sent again")
	}
}

// A kill between the change of state and the end of its delivery loses nothing: it is delivered again, as the same.
func TestAKillLosesNoAlert(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, watchEvery("1s"))
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	receiver := &hooks{hold: make(chan struct{})}
	admin.make(channelsOf(admin.project()), hook(listenHere(t, receiver)))
	uid := admin.make(registriesPath, newRegistry("watched", spec(listenHere(t, &account{password: "first"}), basicAuth("wrong"), nil)))
	instance.Await(t, "the delivery begins", func() bool { return len(receiver.kinds()) == 1 })
	server.Kill()
	receiver.mu.Lock()
	close(receiver.hold)
	receiver.hold = nil
	receiver.mu.Unlock()
	again := instance.Start(t, instance.Options{DataDir: server.DataDir, Flags: []string{"--watch-interval", "1s"}})
	admin, _ = loggedIn(t, again, instance.Email, instance.Org, instance.Password)
	instance.Await(t, "the delivery is made", func() bool { return len(receiver.kinds()) == 2 })
	first, second := receiver.got[0], receiver.got[1]
	if first.ID == "" || first.ID != second.ID || first.key != first.ID || second.key != first.ID || second.Kind != "registryNotValid" ||
		!first.At.Equal(second.At) {
		t.Errorf("delivered %+v, then %+v", first, second)
	}
	var h api.RegistryHistory
	admin.get(at(uid)+"/history", &h)
	if len(h.Items) != 1 || h.Status.Code != "RegistryAuthFailed" {
		t.Errorf("history %+v", h)
	}
}

// Channels over HTTP, in the shapes that public clients use.
func TestAlertChannels(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	var components struct {
		Components []struct {
			Name, Description string
			SupportedChannels []string
		}
	}
	admin.get(alerts, &components)
	if len(components.Components) != 3 || components.Components[2].Name != "ClusterHealth" ||
		components.Components[0].Name != "RegistryHealth" || components.Components[1].Name != "ApiKeyExpiry" ||
		!slices.Equal(components.Components[0].SupportedChannels, []string{"email", "http"}) || components.Components[0].Description == "" {
		t.Errorf("components %+v", components)
	}
	project := admin.project()
	path := channelsOf(project)
	const secretURL = "https://hooks.example.com/services/T0/x0xSECRET"
	var made struct{ UID, SigningSecret string }
	admin.do("POST", path, hook(secretURL)).Want(http.StatusCreated).Into(&made)
	if len(made.SigningSecret) < 16 {
		t.Errorf("made %+v", made)
	}
	var shown object
	admin.get(path+"/"+made.UID, &shown)
	sends := shown["http"].(object)
	if sends["url"] != "https://hooks.example.com/********" || sends["secret"] != "********" ||
		shown["isActive"] != true || shown["status"] != nil {
		t.Errorf("shown %v", shown)
	}
	admin.do("PUT", path+"/"+made.UID, instance.JSON(shown)).Want(http.StatusNoContent)
	admin.do("PUT", path, instance.JSON(object{"channels": []any{shown,
		object{"type": "http", "http": object{"url": "http://x.example.com/",
			"secret": "sixteen bytes or so"}}}})).Want(http.StatusNoContent)
	var list struct{ Channels []struct{ UID string } }
	admin.get(path, &list)
	if len(list.Channels) != 2 || list.Channels[0].UID != made.UID {
		t.Errorf("channels %+v", list)
	}
	wantFields(t, admin.refused("PUT", path, `{"channels":[{"type":"app"},{"type":"email"}]}`, 400, "InvalidRequest").Fault(),
		"channels[0].type", "channels[1].identifiers", "channels[1].type")
	wantFields(t, admin.refused("POST", path, `{"type":"http","http":{"url":"http://u:p@x.example.com/"}}`, 400, "InvalidRequest").Fault(),
		"http.url")

	for _, unknown := range []string{channelsOf(noUID), "/v1/projects/" + project + "/alerts/PodHealth"} {
		admin.refused("GET", unknown, "", 404, "ResourceNotFound")
		admin.refused("PUT", unknown, `{"channels":[]}`, 404, "ResourceNotFound")
		admin.refused("POST", unknown, hook(secretURL), 404, "ResourceNotFound")
		admin.refused("DELETE", unknown, "", 404, "ResourceNotFound")
	}
	for _, method := range []string{"GET", "DELETE"} {
		admin.refused(method, path+"/"+noUID, "", 404, "ResourceNotFound")
	}
	admin.refused("PUT", path+"/"+noUID, hook(secretURL), 404, "ResourceNotFound")

	admin.make("/v1/users", newUser("mate@acme.example", object{"projects": []string{"Default"}}))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	mate.get(path, &list)
	mate.get(path+"/"+made.UID, &shown)
	for _, try := range [][3]string{{"PUT", path, `{"channels":[]}`}, {"POST", path, hook(secretURL)}, {"DELETE", path, ""},
		{"PUT", path + "/" + made.UID, hook(secretURL)}, {"DELETE", path + "/" + made.UID, ""}} {
		mate.refused(try[0], try[1], try[2], 403, "OperationForbidden")
	}
	admin.do("DELETE", path+"/"+made.UID, "").Want(http.StatusNoContent)
	admin.do("DELETE", path, "").Want(http.StatusNoContent)
	admin.get(path, &list)
	if len(list.Channels) != 0 {
		t.Errorf("channels are left: %+v", list)
	}
	server.Kill()
	for _, name := range []string{"regwarden.db", "regwarden.db-wal"} {
		for _, hidden := range []string{"x0xSECRET", made.SigningSecret, "sixteen bytes or so"} {
			if strings.Contains(file(t, server, name), hidden) {
				t.Errorf("%.3s… is in clear in %s", hidden, name)
			}
		}
	}
	if !strings.Contains(file(t, server, "regwarden.db")+file(t, server, "regwarden.db-wal"), made.UID) {
		t.Error("the search does not see what the store holds")
	}
}

// A name that is missing keeps the stored one, which public clients do not know; an empty one removes it.
func TestNameOfAChannel(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	var made struct{ UID string }
	admin.do("POST", channelsOf(admin.project()), hook("https://hooks.example.com/")).Want(http.StatusCreated).Into(&made)
	path := channelsOf(admin.project()) + "/" + made.UID
	channel := object{"type": "http", "http": object{"url": "https://hooks.example.com/********", "method": "POST"}}
	for _, tt := range []struct {
		sent any // nil: missing
		want string
	}{{nil, ""}, {"Ops", "Ops"}, {nil, "Ops"}, {"Other", "Other"}, {"", ""}, {nil, ""}} {
		delete(channel, "name")
		if tt.sent != nil {
			channel["name"] = tt.sent
		}
		admin.do("PUT", path, instance.JSON(channel)).Want(http.StatusNoContent)
		var shown struct{ Name string }
		if admin.get(path, &shown); shown.Name != tt.want {
			t.Errorf("after the name %v it is %q, want %q", tt.sent, shown.Name, tt.want)
		}
	}
}

// An administrator tests a channel and sees what the receiver responded, without the secrets of the channel that it repeats.
func TestAChannelIsTested(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--check-per-minute", "3"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	receiver := listenHere(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "invalid_payload for "+r.URL.String())
	}))
	path := channelsOf(admin.project()) + "/" + admin.make(channelsOf(admin.project()), hook(receiver+"/services/T0P-S3CRET")) + "/test"
	var tested struct {
		Delivered             bool
		Status, DurationMS    int
		Response, Error, Hint string
	}
	response := admin.do("POST", path, "").Want(http.StatusOK)
	response.Into(&tested)
	if tested.Delivered || tested.Status != 400 || tested.Response != "invalid_payload for ********" || tested.Error == "" ||
		!strings.Contains(tested.Hint, "http.body") {
		t.Errorf("got %s", response.Body)
	}
	var record struct {
		Spec struct {
			Action   string
			Outcome  string
			Resource struct{ Target string }
		}
	}
	admin.get("/v1/audits/"+response.Header.Get("AuditUid"), &record)
	if record.Spec.Action != "alert.test" || record.Spec.Outcome != "failed" || record.Spec.Resource.Target != receiver {
		t.Errorf("the record is %+v", record)
	}
	admin.do("POST", path, "").Want(http.StatusOK)
	wantRetryAfter(t, admin.refused("POST", path, "", 429, "TooManyRequests"))
	server.Admin(t, matePassword+"\n", "user", "create", "--org", instance.Org, "--email", "mate@acme.example", "--project",
		"Default", "--password-stdin")
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	mate.refused("POST", path, "", 403, "OperationForbidden")
	if strings.Contains(server.Log(), "T0P-S3CRET") {
		t.Error("the log has the path of the webhook")
	}
}
