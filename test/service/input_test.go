package service_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/testca"
)

// wrongInput is one request that no well-behaved client sends.
type wrongInput struct {
	name    string
	method  string
	path    string
	body    string
	headers []string // in addition to the credentials
	status  int
	code    string
	fields  []string // every field that must be named, sorted
}

// Wrong input gets the documented response, with all problems at once, and harms nothing.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	tokens := client.Login()
	cases := slices.Concat(wrongBodies(), wrongSignIns(), wrongDefinitions(t), wrongRequests(tokens))
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			client := server.Client(t)
			headers := slices.Concat([]string{"Authorization", tokens.Authorization}, tt.headers)
			response := client.Do(tt.method, tt.path, tt.body, headers...).Want(tt.status)
			if tt.method == http.MethodHead {
				return // a response to HEAD has no body
			}
			f := response.Fault()
			if f.Code != tt.code {
				t.Errorf("code %s, want %s; body: %s", f.Code, tt.code, response.Body)
			}
			var fields []string
			for _, problem := range f.Details.Fields {
				fields = append(fields, problem.Field)
			}
			slices.Sort(fields)
			if fields = slices.Compact(fields); tt.fields != nil && !slices.Equal(fields, tt.fields) {
				t.Errorf("problems with %q, want %q; body: %s", fields, tt.fields, response.Body)
			}
		})
	}
	client.Do(http.MethodGet, "/healthz", "").Want(http.StatusOK)
	client.Do(http.MethodGet, "/readyz", "").Want(http.StatusOK)
	client.Do(http.MethodGet, refresh+tokens.RefreshToken, "").Want(http.StatusOK) // nothing above has consumed it
	client.Login()
}

// wrongBodies are wrong for every operation that takes JSON.
func wrongBodies() []wrongInput {
	var all []wrongInput
	for _, path := range []string{"/v1/auth/authenticate", "/v1/auth", validate, diagnose} {
		for _, b := range []struct{ name, body string }{
			{"not JSON", "emailId=a&password=b"},
			{"cut off", `{"emailId":"a@b"`},
			{"trailing data", `{} {}`},
			{"an array", `[]`},
			{"a string", `"x"`},
			{"null", `null`},
			{"duplicate key", `{"org":"a","org":"b","scope":"a","scope":"b"}`},
			{"invalid UTF-8", "{\"org\":\"\xff\",\"scope\":\"\xff\"}"},
			{"deep", strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)},
			{"byte order mark", "\ufeff{}"},
		} {
			all = append(all, wrongInput{
				name: operation(path) + " " + b.name, method: http.MethodPost, path: path, body: b.body,
				status: http.StatusBadRequest, code: "InvalidRequest",
			})
		}
		post := func(name, body string, status int, code string, headers ...string) {
			all = append(all, wrongInput{
				name: operation(path) + " " + name, method: http.MethodPost, path: path, body: body, headers: headers,
				status: status, code: code,
			})
		}
		post("empty", "", http.StatusUnsupportedMediaType, "UnsupportedMediaType")
		post("empty of the right type", "", http.StatusBadRequest, "InvalidRequest", "Content-Type", "application/json")
		post("2 MiB", `{"scope":"`+strings.Repeat("x", 2<<20)+`"}`, http.StatusRequestEntityTooLarge, "RequestTooLarge")
		post("text/plain", `{}`, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "Content-Type", "text/plain")
		post("form", `a=b`, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "Content-Type", "application/x-www-form-urlencoded")
		post("gzip", `{}`, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "Content-Encoding", "gzip")
	}
	return all
}

// operation is the last part of a path, to name a case by.
func operation(path string) string { return path[strings.LastIndex(path, "/")+1:] }

