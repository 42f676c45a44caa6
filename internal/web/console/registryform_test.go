package console

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/selfsigned"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// mustReadPair returns a certificate and its key, with the line breaks of Windows.
func mustReadPair(t *testing.T) (certificate, key string) {
	t.Helper()
	certFile, keyFile, err := selfsigned.Files(t.TempDir(), "127.0.0.1:0", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), "\n", "\r\n")
	}
	return read(certFile), read(keyFile)
}

var textarea = regexp.MustCompile(`(?s)<textarea id="field-(\w+)".*?>(.*?)</textarea>`)

// A form that is sent as it was shown, with another name, changes nothing else: neither secrets nor what the form does not have.
func TestEditRegistry(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	p := w.mustIdentify(cookie)
	certificate, key := mustReadPair(t)
	uid, err := w.Registries.Create(t.Context(), p, audit.Origin{}, registries.RegistryInput{
		Name: "before", Annotations: map[string]string{"a": "b"}, Labels: map[string]string{"c": "d"}, Scope: "tenant", Private: true,
		SpectroManifest: true, SyncSupported: true,
		Definition: regcheck.Definition{Endpoint: "https://r.example.com", BasePath: "base", BaseContentPath: "charts",
			References: []string{"charts/a:1", "charts/b:2"}, ProviderType: regcheck.Helm, Auth: &regcheck.Auth{
				Type: regcheck.Basic, Username: "ada", Password: "the stored password",
				TLS: regcheck.TLS{Enabled: true, CA: certificate, Certificate: certificate, Key: secret.String(key)}}}})
	if err != nil {
		t.Fatal(err)
	}
	before, err := w.Registries.Load(t.Context(), p.OrgUID, uid)
	if err != nil {
		t.Fatal(err)
	}
	path := registryPath(uid) + "/edit"
	page := w.send("GET", path, "", "Cookie", cookie).Body.String()
	if strings.Contains(page, "the stored password") || strings.Contains(page, "PRIVATE KEY") || strings.Contains(page, secret.Mask) {
		t.Errorf("the page has a secret: %s", page)
	}
	values := url.Values{"name": {"after"}, "endpoint": {"https://r.example.com"}, "basePath": {"base"}, "baseContentPath": {"charts"},
		"providerType": {"helm"},
		"authType":     {"basic"}, "username": {"ada"}, "password": {""}, "isSyncSupported": {"true"}, "version": {"1"}}
	for _, found := range textarea.FindAllStringSubmatch(page, -1) {
		text := strings.ReplaceAll(html.UnescapeString(found[2]), "\r\n", "\n") // as the parser of HTML
		values.Set(found[1], strings.ReplaceAll(text, "\n", "\r\n"))            // as browsers send it
	}
	if got := w.send("POST", path, values.Encode(), "Cookie", cookie); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	after, err := w.Registries.Load(t.Context(), p.OrgUID, uid)
	if err != nil {
		t.Fatal(err)
	}
	before.Registry.Name = "after"
	reveal := cmp.Transformer("reveal", func(s secret.String) string { return s.Reveal() })
	if diff := cmp.Diff(before, after, reveal, cmpopts.IgnoreFields(registries.Registry{}, "Version", "UpdatedAt")); diff != "" {
		t.Error(diff)
	}
	for name, value := range map[string]string{"endpoint": "https://evil.example.com", "basePath": "other", "insecureSkipVerify": "true",
		"ca": ""} {
		changed := maps.Clone(values)
		changed.Set("version", "2")
		changed.Set(name, value)
		if got := w.send("POST", path, changed.Encode(), "Cookie", cookie); got.Code != http.StatusBadRequest {
			t.Errorf("with another %s, the stored secrets go to another server: %d", name, got.Code)
		}
	}
}

// What credentials are obtained with is stored by the form, shown without secrets, and changed. A stored secret stays with its identity.
func TestEditRegistryOfACloud(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	p := w.mustIdentify(cookie)
	values := url.Values{"name": {"before"}, "endpoint": {"https://123456789012.dkr.ecr.eu-west-1.amazonaws.com"}, "providerType": {"helm"},
		"authType": {"ecr"}, "aws.accessKey": {"AKIA"}, "aws.secretKey": {"the stored key"}, "aws.sessionToken": {"the stored session"},
		"password": {"of another type"}}
	created := w.send("POST", pathNewRegistry, values.Encode(), "Cookie", cookie)
	path, _, _ := strings.Cut(created.Header().Get("Location"), "?")
	if created.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", created.Code, created.Body)
	}
	page := w.send("GET", path+"/edit", "", "Cookie", cookie).Body.String()
	if !strings.Contains(page, `value="AKIA"`) || strings.Contains(page, "the stored key") ||
		strings.Contains(page, "the stored session") || strings.Contains(page, secret.Mask) {
		t.Errorf("the page: %s", page)
	}
	if page := w.send("GET", path, "", "Cookie", cookie).Body.String(); !strings.Contains(page, "<dd>AKIA</dd>") {
		t.Errorf("the page of the registry does not name the key: %s", page)
	}
	save := func(version, name, value string) (response, regcheck.AWSKey) {
		t.Helper()
		changed := maps.Clone(values)
		for _, hidden := range []string{"aws.secretKey", "aws.sessionToken"} {
			changed.Del(hidden)
		}
		changed.Set("version", version)
		changed.Set(name, value)
		got := w.send("POST", path+"/edit", changed.Encode(), "Cookie", cookie)
		after, err := w.Registries.Load(t.Context(), p.OrgUID, strings.TrimPrefix(path, pathRegistries+"/"))
		if err != nil {
			t.Fatal(err)
		}
		return got, *after.Definition.Auth.AWS
	}
	got, after := save("1", "name", "after")
	want := regcheck.AWSKey{AccessKey: "AKIA", SecretKey: "the stored key", SessionToken: "the stored session"}
	if got.Code != http.StatusSeeOther || after != want {
		t.Errorf("%d %s: %+v", got.Code, got.Body, after)
	}
	got, after = save("2", "aws.accessKey", "OTHER")
	if page := got.Body.String(); got.Code != http.StatusBadRequest || !strings.Contains(page, `href="#field-aws.secretKey"`) ||
		after != want {
		t.Errorf("another identity: %d %s: %+v", got.Code, page, after)
	}
	got, after = save("2", "aws.secretKey", "a new key")
	if want.SecretKey, want.SessionToken = "a new key", ""; got.Code != http.StatusSeeOther || after != want {
		t.Errorf("a new key: %d %s: %+v", got.Code, got.Body, after)
	}
}

