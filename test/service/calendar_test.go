package service_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// calendarKey has the form of a key of a calendar.
const calendarKey = "rwl_hpglbvfe6ntdkzfbxebsbvgou7dyua2enscoy5eaonioh2jm6vmtc6dcjq"

func calendarOf(key string) string { return "/v1/expiry/" + key + "/calendar.ics" }

// newCalendar creates a key of a calendar, with further members of its spec.
func (p person) newCalendar(name, more string) (key, uid string) {
	p.t.Helper()
	var made struct{ APIKey, UID string }
	p.do("POST", "/v1/apiKeys", `{"metadata":{"name":`+instance.JSON(name)+`},"spec":{"expiry":"`+tomorrow()+
		`","scope":"calendar"`+more+`}}`).Want(http.StatusCreated).Into(&made)
	return made.APIKey, made.UID
}

// notFound checks that a request of a calendar is refused, with the response of each other key that is not accepted.
func notFound(t *testing.T, client *instance.Client, what, key string) {
	t.Helper()
	response := client.Do("GET", calendarOf(key), "")
	if response.Status != http.StatusNotFound {
		t.Fatalf("%s: %d %s", what, response.Status, response.Body)
	}
	f := response.Fault()
	if f.Code != "ResourceNotFound" || f.Message != "Calendar not found." || f.Details.Reason != "" {
		t.Errorf("%s: %s", what, response.Body)
	}
	if response.Header.Get("Referrer-Policy") != "no-referrer" || !strings.Contains(response.Header.Get("Cache-Control"), "no-store") {
		t.Errorf("%s: headers %v", what, response.Header)
	}
}

