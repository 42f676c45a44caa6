package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/testca"
)

// Definitions stored at registriesPath are also checked by schedule. Their endpoints are on loopback or below .onion, for
// which Go asks no server (RFC 7686), so that no packet leaves.
const registriesPath = "/v1/registries/oci/basic"

// at is the path of a stored registry.
func at(uid string) string { return "/v1/registries/oci/" + uid + "/basic" }

// newRegistry is the body of a creation as the Terraform provider sends it: zero timestamps in the metadata.
func newRegistry(name string, spec object) string {
	const never = "0001-01-01T00:00:00.000Z"
	return instance.JSON(object{"metadata": object{"name": name, "creationTimestamp": never, "deletionTimestamp": never,
		"lastModifiedTimestamp": never}, "spec": spec})
}

func spec(endpoint string, auth object, more object) object {
	s := object{"endpoint": endpoint, "providerType": "helm", "containsSpectroManifest": false, "auth": auth}
	for name, value := range more {
		s[name] = value
	}
	return s
}

func basicAuth(password string) object {
	return object{"type": "basic", "username": ada, "password": password, "tls": object{"enabled": true, "insecureSkipVerify": false}}
}

// TestStoredRegistries creates, reads, replaces and deletes registries: everything except secrets is returned as it was sent.
func TestStoredRegistries(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	certificate := testca.New(t, "Clients").Issue(t, testca.Options{Client: true})
	auth := object{"type": "basic", "username": " ada ", "password": "pässword", "tls": object{"enabled": true, "insecureSkipVerify": true,
		"ca": "\n" + certificate.Certificate, "certificate": certificate.Certificate + "\n", "key": certificate.Key}}
	sent := spec(" HTTPS://Registry.Onion:443/v2/ ", auth,
		object{"basePath": "/v2/", "baseContentPath": "/a/b/", "references": []any{"/a/b:1", "a/c:2"},
			"providerType": "zarf", "scope": "tenant",
			"isSyncSupported": true, "containsSpectroManifest": true, "isPrivate": true, "unknown": object{"a": 1}})
	uid := admin.make(registriesPath+"?skipPackSync=false", newRegistry("My Reg/x", sent))

	shown := func() (r object) { admin.get(at(uid), &r); return r }
	want := object{"endpoint": sent["endpoint"], "providerType": "zarf", "basePath": "/v2/", "baseContentPath": "/a/b/",
		"references": []any{"/a/b:1", "a/c:2"}, "scope": "tenant",
		"isSyncSupported": true, "containsSpectroManifest": true, "isPrivate": true,
		"auth": object{"type": "basic", "username": " ada ", "password": "********",
			"tls": object{"enabled": true, "insecureSkipVerify": true, "ca": "\n" + certificate.Certificate,
				"certificate": certificate.Certificate + "\n", "key": "********"}}}
	first := shown()
	if diff := cmp.Diff(want, first["spec"]); diff != "" {
		t.Error(diff)
	}
	if status := first["status"].(object)["syncStatus"].(object); status["isSyncSupported"] != true || status["status"] == nil ||
		status["message"] == nil {
		t.Errorf("the status is %v", first["status"])
	}
	if metadata := first["metadata"].(object); metadata["name"] != "My Reg/x" || metadata["uid"] != uid ||
		strings.HasPrefix(metadata["creationTimestamp"].(string), "0001") {
		t.Errorf("the metadata is %v", metadata)
	}
	admin.refused("POST", registriesPath, newRegistry("MY reg/X ", sent), 409, "RegistryAlreadyExists")

	// What a reader of the record sends back changes nothing.
	admin.do("PUT", at(uid), newRegistry("My Reg/x", first["spec"].(object))).Want(http.StatusNoContent)
	if diff := cmp.Diff(first["spec"], shown()["spec"]); diff != "" {
		t.Error(diff)
	}
	// The whole definition is replaced: fields that are not sent are deleted.
	admin.do("PUT", at(uid), newRegistry("other",
		object{"endpoint": "http://127.0.0.1:5000", "auth": object{"type": "noAuth"}})).Want(http.StatusNoContent)
	bare := object{"endpoint": "http://127.0.0.1:5000", "providerType": "helm", "scope": "tenant", "isSyncSupported": false,
		"containsSpectroManifest": false, "isPrivate": false,
		"auth": object{"type": "noAuth", "tls": object{"enabled": false, "insecureSkipVerify": false}}}
	if diff := cmp.Diff(bare, shown()["spec"]); diff != "" {
		t.Error(diff)
	}
	second := admin.make(registriesPath, newRegistry("My Reg/x", sent)) // its old name is free
	admin.refused("PUT", at(uid), newRegistry("my reg/X", bare), 409, "RegistryAlreadyExists")

	// Public clients send Content-Type with a DELETE that has no body.
	admin.client.Do("DELETE", at(uid), "",
		append([]string{"Content-Type", "application/json"}, admin.credential...)...).Want(http.StatusNoContent)
	admin.refused("DELETE", at(uid), "", 404, "ResourceNotFound")
	admin.refused("GET", at(uid), "", 404, "ResourceNotFound")
	admin.refused("PUT", at(uid), newRegistry("other", bare), 404, "ResourceNotFound")
	admin.do("DELETE", at(second), "").Want(http.StatusNoContent)
}

