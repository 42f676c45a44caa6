package palette_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

const registriesPath = "/v1/registries/oci"

// provider is the Terraform provider: what it calls for each action, and what it reads of the responses. Where releases
// differ it is the least tolerant one: up to v0.29.7 spec.auth.tls is dereferenced.
type provider struct {
	goSDK
	projectName string
	projectUID  string
}

// config is a registry resource as a Terraform file has it.
type config struct {
	Name            string
	Endpoint        string
	ProviderType    string // helm, zarf or pack
	Synchronization bool
	BaseContentPath string
	EndpointSuffix  string // the API's basePath
	CredentialType  string // basic or noAuth
	Username        string
	Password        string
	Certificate     string // tls_config
	Insecure        bool
}

// The wire form. What the generated models leave out when it is empty has omitempty.
type (
	sentRegistry struct {
		Metadata sentMetadata `json:"metadata"`
		Spec     sentSpec     `json:"spec"`
	}
	sentMetadata struct {
		CreationTimestamp     string `json:"creationTimestamp"`
		DeletionTimestamp     string `json:"deletionTimestamp"`
		LastModifiedTimestamp string `json:"lastModifiedTimestamp"`
		Name                  string `json:"name,omitempty"`
	}
	sentSpec struct {
		Auth                    *sentAuth `json:"auth"`
		BaseContentPath         string    `json:"baseContentPath,omitempty"`
		BasePath                string    `json:"basePath,omitempty"`
		ContainsSpectroManifest bool      `json:"containsSpectroManifest"`
		Endpoint                *string   `json:"endpoint"`
		IsSyncSupported         bool      `json:"isSyncSupported,omitempty"`
		ProviderType            *string   `json:"providerType"`
		Scope                   string    `json:"scope,omitempty"`
	}
	sentAuth struct {
		Password string   `json:"password,omitempty"`
		TLS      *sentTLS `json:"tls,omitempty"`
		Type     string   `json:"type"`
		Username string   `json:"username,omitempty"`
	}
	sentTLS struct {
		Certificate        string `json:"certificate,omitempty"`
		Enabled            bool   `json:"enabled"`
		InsecureSkipVerify bool   `json:"insecureSkipVerify"`
	}
)

// zeroTime is what strfmt writes for a moment that was never set.
const zeroTime = "0001-01-01T00:00:00.000Z"

func (c config) spec() sentSpec {
	auth := &sentAuth{Type: c.CredentialType, TLS: &sentTLS{Certificate: c.Certificate, Enabled: true, InsecureSkipVerify: c.Insecure}}
	if c.CredentialType == "basic" {
		auth.Username, auth.Password = c.Username, c.Password
	}
	return sentSpec{
		Auth: auth, BaseContentPath: c.BaseContentPath, BasePath: c.EndpointSuffix, Endpoint: &c.Endpoint,
		IsSyncSupported: c.Synchronization, ProviderType: &c.ProviderType,
	}
}

func (c config) body(t testing.TB) string {
	return encoded(t, sentRegistry{sentMetadata{zeroTime, zeroTime, zeroTime, c.Name}, c.spec()})
}

