package palette_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/test/testca"
)

const helmPath = "/v1/registries/helm"

// helmConfig is a spectrocloud_registry_helm as a Terraform file has it, and as the provider keeps it in its state.
type helmConfig struct {
	Name, Endpoint     string
	Private            bool
	CredentialType     string // noAuth, basic or token
	Username, Password string
	Token              string
}

type (
	sentHelm struct {
		Metadata sentMetadata `json:"metadata"`
		Spec     sentHelmSpec `json:"spec"`
	}
	sentHelmSpec struct {
		Auth      *sentHelmAuth `json:"auth"`
		Endpoint  *string       `json:"endpoint"`
		IsPrivate *bool         `json:"isPrivate,omitempty"`
		Name      string        `json:"name,omitempty"`
	}
	sentHelmAuth struct {
		Password string `json:"password,omitempty"`
		Token    string `json:"token,omitempty"`
		Type     string `json:"type,omitempty"`
		Username string `json:"username,omitempty"`
	}
	readHelm struct {
		Metadata *readMetadata `json:"metadata"`
		Spec     *struct {
			Endpoint  *string       `json:"endpoint"`
			IsPrivate bool          `json:"isPrivate"`
			Auth      *sentHelmAuth `json:"auth"`
		} `json:"spec"`
		Status *struct {
			HelmSyncStatus *readSync `json:"helmSyncStatus"`
		} `json:"status"`
	}
)

// body is that of a PUT, which always has isPrivate, or of a POST, which has it only if it is true.
func (c helmConfig) body(t testing.TB, creates bool) string {
	private := &c.Private
	if creates && !c.Private {
		private = nil
	}
	auth := &sentHelmAuth{Type: c.CredentialType, Username: c.Username, Password: c.Password, Token: c.Token}
	return encoded(t, sentHelm{sentMetadata{zeroTime, zeroTime, zeroTime, c.Name},
		sentHelmSpec{Auth: auth, Endpoint: &c.Endpoint, IsPrivate: private}})
}

// helmPlugin is the provider for resources of type registry_helm.
type helmPlugin struct{ *provider }

func (p helmPlugin) create(c helmConfig) string {
	p.wire.t.Helper()
	var made struct{ UID *string }
	p.must(post(helmPath+"?scope=all", c.body(p.wire.t, true), 201), &made)
	if made.UID == nil || *made.UID == "" {
		p.crash("create returns no uid")
	}
	return *made.UID
}

// read is a refresh. Password and token of the response replace those of the state.
func (p helmPlugin) read(uid string) (c helmConfig, there bool) {
	p.wire.t.Helper()
	var r readHelm
	if err := p.call(get(helmPath+"/"+url.PathEscape(uid)), &r); err != nil {
		if err.Code == "ResourceNotFound" {
			return c, false
		}
		p.wire.t.Fatalf("refresh: %v", err)
	}
	switch {
	case r.Metadata == nil:
		p.crash("metadata")
	case r.Spec == nil || r.Spec.Auth == nil || r.Spec.Endpoint == nil:
		p.crash("spec.auth")
	}
	a := r.Spec.Auth
	return helmConfig{r.Metadata.Name, *r.Spec.Endpoint, r.Spec.IsPrivate, a.Type, a.Username, a.Password, a.Token}, true
}

// waitForSync is wait_for_sync. Unlike that of OCI registries, a failure is an error, which taints a new resource.
func (p helmPlugin) waitForSync(uid string) (last readSync, err error) {
	p.wire.t.Helper()
	last, failed := p.waitFor(helmPath + "/" + uid + "/sync/status")
	if failed {
		err = errors.New(last.Status + ": " + last.Message)
	}
	return last, err
}

func (p helmPlugin) update(uid string, c helmConfig) {
	p.wire.t.Helper()
	p.read(uid)
	p.configure()
	p.must(put(helmPath+"/"+uid, c.body(p.wire.t, false)), nil)
}

func (p helmPlugin) destroy(uid string) {
	p.wire.t.Helper()
	p.read(uid)
	p.configure()
	p.must(del(helmPath+"/"+uid), nil)
	if _, there := p.read(uid); there {
		p.wire.t.Error("destroyed, it is still there")
	}
}

