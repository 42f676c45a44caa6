package service_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/testca"
)

// secrets are values that may appear only in the responses that have to show them once.
type secrets struct {
	mu     sync.Mutex
	values map[string]string // by what it is
}

// mark draws a secret in a form that no encoding of ours would change.
func (s *secrets) mark(what string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	value := fmt.Sprintf("Zq7marked%03dVx4under9the2bridge", len(s.values))
	s.values[what] = value
	return value
}

func (s *secrets) keep(what, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[what] = value
}

// forms are the spellings in which a secret may have been written down.
func forms(secret string) []string {
	all := []string{secret, url.QueryEscape(secret), hex.EncodeToString([]byte(secret))}
	if parts := strings.Split(secret, "."); len(parts) == 3 {
		all = append(all, parts[2]) // the signature is what makes a token good
	}
	for shift := range 3 { // base64 of it inside something longer, such as user:password
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
		all = append(all, encoded[4:len(encoded)-4])
	}
	return all
}

// search fails for each secret in text.
func (s *secrets) search(t *testing.T, place, text string) {
	t.Helper()
	for what, secret := range s.values {
		for _, form := range forms(secret) {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s has the %s: …%q…", place, what, text[max(0, i-80):min(len(text), i+len(form)+20)])
				break
			}
		}
	}
}

// recordResponses records the responses, except those that have to show a secret.
type recordResponses struct {
	http.Transport
	mu  sync.Mutex
	all bytes.Buffer
}

func (k *recordResponses) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := k.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	shows := response.StatusCode == http.StatusOK && strings.HasPrefix(r.URL.Path, "/v1/auth") ||
		response.StatusCode == http.StatusCreated && r.URL.Path == "/v1/apiKeys"
	k.mu.Lock()
	defer k.mu.Unlock()
	if shows {
		body = nil
	}
	fmt.Fprintf(&k.all, "%s %s %v\n%s\n", r.Method, response.Status, response.Header, body)
	return response, err
}

// With marked secrets sent through every operation and failure, none of them is in a log, a metric, an audit
// record, a response, or any file of the data directory.
func TestNoSecretIsWrittenDown(t *testing.T) {
	t.Parallel()
	s := &secrets{values: map[string]string{"first password": instance.Password}}
	server := instance.Start(t, instance.Options{Flags: []string{"--log-level", "debug", "--metrics-listen", "127.0.0.1:0",
		"--login-free-failures", "100"}})
	responses := &recordResponses{}
	t.Cleanup(responses.CloseIdleConnections)
	client := server.ClientThrough(t, responses)
	tokens := client.Login()
	s.keep("authorization token", tokens.Authorization)
	s.keep("refresh token", tokens.RefreshToken)
	admin := person{t, client, []string{"Authorization", tokens.Authorization}}
	s.keep("API key", admin.newKey("ci", "").APIKey)
	s.keep("master key", strings.TrimSpace(file(t, server, "master.key")))

	sendOrgLogins(s, client, tokens)
	sendPasswords(t, s, server, admin)
	sendDefinitions(t, s, admin)
	sendRegistries(t, s, server, admin)
	sendMalformed(s, admin)
	records := server.Admin(t, "", "audit", "list", "--output", "json", "--limit", "500")
	sendToBrokenStore(t, s, server, admin)
	scanEverything(t, s, server, responses, records)
}