func wrongSignIns() []wrongInput {
	bad := func(name, body string, fields ...string) wrongInput {
		return wrongInput{name: "log in " + name, method: http.MethodPost, path: "/v1/auth/authenticate", body: body,
			status: http.StatusBadRequest, code: "InvalidRequest", fields: fields}
	}
	return []wrongInput{
		bad("without anything", `{}`, "emailId", "org", "password"),
		bad("with empty strings", `{"emailId":"","org":"","password":""}`, "emailId", "org", "password"),
		bad("with wrong types", `{"emailId":1,"org":true,"password":["x"]}`, "emailId", "org", "password"),
		bad("with null", `{"emailId":null,"org":null,"password":null}`, "emailId", "org", "password"),
		bad("with other spelling", `{"EmailId":"a@b","ORG":"o","paſſword":"p"}`, "emailId", "org", "password"),
		bad("with a control character", `{"emailId":"a@b.example","org":"Acme","password":"a\u0000b"}`, "password"),
		bad("with a very long password", `{"emailId":"a@b.example","org":"Acme","password":"`+strings.Repeat("x", 1025)+`"}`, "password"),
		bad("with an email too long", `{"emailId":"`+strings.Repeat("x", 4097)+`","org":"Acme","password":"p"}`, "emailId"),
	}
}

func wrongDefinitions(t *testing.T) []wrongInput {
	t.Helper()
	ca := testca.New(t, "any authority")
	one, two := ca.Issue(t, testca.Options{Client: true}), ca.Issue(t, testca.Options{Client: true})
	const there = "http://127.0.0.1:5000"
	var all []wrongInput
	bad := func(name, body string, fields ...string) {
		for _, path := range []string{validate, diagnose} {
			all = append(all, wrongInput{name: operation(path) + " " + name, method: http.MethodPost, path: path, body: body,
				status: http.StatusBadRequest, code: "InvalidRequest", fields: fields})
		}
	}
	bad("empty object", `{}`, "auth", "endpoint")
	bad("wrong types", `{"endpoint":1,"auth":{"type":true,"username":1,"password":2,"token":3,"tls":{"enabled":"yes","ca":1}},`+
		`"basePath":[],"providerType":7}`,
		"auth.password", "auth.tls.ca", "auth.tls.enabled", "auth.token", "auth.type", "auth.username", "basePath",
		"endpoint", "providerType")
	bad("auth is a string", `{"endpoint":"http://127.0.0.1:5000","auth":"basic"}`, "auth")
	bad("unknown enums", definition(there, object{"type": "kerberos"}, object{"providerType": "docker"}), "auth.type", "providerType")
	bad("basic without credentials", definition(there, object{"type": "basic"}), "auth.password", "auth.username")
	bad("token without token", definition(there, object{"type": "token"}), "auth.token")
	bad("secrets of another type", definition(there, object{"type": "noAuth", "password": "p", "token": "t"}),
		"auth.password", "auth.token")
	bad("colon in the username", basic(there, "a:b", "p"), "auth.username")
	bad("pasted trailing newline", basic(there, "a", "p\n"), "auth.password")
	bad("bad PEM", noAuth(there, object{"tls": object{"enabled": true, "ca": "not PEM", "certificate": "neither", "key": "nor"}}),
		"auth.tls.ca", "auth.tls.certificate", "auth.tls.key")
	bad("key alone", noAuth(there, object{"tls": object{"enabled": true, "key": one.Key}}), "auth.tls.key")
	bad("key of another", noAuth(there, object{"tls": object{"enabled": true, "certificate": one.Certificate, "key": two.Key}}),
		"auth.tls.key")
	for _, endpoint := range []string{
		"ftp://registry.example", "http://user:pass@127.0.0.1", "http://127.0.0.1:5000?x=1",
		"http://127.0.0.1:5000/#x", "http://127.0.0.1:0",
		"http://2130706433", "http://0x7f.1", "http://", "http://127.0.0.1:99999", "unix:///run/docker.sock",
		"http://[fe80::1%25eth0]", "http://exa mple",
		strings.Repeat("x", 2049),
	} {
		bad(fmt.Sprintf("endpoint %.40s", endpoint), noAuth(endpoint), "endpoint")
	}
	bad("paths that climb", noAuth(there, object{"basePath": "a/../b", "baseContentPath": "a?b"}), "baseContentPath", "basePath")
	bad("unknown registry uid", noAuth(there, object{"registryUid": "never-created"}), "registryUid")
	bad("all at once", `{"endpoint":"ftp://x","basePath":"..","providerType":"docker","auth":{"type":"basic","username":"a:b",`+
		`"tls":{"enabled":true,"ca":"x"}}}`,
		"auth.password", "auth.tls.ca", "auth.username", "basePath", "endpoint", "providerType")
	return all
}