// summaries is what clients read of GET /v1/registries/oci/summary.
type summaries struct {
	Items []struct {
		Metadata meta
		Spec     struct {
			RegistryType, Endpoint, ProviderType, Scope string
			IsPrivate, ContainsSpectroManifest          bool
		}
		Status struct {
			Sync *struct {
				IsSyncSupported bool
				Status          string
			}
		}
	}
}

// page is a page of summaries.
type page struct {
	Items    []struct{ Metadata meta }
	ListMeta *struct {
		Continue             string
		Count, Limit, Offset int
	}
}

// The list of registries has pages, filters and orders for those that ask, and everything for others.
func TestPagesOfRegistries(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, watchEvery("1h"))
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry := listenHere(t, &account{password: adaPassword})
	for name, password := range map[string]string{"b-good": adaPassword, "A-good": adaPassword, "c-bad": "wrong", "D-bad": "wrong"} {
		admin.checked(admin.make(registriesPath, newRegistry(name, spec(registry, basicAuth(password), nil))))
	}
	const path = "/v1/registries/oci/summary"
	for _, tt := range []struct {
		query, want string
		pages       int
	}{
		{"?limit=3", "A-good b-good c-bad D-bad", 2},
		{"?name=GOOD", "A-good b-good", 1},
		{"?name=%25", "", 1},
		{"?health=failing&limit=1", "c-bad D-bad", 2},
		{"?health=unknown", "", 1},
		{"?sort=health&limit=3", "c-bad D-bad A-good b-good", 2},
	} {
		var names []string
		pages := 0
		for next := ""; pages == 0 || next != ""; pages++ {
			var p page
			admin.get(path+tt.query+"&continue="+next, &p)
			for _, item := range p.Items {
				names = append(names, item.Metadata.Name)
			}
			if p.ListMeta == nil || p.ListMeta.Offset != len(names) || p.ListMeta.Count != len(strings.Fields(tt.want)) {
				t.Fatalf("%s: %+v after %q", tt.query, p.ListMeta, names)
			}
			next = p.ListMeta.Continue
		}
		if got := strings.Join(names, " "); got != tt.want || pages != tt.pages {
			t.Errorf("%s: %q in %d pages, want %q in %d", tt.query, got, pages, tt.want, tt.pages)
		}
	}
	var all page
	if admin.get(path+"?forceSync=true", &all); len(all.Items) != 4 || all.ListMeta != nil {
		t.Errorf("without a filter: %+v", all)
	}
	var counts struct{ Healthy, Failing, Unknown int }
	if admin.get(path+"/health", &counts); counts.Healthy != 2 || counts.Failing != 2 || counts.Unknown != 0 {
		t.Errorf("counts %+v", counts)
	}
}