func file(t *testing.T, server *instance.Server, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(server.DataDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func sendOrgLogins(s *secrets, client *instance.Client, tokens instance.Tokens) {
	for _, who := range []struct{ email, org string }{{instance.Email, instance.Org}, {"unknown@acme.example", instance.Org},
		{instance.Email, "Missing"}} {
		client.Do("POST", "/v1/auth", instance.Credentials(who.email, who.org,
			s.mark("wrong password of "+who.email+" in "+who.org))).Want(http.StatusUnauthorized)
	}
	next := client.Do("GET", refresh+tokens.RefreshToken, "").Want(http.StatusOK).Tokens()
	s.keep("second authorization token", next.Authorization)
	s.keep("second refresh token", next.RefreshToken)
	s.keep("exchanged token", client.Do("GET", refresh+next.Authorization, "").Want(http.StatusOK).Tokens().Authorization)
	made := s.mark("made-up token")
	for _, path := range []string{refresh + made, refresh + flipped(tokens.RefreshToken), "//v1/auth/refresh/" + tokens.RefreshToken,
		refresh + tokens.RefreshToken + "/x", "/v1/" + made, alerts + "?token=" + made} {
		client.Do("GET", path, "")
	}
	client.Do("HEAD", refresh+next.RefreshToken, "").Want(http.StatusMethodNotAllowed)
	client.Do("GET", refresh+next.RefreshToken, "", "Sec-Purpose", "prefetch").Want(http.StatusBadRequest)
	for _, credential := range [][]string{
		{"Authorization", made}, {"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+made))}, {"ApiKey", made},
		{"Authorization", tokens.RefreshToken},
		{"ApiKey", tokens.Authorization}, {"Authorization", s.values["API key"]}, {"ApiKey", made, "ApiKey", made},
		{"Cookie", "Authorization=" + made}, {"X-Forwarded-For", made}, {"User-Agent", made},
	} {
		client.Do("GET", alerts, "", credential...)
	}
}

func sendPasswords(t *testing.T, s *secrets, server *instance.Server, admin person) {
	t.Helper()
	first := s.mark("password of a user")
	body := func(password string) string {
		return instance.JSON(object{"spec": object{"emailId": "mate@acme.example", "password": password}})
	}
	admin.make("/v1/users", body(first))
	admin.refused("POST", "/v1/users", body(s.mark("password of a user that is there")), 409, "UserAlreadyExists")
	mate, tokens := loggedIn(t, server, "mate@acme.example", instance.Org, first)
	s.keep("user's authorization token", tokens.Authorization)
	mate.client = admin.client
	second := s.mark("changed password")
	change := func(current, next string) string {
		return instance.JSON(object{"currentPassword": current, "newPassword": next})
	}
	mate.refused("PATCH", "/v1/users/me/password", change(s.mark("wrong current password"), second), 400, "InvalidRequest")
	mate.do("PATCH", "/v1/users/me/password", change(first, second)).Want(http.StatusNoContent)
	mate.refused("PATCH", "/v1/users/me/password", change(second, second), 400, "InvalidRequest")
	mate.refused("PATCH", "/v1/users/me/password", change(second+"\n", "mate@acme.example"), 400, "InvalidRequest")
	mate.refused("POST", "/v1/users", body(s.mark("password that a member sends")), 403, "OperationForbidden")
	server.Admin(t, s.mark("password by command line")+"\n", "user", "password", "--org", instance.Org, "--email",
		"mate@acme.example", "--password-stdin")
	key := admin.newKey("second", "")
	s.keep("revoked API key", key.APIKey)
	admin.do("PATCH", "/v1/apiKeys/"+key.UID, `{"isActive":false}`).Want(http.StatusNoContent)
	withKey(t, server, key.APIKey).refused("GET", alerts, "", 401, "UnAuthorizedAccess")
	admin.do("POST", "/v1/apiKeys/revoke", instance.JSON(object{"apiKey": key.APIKey})).Want(http.StatusNoContent)
	admin.refused("POST", "/v1/apiKeys/revoke", instance.JSON(object{"apiKey": s.mark("text to revoke")}), 400, "InvalidRequest")
	admin.refused("POST", "/v1/users/auth/tokens/revoke",
		instance.JSON(object{"tokens": []string{s.mark("revoked text"), tokens.RefreshToken + "x"}}), 400, "InvalidRequest")
}

func sendDefinitions(t *testing.T, s *secrets, admin person) {
	t.Helper()
	registry := secured(t)
	certificate := testca.New(t, "Clients").Issue(t, testca.Options{Client: true})
	s.keep("client key", strings.Split(certificate.Key, "\n")[2])
	password, token := s.mark("registry password"), s.mark("registry token")
	reflecting := serve(t, func(w http.ResponseWriter, r *http.Request) { // it repeats every header
		_, given, _ := r.BasicAuth()
		said := r.Header.Get("Authorization") + " " + given
		w.Header().Set("WWW-Authenticate", `Basic realm="`+said+`"`)
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"errors":[{"code":"UNAUTHORIZED","message":%q,"detail":%q}]}`, said, said)
	})
	moving := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, given, _ := r.BasicAuth()
		http.Redirect(w, r, "http://127.0.0.1:1/"+given+"?token="+given, http.StatusTemporaryRedirect)
	})
	withKey := object{"tls": object{"enabled": true, "certificate": certificate.Certificate, "key": certificate.Key, "ca": registry.CA}}
	for _, endpoint := range []string{registry.Endpoint, unusedEndpoint(t), "http://169.254.169.254", "http://registry.onion",
		reflecting, moving, withoutTokens(t),
		responding(t, http.StatusOK, "text/html", "<html></html>"), responding(t, http.StatusForbidden, "text/plain", "no"),
		"http://ada:" + password + "@127.0.0.1", "http://127.0.0.1/?" + password} {
		for _, body := range []string{
			basic(endpoint, ada, password), basic(endpoint, ada, password, trusting(registry.CA)), basic(endpoint, ada, password, withKey),
			definition(endpoint, object{"type": "token", "token": token}),
			definition(endpoint, object{"type": "token", "token": token, "username": ada}),
			definition(endpoint, object{"type": "noAuth", "password": password, "token": token}), basic(endpoint, ada, password+"\n"),
			noAuth(endpoint, object{"tls": object{"enabled": true, "key": certificate.Key}}),
		} {
			admin.do("POST", validate, body)
			admin.do("POST", diagnose, body)
		}
	}
}

// sendRegistries keeps secrets in the store, in every way that they can be sent, refused, replaced and used.
func sendRegistries(t *testing.T, s *secrets, server *instance.Server, admin person) {
	t.Helper()
	certificate := testca.New(t, "Clients").Issue(t, testca.Options{Client: true})
	s.keep("stored client key", strings.Split(certificate.Key, "\n")[2])
	password, token := s.mark("stored password"), s.mark("stored token")
	endpoint := unusedEndpoint(t)
	tls := object{"enabled": true, "certificate": certificate.Certificate, "key": certificate.Key}
	withPassword := object{"type": "basic", "username": ada, "password": password, "tls": tls}
	withToken := object{"type": "token", "token": token, "tls": tls}
	first := admin.make(registriesPath, newRegistry("with password", spec(endpoint, withPassword, nil)))
	second := admin.make(registriesPath, newRegistry("with token", spec(endpoint, withToken, nil)))
	for _, uid := range []string{first, second} {
		for _, path := range []string{at(uid), "/v1/registries/oci/" + uid, "/v1/registries/oci/summary", "/v1/registries/metadata"} {
			admin.get(path, new(any))
		}
		admin.refused("PUT", at(uid), newRegistry("x", spec("http://127.0.0.1:1", object{"type": "basic", "username": ada}, nil)), 400,
			"InvalidRequest")
		for _, auth := range []object{
			{"type": "basic", "username": ada, "password": "********", "tls": tls}, {"type": "token", "token": "********", "tls": tls},
			{"type": "basic", "username": ada, "password": s.mark("unused " + uid)},
		} {
			admin.do("POST", validate, definition(endpoint, auth, object{"registryUid": uid}))
			admin.do("POST", diagnose, definition(endpoint, auth, object{"registryUid": uid}))
		}
	}
	admin.refused("POST", registriesPath, newRegistry("with password", spec(endpoint, withPassword, nil)), 409, "RegistryAlreadyExists")
	admin.refused("POST", registriesPath, newRegistry("wrong", spec("http://ada:"+password+"@h", withPassword, nil)), 400, "InvalidRequest")
	admin.refused("PUT", at(noUID), newRegistry("missing", spec(endpoint, withToken, nil)), 404, "ResourceNotFound")
	admin.do("PUT", at(first), newRegistry("replaced",
		spec(endpoint, object{"type": "basic", "username": ada, "password": s.mark("second stored password"), "tls": tls},
			nil))).Want(http.StatusNoContent)
	admin.do("PUT", at(second), newRegistry("dropped", spec(endpoint, object{"type": "noAuth"}, nil))).Want(http.StatusNoContent)
	gone := admin.make(registriesPath, newRegistry("gone", spec(endpoint, object{"type": "token", "token": s.mark("deleted token")}, nil)))
	admin.do("DELETE", at(gone), "").Want(http.StatusNoContent)

	backup := filepath.Join(t.TempDir(), "backup.db")
	server.Admin(t, "", "backup", backup)
	data, err := os.ReadFile(backup)
	if err != nil || !strings.Contains(string(data), "with password") && !strings.Contains(string(data), "replaced") {
		t.Errorf("the backup does not have the registries: %v", err)
	}
	s.search(t, "the backup", string(data))
}

// sendMalformed sends secrets in unexpected places.
func sendMalformed(s *secrets, admin person) {
	odd := s.mark("secret in a malformed body")
	for _, op := range operations {
		if op.body == "" {
			continue
		}
		for _, body := range []string{
			`{"password":"` + odd, `{"` + odd + `":1,"` + odd + `":2}`, `{"password":"` + odd + `"} x`, odd,
			`["` + odd + `"]`, `"` + odd + `"`,
			`{"password":["` + odd + `"],"auth":"` + odd + `","spec":"` + odd + `","metadata":"` + odd + `","tokens":"` + odd +
				`","roles":"` + odd + `","currentPassword":{"` + odd + `":1}}`,
			`{"auth":{"password":{"a":"` + odd + `"},"token":["` + odd + `"]},"spec":{"password":["` + odd + `"],"expiry":["` + odd +
				`"]},"tokens":[{"a":"` + odd + `"}]}`,
		} {
			admin.do(op.method, op.path, body)
		}
		admin.client.Do(op.method, op.path, odd,
			append([]string{"Content-Type", "text/" + odd}, admin.credential...)...).Want(http.StatusUnsupportedMediaType)
	}
}

// sendToBrokenStore has every operation fail with an internal error, which is logged in full.
func sendToBrokenStore(t *testing.T, s *secrets, server *instance.Server, admin person) {
	t.Helper()
	for _, table := range []string{"users", "sessions", "api_keys", "registry_details"} {
		if _, err := openStore(t, server).ExecContext(t.Context(),
			"PRAGMA foreign_keys=OFF; DROP TABLE "+table); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range operations {
		admin.do(op.method, op.path, op.body)
		admin.client.Do(op.method, op.path, op.body, "ApiKey", s.values["API key"])
	}
	admin.client.Do("POST", "/v1/auth",
		instance.Credentials(instance.Email, instance.Org, s.mark("password to a broken store"))).Want(http.StatusInternalServerError)
	admin.client.Do("GET", refresh+s.values["second refresh token"], "").Want(http.StatusInternalServerError)
}

// scanEverything looks for secrets in all that the server wrote and sent, and in a list of its audit records.
func scanEverything(t *testing.T, s *secrets, server *instance.Server, responses *recordResponses, records string) {
	t.Helper()
	s.search(t, "a response", responses.all.String())
	s.search(t, "the log", server.Log()+server.Out())
	s.search(t, "the metrics", server.Metrics(t))
	s.search(t, "the audit list", records)
	for _, record := range auditRecords(t, server) {
		s.search(t, "an audit record", record.all)
	}
	seen := 0
	err := filepath.WalkDir(server.DataDir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "master.key" {
			return err
		}
		seen++
		s.search(t, entry.Name(), file(t, server, entry.Name()))
		return nil
	})
	if err != nil || seen < 2 || !strings.Contains(file(t, server, "regwarden.db-wal")+file(t, server, "regwarden.db"),
		"mate@acme.example") {
		t.Errorf("the scan does not see what the store holds: %d files, %v", seen, err)
	}
	if !strings.Contains(responses.all.String(), "RegistryAuthFailed") || !strings.Contains(records, "registry.validate") ||
		!strings.Contains(server.Log(), "path=/v1/auth/refresh/{token}") {
		t.Error("the scan does not see what was returned, recorded and logged")
	}
	// It would find what is there: the email is in all of these places but the metrics.
	found := &secrets{values: map[string]string{"email": instance.Email}}
	if !found.finds(records) || !found.finds(base64.StdEncoding.EncodeToString([]byte("a "+instance.Email+" b"))) {
		t.Error("the scan finds nothing")
	}
}

func (s *secrets) finds(text string) bool {
	for _, secret := range s.values {
		for _, form := range forms(secret) {
			if strings.Contains(text, form) {
				return true
			}
		}
	}
	return false
}