// A calendar has what its user may see, by the key in its URL alone. Only the response to its creation has the key.
func TestCalendar(t *testing.T) {
	t.Parallel()
	collected := &collector{}
	receiver := httptest.NewServer(collected)
	t.Cleanup(receiver.Close)
	server := instance.Start(t, instance.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0", "--log-level", "debug"},
		Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL, "OTEL_BSP_SCHEDULE_DELAY=100"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	hostile := `a;b,c\nBEGIN:VEVENT ` + strings.Repeat("ä", 60)
	admin.newKey(hostile, "")
	mate.newKey("of the member", "")
	newRival(t, server)
	key, uid := admin.newCalendar("calendar", "")
	mates, _ := mate.newCalendar("calendar", "")

	anyone := server.Client(t)
	response := anyone.Do("GET", calendarOf(key), "").Want(http.StatusOK)
	for name, want := range map[string]string{"Content-Type": "text/calendar; charset=utf-8", "Cache-Control": "no-store",
		"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"} {
		if got := response.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	text := strings.ReplaceAll(response.Body, "\r\n ", "")
	for _, want := range []string{"BEGIN:VCALENDAR\r\n",
		`SUMMARY:API key a\;b\,c\\nBEGIN:VEVENT ` + strings.Repeat("ä", 60) + " expires\r\n",
		"SUMMARY:API key of the member expires\r\n", "UID:apiKey-" + uid + "@regwarden\r\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if strings.Contains(text, "theirs") || strings.Contains(text, key) {
		t.Errorf("the calendar has too much: %s", text)
	}
	if got := anyone.Do("GET", calendarOf(mates), "").Want(http.StatusOK).Body; strings.Contains(got, "BEGIN:VEVENT ") ||
		!strings.Contains(got, "of the member") || strings.Count(got, "BEGIN:VEVENT\r\n") != 2 {
		t.Errorf("a member sees %s", got)
	}
	anyone.Do("HEAD", calendarOf(key), "").Want(http.StatusMethodNotAllowed)
	collected.await(t, "GET /v1/expiry/{key}/calendar.ics", 1)

	collected.mu.Lock()
	defer collected.mu.Unlock()
	places := map[string]string{"the log": server.Log() + server.Out(), "the metrics": server.Metrics(t),
		"the traces": collected.text.String(), "the store": file(t, server, "regwarden.db-wal") + file(t, server, "regwarden.db"),
		"the list of keys": admin.do("GET", "/v1/apiKeys", "").Body}
	for _, record := range auditRecords(t, server) {
		places["the audit log"] += record.all
	}
	for place, all := range places {
		if strings.Contains(all, key[10:]) || all == "" {
			t.Errorf("%s has the key, or nothing", place)
		}
	}
	if !strings.Contains(places["the log"], "path=/v1/expiry/{key}/calendar.ics") {
		t.Error("the log does not have the request")
	}
}

// A key of a calendar is accepted in its URL alone, and no other key is accepted there.
func TestCalendarKeysAreNotInterchangeable(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, tokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	key, _ := admin.newCalendar("calendar", "")
	anyone := server.Client(t)
	anyone.Do("GET", calendarOf(key), "").Want(http.StatusOK) // known now
	for _, op := range operations {
		for _, header := range [][]string{{"ApiKey", key}, {"Authorization", key}, {"Authorization", "Bearer " + key}} {
			if got := anyone.Do(op.method, op.path, op.body, header...); got.Status != http.StatusUnauthorized {
				t.Errorf("%s %s with the key in %s: %d", op.method, op.path, header[0], got.Status)
			}
		}
	}
	all := admin.newKey("all", "").APIKey
	var read struct{ APIKey string }
	admin.do("POST", "/v1/apiKeys", `{"metadata":{"name":"read"},"spec":{"expiry":"`+tomorrow()+`","scope":"read"}}`).
		Want(http.StatusCreated).Into(&read)
	for what, other := range map[string]string{"an API key": all, "a limited API key": read.APIKey, "a token": tokens.Authorization,
		"a refresh token": tokens.RefreshToken, "an API key with the other prefix": "rwl_" + all[4:],
		"a key that does not exist": calendarKey,
		"a key that is cut off":     key[:60], "a key in capital letters": strings.ToUpper(key), "a text": "x", "a space": "%20"} {
		notFound(t, anyone, what, other)
	}
	for _, path := range []string{"/v1/expiry?key=" + key, "/v1/expiry?ApiKey=" + key} {
		anyone.Do("GET", path, "").Want(http.StatusUnauthorized)
	}
}

// A calendar ends with its key, its user, or what the user may see.
func TestCalendarEnds(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	anyone := server.Client(t)
	mate := admin.make("/v1/users", newUser("mate@acme.example"))
	calendar := func(name string) (key, uid string) {
		t.Helper()
		key, uid = admin.newCalendar(name, `,"userUid":"`+mate+`"`)
		anyone.Do("GET", calendarOf(key), "").Want(http.StatusOK)
		return key, uid
	}
	state := func(active string) string { return `{"isActive":` + active + `}` }
	key, uid := calendar("one")
	admin.do("PUT", "/v1/apiKeys/"+uid+"/state", state("false")).Want(http.StatusNoContent)
	notFound(t, anyone, "a deactivated key", key)
	admin.do("DELETE", "/v1/apiKeys/"+uid, "").Want(http.StatusNoContent)
	notFound(t, anyone, "a deleted key", key)

	key, uid = calendar("two")
	anyone.Do("POST", "/v1/apiKeys/revoke", instance.JSON(object{"apiKey": key})).Want(http.StatusNoContent)
	notFound(t, anyone, "a revoked key", key)
	admin.do("DELETE", "/v1/apiKeys/"+uid, "").Want(http.StatusNoContent)

	key, _ = calendar("three")
	admin.do("PUT", "/v1/users/"+mate+"/state", state("false")).Want(http.StatusNoContent)
	notFound(t, anyone, "the key of a disabled user", key)
	admin.do("PUT", "/v1/users/"+mate+"/state", state("true")).Want(http.StatusNoContent)
	anyone.Do("GET", calendarOf(key), "").Want(http.StatusOK)
	admin.do("PUT", "/v1/users/"+mate+"/roles", `{"roles":["none"]}`).Want(http.StatusNoContent)
	notFound(t, anyone, "the key of a user who may see no registry", key)
	admin.do("PUT", "/v1/users/"+mate+"/roles", `{"roles":["viewer"]}`).Want(http.StatusNoContent)
	anyone.Do("GET", calendarOf(key), "").Want(http.StatusOK)
	admin.do("DELETE", "/v1/users/"+mate, "").Want(http.StatusNoContent)
	notFound(t, anyone, "the key of a deleted user", key)
}

// A user has at most five calendars, and keys that are not known are limited by source. A key that is in use is not.
func TestCalendarLimits(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	key := ""
	for _, name := range []string{"1", "2", "3", "4", "5"} {
		key, _ = admin.newCalendar(name, "")
	}
	f := admin.do("POST", "/v1/apiKeys", `{"metadata":{"name":"6"},"spec":{"expiry":"`+tomorrow()+`","scope":"calendar"}}`).
		Want(http.StatusBadRequest).Fault()
	wantFields(t, f, "spec.scope")
	admin.newKey("6", "")
	anyone := server.Client(t)
	anyone.Do("GET", calendarOf(key), "").Want(http.StatusOK)
	limited := slices.ContainsFunc(make([]int, 100), func(int) bool {
		response := anyone.Do("GET", calendarOf(calendarKey), "")
		if response.Status == http.StatusTooManyRequests {
			wantRetryAfter(t, response)
		}
		return response.Status == http.StatusTooManyRequests
	})
	if !limited {
		t.Error("100 unknown keys were not limited")
	}
	anyone.Do("GET", calendarOf(key), "").Want(http.StatusOK)
}

// A calendar of a project has what is in it.
func TestCalendarOfAProject(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.newKey("of the organization", "")
	key, _ := admin.newCalendar("calendar", `,"projectUid":"`+admin.project()+`"`)
	if got := server.Client(t).Do("GET", calendarOf(key), "").Want(http.StatusOK).Body; strings.Contains(got, "VEVENT") {
		t.Errorf("a calendar of a project has %s", got)
	}
}