// A registry that is used with the identity of the server stays so when its form is saved, unless credentials are entered.
func TestEditRegistryWithTheIdentityOfTheServer(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	p := w.mustIdentify(cookie)
	for name, tt := range map[string]struct {
		endpoint string
		auth     regcheck.Auth
		form     url.Values
		secret   string
	}{
		"ecr": {"https://123456789012.dkr.ecr.eu-west-1.amazonaws.com",
			regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{Ambient: true, RoleARN: "arn:aws:iam::123456789012:role/pull"}},
			url.Values{"aws.roleArn": {"arn:aws:iam::123456789012:role/pull"}}, "aws.secretKey"},
		"gcp": {"https://europe-docker.pkg.dev", regcheck.Auth{Type: regcheck.GCP, GCP: &regcheck.GCPKey{Ambient: true}}, url.Values{},
			"gcp.serviceAccount"},
		"azure": {"https://example.azurecr.io",
			regcheck.Auth{Type: regcheck.Azure, Azure: &regcheck.AzureClient{Ambient: true, ClientID: "c"}},
			url.Values{"azure.clientId": {"c"}}, "azure.clientSecret"},
	} {
		uid, err := w.Registries.Create(t.Context(), p, audit.Origin{}, registries.RegistryInput{Name: name,
			Definition: regcheck.Definition{Endpoint: tt.endpoint, Auth: &tt.auth}})
		if err != nil {
			t.Fatal(name, err)
		}
		form := tt.form
		maps.Copy(form, url.Values{"name": {name + " after"}, "endpoint": {tt.endpoint}, "providerType": {"helm"}, "authType": {name},
			"version": {"1"}})
		got := w.send("POST", registryPath(uid)+"/edit", form.Encode(), "Cookie", cookie)
		after, err := w.Registries.Load(t.Context(), p.OrgUID, uid)
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(&tt.auth, after.Definition.Auth); got.Code != http.StatusSeeOther || diff != "" {
			t.Errorf("%s: %d %s %s", name, got.Code, diff, got.Body)
		}
		form.Set("version", "2")
		form.Set(tt.secret, "entered")
		page := w.send("POST", registryPath(uid)+"/edit", form.Encode(), "Cookie", cookie)
		if page.Code != http.StatusBadRequest || strings.Contains(page.Body.String(), "ambient") {
			t.Errorf("%s: incomplete credentials: %d %s", name, page.Code, page.Body)
		}
	}
}

// A form that another change overtook is refused, with what was entered except secrets.
func TestOutdatedForm(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	uid, err := w.Registries.Create(t.Context(), w.mustIdentify(cookie), audit.Origin{},
		registries.RegistryInput{Name: "before", Definition: regcheck.Definition{
			Endpoint: "https://r.example.com", Auth: &regcheck.Auth{Type: regcheck.NoAuth}}})
	if err != nil {
		t.Fatal(err)
	}
	path := registryPath(uid) + "/edit"
	if page := w.send("GET", path, "", "Cookie", cookie).Body.String(); !strings.Contains(page,
		`<input type="hidden" name="version" value="1">`) {
		t.Fatalf("the form has no version: %s", page)
	}
	save := func(name, version string) response {
		return w.send("POST", path, url.Values{"name": {name}, "endpoint": {"https://other.example.com"}, "providerType": {"helm"},
			"authType": {"basic"}, "username": {"ada"},
			"password": {"hunter2"}, "version": {version}}.Encode(), "Cookie", cookie)
	}
	if got := save("first", "1"); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	for _, version := range []string{"1", "0", "3", "x", ""} {
		got := save("second", version)
		page := got.Body.String()
		if got.Code != http.StatusConflict || !strings.Contains(page, "The registry was changed after you opened it.") ||
			!strings.Contains(page, `<a href="`+path+`">`) ||
			!strings.Contains(page, `value="second"`) || strings.Contains(page, "hunter2") {
			t.Errorf("version %q: %d %s", version, got.Code, page)
		}
	}
	if found, err := w.Registries.Get(t.Context(), w.mustIdentify(cookie), uid); err != nil || found.Name != "first" || found.Version != 2 {
		t.Errorf("stored: %+v, %v", found, err)
	}
}