// encoded writes JSON as the clients do, a trailing newline behind it.
func encoded(t testing.TB, v any) string {
	t.Helper()
	var b strings.Builder
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The responses, as far as the provider reads them. What it dereferences unasked is a pointer.
type (
	readMetadata struct {
		Name string `json:"name"`
		UID  string `json:"uid"`
	}
	readRegistry struct {
		Metadata *readMetadata `json:"metadata"`
		Spec     *struct {
			Auth            *readAuth `json:"auth"`
			BaseContentPath string    `json:"baseContentPath"`
			BasePath        string    `json:"basePath"`
			Endpoint        *string   `json:"endpoint"`
			ProviderType    string    `json:"providerType"`
		} `json:"spec"`
		Status *struct {
			SyncStatus *readSync `json:"syncStatus"`
		} `json:"status"`
	}
	readAuth struct {
		Type     string `json:"type"`
		Username string `json:"username"`
		Password string `json:"password"`
		TLS      *struct {
			Certificate        string `json:"certificate"`
			InsecureSkipVerify bool   `json:"insecureSkipVerify"`
		} `json:"tls"`
	}
	readSync struct {
		IsSyncSupported bool      `json:"isSyncSupported"`
		Status          string    `json:"status"`
		Message         string    `json:"message"`
		LastRunTime     time.Time `json:"lastRunTime"`
		LastSyncedTime  time.Time `json:"lastSyncedTime"`
	}
	readSummary struct {
		Items []struct {
			Metadata *readMetadata `json:"metadata"`
			Spec     *struct {
				RegistryType            string `json:"registryType"`
				Endpoint                string `json:"endpoint"`
				ProviderType            string `json:"providerType"`
				IsPrivate               bool   `json:"isPrivate"`
				Scope                   string `json:"scope"`
				ContainsSpectroManifest bool   `json:"containsSpectroManifest"`
			} `json:"spec"`
			Status *struct {
				Sync *readSync `json:"sync"`
			} `json:"status"`
		} `json:"items"`
	}
	readNames struct {
		Items []struct {
			Name      string `json:"name"`
			UID       string `json:"uid"`
			Kind      string `json:"kind"`
			Scope     string `json:"scope"`
			IsDefault bool   `json:"isDefault"`
			IsPrivate bool   `json:"isPrivate"`
		} `json:"items"`
	}
	readList struct {
		Items []struct {
			Metadata *readMetadata `json:"metadata"`
		} `json:"items"`
	}
)

// plugin starts the provider's process once: it looks for its project, or every command ends.
func (w *world) plugin() *provider {
	w.t.Helper()
	p := &provider{goSDK: w.sdk(), projectName: "Default"}
	p.configure()
	return p
}

func (p *provider) configure() {
	p.wire.t.Helper()
	var projects readList
	p.must(get("/v1/dashboard/projects/metadata"), &projects)
	for _, item := range projects.Items {
		if item.Metadata == nil {
			p.crash("a project without metadata")
		}
		if item.Metadata.Name == p.projectName {
			p.projectUID = item.Metadata.UID
		}
	}
	if p.projectUID == "" {
		p.wire.t.Fatalf("project %q not found", p.projectName)
	}
}

// crash is a nil dereference in the plugin.
func (p *provider) crash(of string) {
	p.wire.t.Helper()
	p.wire.t.Fatalf("plugin crash: %s", of)
}

// of is the path of a registry's record, by uid or by whatever else the user gave.
func of(id, rest string) string { return registriesPath + "/" + url.PathEscape(id) + rest }

// create is "apply" of a new resource. The registry is validated before only when it is to be synchronized.
func (p *provider) create(c config) (uid string) {
	p.wire.t.Helper()
	p.validateIfSynchronized(c)
	var made struct {
		UID *string `json:"uid"`
	}
	p.must(post(registriesPath+"/basic?skipPackSync=false", c.body(p.wire.t), 201), &made)
	if made.UID == nil || *made.UID == "" {
		p.crash("create returns no uid")
	}
	return *made.UID
}

func (p *provider) validateIfSynchronized(c config) {
	p.wire.t.Helper()
	if c.Synchronization {
		p.must(post(registriesPath+"/basic/validate", encoded(p.wire.t, c.spec()), 204), nil)
	}
}

// read is a refresh. There is no state when the service says, with its one code, that the resource is gone.
func (p *provider) read(uid string) (c config, there bool) {
	p.wire.t.Helper()
	var r readRegistry
	if err := p.call(get(of(uid, "/basic")), &r); err != nil {
		if err.Code == "ResourceNotFound" {
			return c, false
		}
		p.wire.t.Fatalf("refresh: %v", err)
	}
	switch {
	case r.Metadata == nil:
		p.crash("metadata")
	case r.Spec == nil || r.Spec.Auth == nil:
		p.crash("spec.auth")
	case r.Spec.Auth.TLS == nil:
		p.crash("spec.auth.tls")
	case r.Spec.Endpoint == nil:
		p.crash("spec.endpoint")
	case r.Status == nil || r.Status.SyncStatus == nil:
		p.crash("status.syncStatus")
	}
	c = config{
		Name: r.Metadata.Name, Endpoint: *r.Spec.Endpoint, ProviderType: r.Spec.ProviderType, BaseContentPath: r.Spec.BaseContentPath,
		EndpointSuffix: r.Spec.BasePath, Synchronization: r.Status.SyncStatus.IsSyncSupported,
	}
	switch a := r.Spec.Auth; a.Type {
	case "basic", "noAuth": // of any other type the credentials are lost
		c.CredentialType, c.Username, c.Password = a.Type, a.Username, a.Password
		c.Certificate, c.Insecure = a.TLS.Certificate, a.TLS.InsecureSkipVerify
	}
	return c, true
}

// drift lists the fields in which what is there differs from what is configured: what a plan would show. The
// password comes from the provider's own state and is not compared.
func drift(want, got config) []string {
	want.Password, got.Password = "", ""
	a, b := fields(want), fields(got)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			all = append(all, fmt.Sprintf("%s: %q -> %q", name, b[name], a[name]))
		}
	}
	return all
}