// Lists of stored registries, the look-up by name, and paths of other kinds of registries.
func TestListsOfRegistries(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	var empty struct{ Items []any }
	for _, path := range []string{"/v1/registries/oci/summary", "/v1/registries/metadata", "/v1/registries/helm",
		"/v1/registries/helm/summary", "/v1/registries/pack", "/v1/registries/pack/summary"} {
		if admin.get(path, &empty); empty.Items == nil || len(empty.Items) != 0 {
			t.Errorf("%s has %v, want an empty list", path, empty.Items)
		}
	}
	open := object{"type": "noAuth"}
	uids := map[string]string{}
	for name, s := range map[string]object{
		"b":       spec("http://127.0.0.1:5000", open, object{"isSyncSupported": true, "isPrivate": true, "scope": "system"}),
		"A":       spec("http://127.0.0.1:5000", open, nil), // the same endpoint twice is not a conflict
		"summary": spec("http://127.0.0.1:5001", open, nil),
		"basic":   spec("http://127.0.0.1:5002", open, nil),
	} {
		uids[name] = admin.make(registriesPath, newRegistry(name, s))
	}
	var list summaries
	admin.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusOK).Into(&list)
	var got []string
	for _, item := range list.Items {
		if item.Metadata.UID != uids[item.Metadata.Name] || item.Spec.RegistryType != "basic" || item.Status.Sync == nil ||
			item.Status.Sync.IsSyncSupported != (item.Metadata.Name == "b") {
			t.Errorf("summary has %+v", item)
		}
		got = append(got, item.Metadata.Name)
		var one struct{ Type, Endpoint string }
		if admin.get("/v1/registries/oci/"+item.Metadata.UID, &one); one.Type != "basic" || one.Endpoint != item.Spec.Endpoint {
			t.Errorf("by uid it is %v, in the list %v", one, item.Spec)
		}
	}
	if strings.Join(got, " ") != "A b basic summary" {
		t.Errorf("summary lists %q", got)
	}
	var names struct {
		Items []struct {
			Name, UID, Kind, Scope string
			IsDefault, IsPrivate   bool
		}
	}
	admin.get("/v1/registries/metadata", &names)
	if len(names.Items) != 4 || names.Items[1].Scope != "system" || !names.Items[1].IsPrivate || names.Items[0].Scope != "tenant" ||
		names.Items[0].Kind != "oci" {
		t.Errorf("metadata lists %+v", names.Items)
	}
	for _, id := range []string{uids["A"], noUID, "A", "My%20Reg%2Fx", "summary", "basic", "%00", "%ff", "..%2f..%2fbasic",
		strings.Repeat("x", 4000), strings.ToUpper(uids["A"])} {
		admin.refused("GET", "/v1/registries/oci/"+id+"/ecr", "", 404, "ResourceNotFound")
		admin.refused("GET", "/v1/registries/helm/"+id+"/sync/status", "", 404, "ResourceNotFound")
		if id == uids["A"] {
			continue
		}
		for _, method := range []string{"GET", "DELETE"} {
			admin.refused(method, at(id), "", 404, "ResourceNotFound")
		}
		admin.refused("PUT", at(id), newRegistry("x", spec("h", open, nil)), 404, "ResourceNotFound")
		if id != "summary" && id != "basic" {
			admin.refused("GET", "/v1/registries/oci/"+id, "", 404, "ResourceNotFound")
		}
	}
}

// A member reads, lists and validates; another organization sees nothing of it.
func TestWhoseRegistries(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry := secured(t)
	body := newRegistry("ours", spec(registry.Endpoint,
		object{"type": "basic", "username": ada, "password": adaPassword, "tls": object{"enabled": true, "ca": registry.CA}}, nil))
	uid := admin.make(registriesPath, body)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	server.Admin(t, "", "org", "create", "Other")
	server.Admin(t, instance.Password, "user", "create", "--org", "Other", "--email", "x@other.example", "--role",
		"admin", "--password-stdin")
	other, _ := loggedIn(t, server, "x@other.example", "Other", instance.Password)

	var list summaries
	for _, path := range []string{at(uid), "/v1/registries/oci/" + uid} {
		mate.get(path, new(any))
		other.refused("GET", path, "", 404, "ResourceNotFound")
	}
	if mate.get("/v1/registries/oci/summary", &list); len(list.Items) != 1 {
		t.Errorf("a member lists %v", list)
	}
	list = summaries{}
	if other.get("/v1/registries/oci/summary", &list); len(list.Items) != 0 {
		t.Errorf("another organization lists %v", list)
	}
	mate.refused("POST", registriesPath, body, 403, "OperationForbidden")
	mate.refused("PUT", at(uid), body, 403, "OperationForbidden")
	mate.refused("DELETE", at(uid), "", 403, "OperationForbidden")
	other.refused("PUT", at(uid), body, 404, "ResourceNotFound")
	other.refused("DELETE", at(uid), "", 404, "ResourceNotFound")

	byUID := basic(registry.Endpoint, ada, "", trusting(registry.CA), object{"registryUid": uid})
	mate.do("POST", validate, byUID).Want(http.StatusNoContent)
	wantFields(t, other.refused("POST", validate, byUID, 400, "InvalidRequest").Fault(), "registryUid")
}