// wrongRequests are wrong whatever the body.
func wrongRequests(tokens instance.Tokens) []wrongInput {
	good := noAuth("http://127.0.0.1:5000")
	get := func(name, path string, status int, code string, headers ...string) wrongInput {
		return wrongInput{name: name, method: http.MethodGet, path: path, headers: headers, status: status, code: code}
	}
	return []wrongInput{
		{name: "HEAD on refresh", method: http.MethodHead, path: refresh + tokens.RefreshToken, status: http.StatusMethodNotAllowed},
		get("prefetch of refresh", refresh+tokens.RefreshToken, http.StatusBadRequest, "InvalidRequest", "Sec-Purpose", "prefetch"),
		get("empty refresh token", refresh, http.StatusNotFound, "PathNotFound"),
		get("made-up refresh token", refresh+"abc", http.StatusUnauthorized, "InvalidRefreshToken"),
		get("refresh token with a slash", refresh+tokens.RefreshToken+"%2Fx", http.StatusUnauthorized, "InvalidRefreshToken"),
		get("very long refresh token", refresh+strings.Repeat("a", 8<<10), http.StatusUnauthorized, "InvalidRefreshToken"),
		get("two slashes", "//v1/auth/refresh/"+tokens.RefreshToken, http.StatusNotFound, "PathNotFound"),
		get("slashes inside", "/v1//projects/alerts", http.StatusNotFound, "PathNotFound"),
		get("slash at the end", alerts+"/", http.StatusNotFound, "PathNotFound"),
		get("dots", "/v1/auth/../projects/alerts", http.StatusNotFound, "PathNotFound"),
		get("encoded slash", "/v1%2Fprojects/alerts", http.StatusNotFound, "PathNotFound"),
		get("root", "/", http.StatusNotFound, "PathNotFound"),
		get("unknown", "/v1/nothing", http.StatusNotFound, "PathNotFound"),
		get("a later version", "/v2/", http.StatusNotFound, "PathNotFound"),
		get("authenticate by GET", "/v1/auth/authenticate", http.StatusMethodNotAllowed, "MethodNotAllowed"),
		get("validate by GET", validate, http.StatusMethodNotAllowed, "MethodNotAllowed"),
		{name: "alerts by POST", method: http.MethodPost, path: alerts, body: "{}", status: http.StatusMethodNotAllowed,
			code: "MethodNotAllowed"},
		{name: "OPTIONS", method: http.MethodOptions, path: alerts, status: http.StatusMethodNotAllowed, code: "MethodNotAllowed"},
		{name: "TRACE", method: http.MethodTrace, path: alerts, status: http.StatusMethodNotAllowed, code: "MethodNotAllowed"},
		{name: "a method of its own", method: "BREW", path: validate, status: http.StatusMethodNotAllowed, code: "MethodNotAllowed"},
		get("two Authorization", alerts, http.StatusBadRequest, "InvalidRequest", "Authorization", tokens.Authorization),
		get("two ApiKey", alerts, http.StatusBadRequest, "InvalidRequest", "ApiKey", "a", "ApiKey", "a"),
		get("two ProjectUid", alerts, http.StatusBadRequest, "InvalidRequest", "ProjectUid", "a", "ProjectUid", "a"),
		{name: "two ProjectUid at validate", method: http.MethodPost, path: validate, body: good,
			headers: []string{"ProjectUid", "a", "ProjectUid", "b"},
			status:  http.StatusBadRequest, code: "InvalidRequest"},
		get("strange ProjectUid", alerts, http.StatusNotFound, "ProjectNotFoundInTenant", "ProjectUid", strings.Repeat("%00'\"", 100)),
	}
}