// importResource is "terraform import" by uid or name.
func (p helmPlugin) importResource(id string) (uid string, c helmConfig) {
	p.wire.t.Helper()
	if c, there := p.read(id); there {
		return id, c
	}
	var list readList
	p.must(get(helmPath+"?limit=50&scope=all"), &list)
	for _, item := range list.Items {
		if item.Metadata != nil && item.Metadata.Name == id {
			c, _ = p.read(item.Metadata.UID)
			return item.Metadata.UID, c
		}
	}
	p.wire.t.Fatalf("nothing to import under %q", id)
	return "", c
}

// unknownSettings are settings of a chart repository that the provider does not know.
type unknownSettings struct {
	Labels          map[string]string
	References      []any
	TLS             map[string]any
	PassCredentials bool
}

// wholeHelm is a chart repository as the console and the command line have it.
type wholeHelm struct {
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec map[string]any `json:"spec"`
}

func (p helmPlugin) unknown(uid string) unknownSettings {
	p.wire.t.Helper()
	var r wholeHelm
	p.must(get(of(uid, "/basic")), &r)
	auth, _ := r.Spec["auth"].(map[string]any)
	tls, _ := auth["tls"].(map[string]any)
	passes, _ := auth["passCredentials"].(bool)
	references, _ := r.Spec["references"].([]any)
	return unknownSettings{r.Metadata.Labels, references, tls, passes}
}

// setUnknown sets all of them.
func (p helmPlugin) setUnknown(uid string, c helmConfig, ca string) unknownSettings {
	p.wire.t.Helper()
	var r wholeHelm
	p.must(get(of(uid, "/basic")), &r)
	r.Metadata.Labels, r.Spec["references"] = map[string]string{"team": "a"}, []string{"app:1.0.0"}
	r.Spec["auth"] = map[string]any{"type": c.CredentialType, "username": c.Username, "password": c.Password, "token": c.Token,
		"passCredentials": true, "tls": map[string]any{"enabled": true, "ca": ca}}
	p.must(put(of(uid, "/basic"), encoded(p.wire.t, r)), nil)
	set := p.unknown(uid)
	if len(set.Labels) != 1 || len(set.References) != 1 || set.TLS["ca"] != ca || !set.PassCredentials {
		p.wire.t.Errorf("not stored: %+v", set)
	}
	return set
}

// chartRepository is a chart repository without charts.
func chartRepository(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/charts/index.yaml" {
			http.NotFound(rw, r)
			return
		}
		_, _ = rw.Write([]byte("apiVersion: v1\nentries: {}\n"))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/charts"
}

// The whole life of a resource. Secrets are masked, so that each plan shows them, and nothing else, as the page of public clients has it.
func TestHelmResourceLife(t *testing.T) {
	w := start(t)
	at, ca := chartRepository(t), testca.New(t, "charts").PEM()
	for _, c := range []helmConfig{
		{Name: "open", Endpoint: at, CredentialType: "noAuth"},
		{Name: "open, private", Endpoint: at + "/", Private: true, CredentialType: "noAuth"},
		{Name: "basic", Endpoint: at, Private: true, CredentialType: "basic", Username: robot, Password: robotSecret},
		{Name: "token", Endpoint: at, Private: true, CredentialType: "token", Username: robot, Token: robotSecret},
	} {
		t.Run(c.Name, func(t *testing.T) {
			plugin := func() helmPlugin { return helmPlugin{w.in(t).plugin()} }
			masked := func(c helmConfig) helmConfig {
				c.Password, c.Token = mask(c.Password), mask(c.Token)
				return c
			}
			uid := plugin().create(c)
			if got, _ := plugin().read(uid); cmp.Diff(masked(c), got) != "" {
				t.Errorf("the plan has more than the secret: %s", cmp.Diff(masked(c), got))
			}
			before := plugin().setUnknown(uid, c, ca)
			c.Name, c.Endpoint = c.Name+" again", strings.TrimSuffix(c.Endpoint, "/")+"/more"
			plugin().update(uid, c)
			for _, id := range []string{uid, c.Name} {
				if got, state := plugin().importResource(id); got != uid || cmp.Diff(masked(c), state) != "" {
					t.Errorf("import of %q: %s, %s", id, got, cmp.Diff(masked(c), state))
				}
			}
			// The update that each plan shows is harmless, with the secret and with its mask.
			plugin().update(uid, c)
			plugin().update(uid, masked(c))
			if diff := cmp.Diff(before, plugin().unknown(uid)); diff != "" {
				t.Errorf("the updates changed what the provider does not know: %s", diff)
			}
			plugin().destroy(uid)
		})
	}
}