// registryUid in validate and diagnose: a stored secret is sent to its own endpoint only.
func TestValidateWithStoredSecrets(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry := secured(t)
	tls := object{"enabled": true, "ca": registry.CA}
	uid := admin.make(registriesPath,
		newRegistry("ours", spec(registry.Endpoint, object{"type": "basic", "username": ada, "password": adaPassword, "tls": tls}, nil)))
	contacted := make(chan string, 100)
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		contacted <- r.Method + " " + r.URL.Path
		w.WriteHeader(http.StatusUnauthorized)
	})
	with := func(endpoint, password string, tls object, more ...object) string {
		return definition(endpoint, object{"type": "basic", "username": ada, "password": password, "tls": tls},
			append(more, object{"registryUid": uid, "isSyncSupported": true})...)
	}
	for _, path := range []string{validate, diagnose} {
		for name, body := range map[string]string{
			"empty": with(registry.Endpoint, "", tls), "masked": with(registry.Endpoint, "********", tls),
			"spelled otherwise": with(registry.Endpoint+"/v2/", "", tls),
			"sent":              with(registry.Endpoint, adaPassword, tls),
			"other content":     with(registry.Endpoint, "", tls, object{"providerType": "pack"}),
		} {
			response := admin.do("POST", path, body)
			if response.Status != http.StatusNoContent && !strings.HasPrefix(response.Body, `{"valid":true`) {
				t.Errorf("%s, %s: %d %s", path, name, response.Status, response.Body)
			}
		}
		for name, tt := range map[string]struct{ body, fields string }{
			"another endpoint": {with(other, "", nil), "auth.password"},
			"another, masked":  {with(other, "********", nil), "auth.password"},
			"http":             {with(strings.Replace(registry.Endpoint, "https", "http", 1), "", tls), "auth.password"},
			"a path":           {with(registry.Endpoint, "", tls, object{"basePath": "below"}), "auth.password"},
			"no trust": {with(registry.Endpoint, "", object{"enabled": true, "insecureSkipVerify": true, "ca": registry.CA}),
				"auth.password"},
			"other trust": {with(registry.Endpoint, "", object{"enabled": false, "ca": registry.CA}), "auth.password"},
			"a token never stored": {definition(registry.Endpoint, object{"type": "token", "token": "********", "tls": tls},
				object{"registryUid": uid}), "auth.token"},
			"no such registry": {definition(registry.Endpoint, object{"type": "basic", "username": ada},
				object{"registryUid": noUID, "providerType": "x"}), "providerType registryUid"},
			"a name": {definition(registry.Endpoint, object{"type": "basic", "username": ada}, object{"registryUid": "ours"}),
				"registryUid"},
			"wrong types as well": {with(other, "", nil, object{"scope": 7}), "auth.password scope"},
		} {
			t.Run(operation(path)+" "+name, func(t *testing.T) {
				wantFields(t, admin.refused("POST", path, tt.body, 400, "InvalidRequest").Fault(), strings.Fields(tt.fields)...)
			})
		}
	}
	if len(contacted) > 0 {
		t.Errorf("the other endpoint was asked for %s", <-contacted)
	}
	f := admin.refused("POST", validate, with(registry.Endpoint, "wrong", tls), 422, "RegistryAuthFailed").Fault()
	if f.Details.Field != "auth.password" {
		t.Errorf("blames %q", f.Details.Field)
	}
	admin.do("DELETE", at(uid), "").Want(http.StatusNoContent)
	admin.refused("POST", validate, with(registry.Endpoint, "", tls), 400, "InvalidRequest")
}

