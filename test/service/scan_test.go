package service_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const hunter2 = "hunter2"

// A file is read as regwarden scan --list reads it: nothing is contacted, and no secret is returned.
func TestScan(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	authorization := client.Login().Authorization
	entry := base64.StdEncoding.EncodeToString([]byte("ada:" + hunter2))
	docker := `{"auths":{"ghcr.io":{"auth":"` + entry + `"}},"credHelpers":{"helper.example.com":"ecr-login"}}`
	object := "apiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: apps}\ntype: kubernetes.io/dockerconfigjson\n" +
		"stringData:\n  .dockerconfigjson: '" + docker + "'\n"
	for _, tt := range []struct {
		name, query, body, contentType string
		consumer                       string
		found, unresolved, problems    int
	}{
		{"docker", "", docker, "application/json", "docker", 2, 1, 0},
		{"another consumer", "?as=kubelet", docker, "application/json", "kubelet", 2, 1, 0},
		{"format", "?format=docker-config", docker, "application/octet-stream", "docker", 2, 1, 0},
		{"YAML", "", object, "application/yaml", "kubelet", 2, 1, 0},
		{"nothing", "", `{"name": "value"}`, "application/octet-stream", "", 0, 0, 0},
		{"a text", "", "text", "application/octet-stream", "", 0, 0, 1},
		{"cut off", "", docker[:len(docker)-1], "application/octet-stream", "", 0, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			response := client.Do(http.MethodPost, scan+tt.query, tt.body, "Authorization", authorization, "Content-Type",
				tt.contentType).Want(http.StatusOK)
			if strings.Contains(response.Body, hunter2) || strings.Contains(response.Body, entry) {
				t.Errorf("a secret in %s", response.Body)
			}
			var result struct {
				Registries []struct {
					Consumer   string
					Definition struct {
						Endpoint string
						Auth     struct{ Username, Password string }
					}
					Source []struct{ File string }
					Report any
				}
				Summary struct{ Found, Checked, Unresolved, Problems int }
			}
			response.Into(&result)
			if s := result.Summary; s.Found != tt.found || s.Unresolved != tt.unresolved || s.Problems != tt.problems || s.Checked != 0 {
				t.Errorf("%+v in %s", s, response.Body)
			}
			if tt.found == 0 {
				return
			}
			r := result.Registries[0]
			if r.Consumer != tt.consumer || r.Definition.Endpoint != "https://ghcr.io" || r.Definition.Auth.Username != "ada" ||
				r.Definition.Auth.Password != "********" || r.Source[0].File != "body" || r.Report != nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestScanRefusals(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--request-memory", "8"}})
	client := server.Client(t)
	good := []string{"Authorization", client.Login().Authorization}
	client.Do(http.MethodPost, scan, `{}`).Want(http.StatusUnauthorized)
	client.Do(http.MethodPost, scan, `{}`, append(good, "ProjectUid", noUID)...).Want(http.StatusNotFound)
	client.Do(http.MethodPost, scan, `{}`, append(good, "Content-Encoding", "gzip")...).Want(http.StatusUnsupportedMediaType)
	client.Do(http.MethodPost, scan, strings.Repeat(" ", 1<<20+1), good...).Want(http.StatusRequestEntityTooLarge)
	client.Do(http.MethodPost, scan, strings.Repeat(" ", 1<<20),
		append(good, "Content-Type", "application/octet-stream")...).Want(http.StatusOK)
	wantFields(t, client.Do(http.MethodPost, scan+"?format=docker&as=kubectl", `{}`, good...).Want(http.StatusBadRequest).Fault(), "as",
		"format")
	wantFields(t, client.Do(http.MethodPost, scan, "", good...).Want(http.StatusBadRequest).Fault(), "body")
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for _, name := range []string{"b", "c", "d", "e", "f", "g", "h"} {
		previous := string(name[0] - 1)
		bomb += name + ": &" + name + " [" + strings.TrimSuffix(strings.Repeat("*"+previous+", ", 10), ", ") + "]\n"
	}
	client.Do(http.MethodPost, scan, bomb, append(good, "Content-Type", "application/octet-stream")...).Want(http.StatusOK)

	uid := client.Do(http.MethodPost, scan, `{"auths":{}}`, good...).Want(http.StatusOK).Header.Get("AuditUid")
	kinds := map[string]int{}
	for _, r := range auditRecords(t, server) {
		if kinds[r.kind]++; r.uid == uid && r.kind != "registry.scan succeeded" {
			t.Errorf("the record of %s is %q", uid, r.kind)
		}
	}
	if kinds["registry.scan succeeded"] != 3 || kinds["registry.scan refused"] == 0 {
		t.Errorf("audit records: %v", kinds)
	}
}

// The files of one user delay no other user of the organization: one with 120,000 entries is still read when a small one is done.
func TestLargeScansDelayNoOtherUser(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.do(http.MethodPost, "/v1/users", newUser("mate@acme.example", object{"roles": []string{"member"}})).Want(http.StatusCreated)
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	var large strings.Builder
	large.WriteString(`{"auths":{"r.test":{}`)
	for i := range 120_000 {
		fmt.Fprintf(&large, `,"r%d.test":{"auth":"YTpi"}`, i)
	}
	large.WriteString(`}}`)
	for tries := 1; largeFirst(t, server, admin, mate, large.String()); tries++ {
		if tries == 3 { // this process may have stood still before it sent the small one
			t.Fatal("the large file ended first each time")
		}
	}
}

// largeFirst reports whether a large file is done before a small one of another user that is sent half a second later.
func largeFirst(t *testing.T, server *instance.Server, admin, mate person, large string) (first bool) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+scan, strings.NewReader(large))
		if err != nil {
			done <- err
			return
		}
		request.Header.Set(admin.credential[0], admin.credential[1])
		response, err := http.DefaultClient.Do(request)
		if err == nil && response.StatusCode != http.StatusOK {
			err = errors.New(response.Status)
		}
		if err == nil {
			err = response.Body.Close()
		}
		done <- err
	}()
	time.Sleep(500 * time.Millisecond) // until it is read
	began := time.Now()
	mate.client.Do(http.MethodPost, scan, `{"auths":{}}`,
		append(mate.credential, "Content-Type", "application/octet-stream")...).Want(http.StatusOK)
	t.Logf("the small file took %v", time.Since(began))
	first = len(done) > 0
	if err := <-done; err != nil {
		t.Errorf("the large file: %v", err)
	}
	t.Logf("the large file took %v", time.Since(began))
	return first
}