func mask(secret string) string {
	if secret == "" {
		return ""
	}
	return "********"
}

// Lists of each kind have what clients read of them, and no registry of another kind.
func TestHelmInLists(t *testing.T) {
	w := start(t)
	p := helmPlugin{w.plugin()}
	uid := p.create(helmConfig{Name: "charts", Endpoint: chartRepository(t), CredentialType: "noAuth"})
	oci := w.plugin().create(anonymous(t))
	for _, path := range []string{helmPath + "?limit=50&scope=all", helmPath + "/summary"} {
		var list struct {
			readList
			ListMeta struct{ Count int }
		}
		p.must(get(path), &list)
		if len(list.Items) != 1 || list.Items[0].Metadata.UID != uid || list.ListMeta.Count != 1 {
			t.Errorf("%s: %+v", path, list)
		}
	}
	if items := p.summary().Items; len(items) != 1 || items[0].Metadata.UID != oci {
		t.Errorf("%+v", items)
	}
	var names readNames
	p.must(get("/v1/registries/metadata"), &names)
	kinds := []string{}
	for _, item := range names.Items {
		kinds = append(kinds, item.Kind)
	}
	if slices.Sort(kinds); !slices.Equal(kinds, []string{"helm", "oci"}) {
		t.Errorf("kinds %v", kinds)
	}
	if last, err := p.waitForSync(uid); err != nil || !last.IsSyncSupported {
		t.Errorf("wait_for_sync: %+v, %v", last, err)
	}
	ofOCI := helmPath + "/" + oci
	for _, path := range []string{registriesPath + "/" + uid, of(uid, "/ecr"), ofOCI, ofOCI + "/sync/status"} {
		p.refused(get(path), 404, "ResourceNotFound")
	}
	p.refused(del(ofOCI), 404, "ResourceNotFound")
	p.refused(put(ofOCI, helmConfig{Name: "x", Endpoint: "https://registry.onion", CredentialType: "noAuth"}.body(t, false)),
		404, "ResourceNotFound")
}

// The index that a synchronization does not find is an error of the apply.
func TestHelmWaitForSyncFails(t *testing.T) {
	p := helmPlugin{start(t).plugin()}
	uid := p.create(helmConfig{Name: "missing", Endpoint: chartRepository(t) + "/missing", CredentialType: "noAuth"})
	if last, err := p.waitForSync(uid); err == nil || last.Message == "" {
		t.Errorf("without an index: %+v, %v", last, err)
	}
}

// A definition that is read and sent back in the shape of the command line stays a chart repository.
func TestHelmInOneShape(t *testing.T) {
	w := start(t)
	p := helmPlugin{w.plugin()}
	c := helmConfig{Name: "charts", Endpoint: "https://charts.onion", Private: true, CredentialType: "basic", Username: "u",
		Password: "p"}
	uid := p.create(c)
	var whole struct {
		Spec map[string]any `json:"spec"`
	}
	p.must(get(of(uid, "/basic")), &whole)
	if whole.Spec["kind"] != "chartRepository" {
		t.Errorf("kind %v", whole.Spec["kind"])
	}
	p.must(put(of(uid, "/basic"), encoded(t, map[string]any{"metadata": map[string]string{"name": "renamed"}, "spec": whole.Spec})), nil)
	c.Name, c.Password = "renamed", mask(c.Password)
	if got, _ := p.read(uid); got != c {
		t.Errorf("%+v", got)
	}
}