// The endpoint of a definition cannot change without sending the secret again.
func TestReplaceKeepsSecretsWhereTheyBelong(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry := secured(t)
	tls := object{"enabled": true, "ca": registry.CA}
	put := func(uid, endpoint, password string, tls object) instance.Response {
		return admin.do("PUT", at(uid),
			newRegistry("ours", spec(endpoint, object{"type": "basic", "username": ada, "password": password, "tls": tls}, nil)))
	}
	uid := admin.make(registriesPath,
		newRegistry("ours", spec(registry.Endpoint, object{"type": "basic", "username": ada, "password": adaPassword, "tls": tls}, nil)))
	for _, password := range []string{"", "********"} {
		wantFields(t, put(uid, "https://attacker.onion", password, tls).Want(http.StatusBadRequest).Fault(), "spec.auth.password")
		wantFields(t, put(uid, registry.Endpoint, password,
			object{"enabled": true, "insecureSkipVerify": true}).Want(http.StatusBadRequest).Fault(), "spec.auth.password")
		put(uid, registry.Endpoint, password, tls).Want(http.StatusNoContent)
	}
	stored := basic(registry.Endpoint, ada, "", trusting(registry.CA), object{"registryUid": uid})
	admin.do("POST", validate, stored).Want(http.StatusNoContent)
	put(uid, "https://registry.onion", "another", tls).Want(http.StatusNoContent) // with its secret it may go anywhere
	wantFields(t, admin.refused("POST", validate, stored, 400, "InvalidRequest").Fault(), "auth.password")
	put(uid, registry.Endpoint, "", tls).Want(http.StatusBadRequest)
}

// An encrypted value that cannot be decrypted affects its own definition only, and sending the secret again fixes it.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry := secured(t)
	tls := object{"enabled": true, "ca": registry.CA}
	body := func(name, password string) string {
		return newRegistry(name, spec(registry.Endpoint, object{"type": "basic", "username": ada, "password": password, "tls": tls}, nil))
	}
	broken, whole := admin.make(registriesPath, body("broken", adaPassword)), admin.make(registriesPath, body("whole", adaPassword))
	gone := admin.make(registriesPath, body("gone", adaPassword))
	_, err := openStore(t, server).ExecContext(t.Context(), `UPDATE registry_details SET sealed =
		(SELECT d.sealed FROM registry_details d WHERE d.registry_uid = '`+whole+`') WHERE registry_uid IN ('`+broken+`', '`+gone+`')`)
	if err != nil {
		t.Fatal(err)
	}
	stored := func(uid string) string {
		return basic(registry.Endpoint, ada, "", trusting(registry.CA), object{"registryUid": uid})
	}
	for _, path := range []string{validate, diagnose} {
		if f := admin.refused("POST", path, stored(broken), 409,
			"RegistrySecretUnreadable").Fault(); !strings.Contains(f.Message, "again") {
			t.Errorf("it does not say what to do: %s", f.Message)
		}
	}
	admin.refused("PUT", at(broken), body("broken", ""), 409, "RegistrySecretUnreadable")
	admin.refused("POST", "/v1/registries/oci/"+broken+"/check?wait=true", "", 409, "RegistrySecretUnreadable")
	var list summaries
	admin.get("/v1/registries/oci/summary", &list)
	var shown struct {
		Spec struct{ Auth struct{ Password string } }
	}
	if admin.get(at(broken), &shown); shown.Spec.Auth.Password != "********" || len(list.Items) != 3 {
		t.Errorf("shown %+v, listed %d", shown, len(list.Items))
	}
	admin.do("POST", validate, stored(whole)).Want(http.StatusNoContent)
	admin.do("DELETE", at(gone), "").Want(http.StatusNoContent)
	admin.do("PUT", at(broken), body("broken", adaPassword)).Want(http.StatusNoContent)
	admin.do("POST", validate, stored(broken)).Want(http.StatusNoContent)
}