func fields(c config) map[string]string {
	return map[string]string{
		"name": c.Name, "endpoint": c.Endpoint, "provider_type": c.ProviderType, "is_synchronization": fmt.Sprint(c.Synchronization),
		"base_content_path": c.BaseContentPath, "endpoint_suffix": c.EndpointSuffix, "credential_type": c.CredentialType,
		"username": c.Username, "certificate": c.Certificate, "insecure_skip_verify": fmt.Sprint(c.Insecure),
	}
}

// plan is what a user sees of "terraform plan": a refresh, and the fields that differ.
func (p *provider) plan(uid string, want config) []string {
	p.wire.t.Helper()
	got, there := p.read(uid)
	if !there {
		return []string{"the resource is gone and will be created"}
	}
	return drift(want, got)
}

// noDrift fails when a plan shows anything.
func (p *provider) noDrift(uid string, want config) {
	p.wire.t.Helper()
	if changes := p.plan(uid, want); len(changes) > 0 {
		p.wire.t.Errorf("the plan is not empty:\n%s", strings.Join(changes, "\n"))
	}
}

// update is "apply" of a changed resource. The password is sent again, in clear.
func (p *provider) update(uid string, c config) {
	p.wire.t.Helper()
	p.read(uid)
	p.configure()
	p.validateIfSynchronized(c)
	p.must(put(of(uid, "/basic"), c.body(p.wire.t)), nil)
}

// destroy removes the resource.
func (p *provider) destroy(uid string) *apiError {
	p.wire.t.Helper()
	p.read(uid)
	p.configure()
	return p.call(del(of(uid, "/basic")), nil)
}

// waitForSync polls until the synchronization is done, as wait_for_sync asks for. The first wait is 30 s in the
// provider, and the others are 10 s.
func (p *provider) waitForSync(uid string) (last readSync, warning bool) {
	p.wire.t.Helper()
	return p.waitFor(of(uid, "/basic/sync/status"))
}

// waitFor is waitForSync with the path of the status.
func (p *provider) waitFor(path string) (last readSync, warning bool) {
	p.wire.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var seen readSync
		p.must(get(path), &seen)
		done, failed := p.interpret(seen)
		if done || failed {
			p.must(get(path), &last) // once more, for the message
			return last, failed
		}
	}
	p.wire.t.Fatal("the synchronization does not end")
	return last, false
}

// interpret returns what a status means to the provider. Any other status fails the test.
func (p *provider) interpret(s readSync) (done, failed bool) {
	p.wire.t.Helper()
	if !s.IsSyncSupported {
		return true, false
	}
	switch strings.ToLower(s.Status) {
	case "success", "completed":
		return true, false
	case "failed", "error":
		return false, true // a warning; the resource stays
	}
	if !slices.Contains([]string{"InProgress", "Running", "Syncing", "Pending", "Unknown", ""}, s.Status) {
		p.wire.t.Fatalf("unexpected state %q of the synchronization", s.Status)
	}
	return false, false
}

// importResource is "terraform import" by uid or name. Another kind of registry is looked for first, and has to be
// said not to be there.
func (p *provider) importResource(id string) (uid string, c config) {
	p.wire.t.Helper()
	p.refused(get(of(id, "/ecr")), 404, "ResourceNotFound")
	if _, there := p.read(id); there {
		c, _ = p.read(id)
		p.read(id)
		return id, c
	}
	for _, item := range p.summary().Items {
		if item.Metadata.Name != id {
			continue
		}
		if kind := strings.ToLower(item.Spec.RegistryType); kind != "basic" && kind != "ecr" {
			p.wire.t.Fatalf("registry type %q cannot be imported", item.Spec.RegistryType)
		}
		p.read(item.Metadata.UID)
		c, _ = p.read(item.Metadata.UID)
		return item.Metadata.UID, c
	}
	p.wire.t.Fatalf("nothing to import under %q", id)
	return "", c
}

// summary reads the list, in which every item has what the provider dereferences.
func (p *provider) summary() readSummary {
	p.wire.t.Helper()
	var list readSummary
	p.must(get(registriesPath+"/summary"), &list)
	for _, item := range list.Items {
		if item.Metadata == nil || item.Spec == nil {
			p.crash("a listed registry without metadata or spec")
		}
	}
	return list
}

// scoped is the same plugin where data sources send the configured project.
func (p *provider) scoped() *provider {
	scoped := *p
	scoped.project = p.projectUID
	return &scoped
}