// A definition that is deleted or replaced while it is checked harms neither the check nor the record of it.
func TestDeleteWhileValidated(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	var uid string
	var once sync.Once
	slow := serve(t, func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { admin.do("DELETE", at(uid), "").Want(http.StatusNoContent) })
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		if _, password, _ := r.BasicAuth(); password != adaPassword {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	uid = admin.make(registriesPath, newRegistry("ours", spec(slow, basicAuth(adaPassword), nil)))
	body := definition(slow, object{"type": "basic", "username": ada, "tls": object{"enabled": true}}, object{"registryUid": uid})
	response := admin.do("POST", validate, body).Want(http.StatusNoContent)
	var record struct{ Spec struct{ Outcome string } }
	if admin.get("/v1/audits/"+response.Header.Get("AuditUid"), &record); record.Spec.Outcome != "valid" {
		t.Errorf("the record says %q", record.Spec.Outcome)
	}
	admin.refused("GET", at(uid), "", 404, "ResourceNotFound")
}

// Requests as the Go SDK and odd clients write them.
func TestRegistryRequestsAsClientsWriteThem(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	open := spec("http://127.0.0.1:5000", object{"type": "noAuth"}, nil)
	for name, tt := range map[string]struct{ query, body, fields string }{
		"endpoint null": {"", newRegistry("a", object{"endpoint": nil, "auth": object{"type": "noAuth"}}), "spec.endpoint"},
		"nothing":       {"", `{}`, "metadata.name spec.auth spec.endpoint"},
		"null":          {"", `{"metadata":null,"spec":null}`, "metadata.name spec.auth spec.endpoint"},
		"wrong types": {"", `{"metadata":{"name":7,"labels":[]},"spec":{"endpoint":[],"isSyncSupported":"yes",` +
			`"auth":{"tls":{"enabled":1}}}}`, "metadata.labels metadata.name spec.auth.tls.enabled spec.endpoint spec.isSyncSupported"},
		"a mask":  {"", newRegistry("a", spec("h.onion", basicAuth("********"), nil)), "spec.auth.password"},
		"no name": {"", newRegistry(" ", open), "metadata.name"},
		"no such provider type": {"", newRegistry("a", spec("h.onion", object{"type": "noAuth"}, object{"providerType": "tar"})),
			"spec.providerType"},
		"an odd switch": {"?skipPackSync=maybe", newRegistry("a", open), "skipPackSync"},
		"two switches":  {"?skipPackSync=true&skipPackSync=false", newRegistry("a", open), "skipPackSync"},
	} {
		t.Run(name, func(t *testing.T) {
			wantFields(t, admin.refused("POST", registriesPath+tt.query, tt.body, 400, "InvalidRequest").Fault(),
				strings.Fields(tt.fields)...)
			uid := admin.make(registriesPath, newRegistry("stored "+name, open))
			wanted := tt.fields
			if name == "a mask" {
				wanted = "spec.auth.password" // none is stored that it could mean
			}
			wantFields(t, admin.refused("PUT", at(uid)+tt.query, tt.body, 400, "InvalidRequest").Fault(), strings.Fields(wanted)...)
		})
	}
	uid := admin.make(registriesPath+"?skipPackSync=true",
		`{"metadata":{"name":"labels","labels":{"a":"b"},"annotations":{"c":"d"},"uid":"mine"},"spec":`+instance.JSON(open)+`,"kind":"x"}`)
	var shown struct {
		Metadata struct {
			UID                 string
			Labels, Annotations map[string]string
		}
	}
	if admin.get(at(uid), &shown); shown.Metadata.UID != uid || shown.Metadata.Labels["a"] != "b" ||
		shown.Metadata.Annotations["c"] != "d" {
		t.Errorf("the metadata is %+v", shown.Metadata)
	}
}

// Retries of a creation whose response was lost end in a conflict, never in two registries.
func TestCreateIsRetried(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	var wait sync.WaitGroup
	responses := make(chan int, 8)
	for range cap(responses) {
		wait.Go(func() {
			response, err := admin.client.Try("POST", registriesPath,
				newRegistry("one", spec("h.onion", object{"type": "noAuth"}, nil)), admin.credential...)
			if err != nil {
				t.Error(err)
			}
			responses <- response.Status
		})
	}
	wait.Wait()
	close(responses)
	count := map[int]int{}
	for status := range responses {
		count[status]++
	}
	if count[http.StatusCreated] != 1 || count[http.StatusConflict] != cap(responses)-1 {
		t.Errorf("responses by status: %v", count)
	}
	var list summaries
	text := admin.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusOK).Body
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Items) != 1 {
		t.Error(fmt.Sprint(err), text)
	}
}
