package palette_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/cloudtest"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

const (
	ecrHost = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
	ecrKey  = "AKIAREADER"
	ecrPass = "heron above the sluice"
	ecrRole = "arn:aws:iam::123456789012:role/pull"
)

// startWithECR runs the service behind a proxy that connects every host to an imitation of ECR, with a real registry behind it.
func startWithECR(t *testing.T, flags ...string) (w *world, caPEM string) {
	t.Helper()
	ca := testca.New(t, "Amazon")
	cloud := imitateECR(t, ca)
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(rw, "CONNECT only", http.StatusMethodNotAllowed)
			return
		}
		there, err := net.Dial("tcp", cloud)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadGateway)
			return
		}
		here, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		_, _ = io.WriteString(here, "HTTP/1.1 200 Connected\r\n\r\n")
		go func() { _, _ = io.Copy(there, here); _ = there.Close() }()
		go func() { _, _ = io.Copy(here, there); _ = here.Close() }()
	}))
	t.Cleanup(proxy.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, []byte(ca.PEM()), 0o600); err != nil {
		t.Fatal(err)
	}
	return startWith(t, instance.Options{Env: []string{"SSL_CERT_FILE=" + roots, "SSL_CERT_DIR=" + t.TempDir()},
		Flags: append([]string{"--egress-proxy", proxy.URL, "--egress-proxy-connect", "name",
			"--egress-dns", instance.NameServer(t, func(string) bool { return true })}, flags...)}), ca.PEM()
}

// imitateECR returns the address of a server that is the API of ECR, and the registry that accepts the passwords that it issued.
func imitateECR(t *testing.T, ca *testca.CA) string {
	t.Helper()
	registry := realregistry.Distribution(t, realregistry.Options{})
	realregistry.Push(t, registry, realregistry.Helm, "charts/app", "1.0.0")
	behind, err := url.Parse(registry.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	aws := &cloudtest.AWS{Now: time.Now, Down: func() bool { return false }, Keys: map[string]cloudtest.AWSKey{
		ecrKey: {Secret: ecrPass, Account: "123456789012", Actions: []string{"ecr:GetAuthorizationToken"}}}}
	clouds, content := &cloudtest.Clouds{AWS: aws}, httputil.NewSingleHostReverseProxy(behind)
	hosts := []string{ecrHost, "api.ecr.eu-west-1.amazonaws.com", "sts.eu-west-1.amazonaws.com", "public.ecr.aws"}
	pair := ca.Issue(t, testca.Options{Hosts: hosts})
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case !strings.HasPrefix(r.URL.Path, "/v2/"):
			clouds.ServeHTTP(rw, r)
		case r.Host == ecrHost && !aws.Accepts(user, password):
			rw.Header().Set("WWW-Authenticate", `Basic realm="https://`+ecrHost+`/",service="ecr.amazonaws.com"`)
			http.Error(rw, "Not Authorized", http.StatusUnauthorized)
		default:
			r.Header.Del("Authorization")
			content.ServeHTTP(rw, r)
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// ecrConfig is a registry resource of type ecr as a Terraform file has it, and as the provider keeps it in its state.
type ecrConfig struct {
	Name, Endpoint, ProviderType string
	Private, Synchronization     bool
	BaseContentPath              string
	CredentialType               string // secret or sts
	AccessKey, SecretKey         string
	ARN, ExternalID              string
	TLS                          *tlsConfig // nil without a block
}

type tlsConfig struct {
	Certificate string
	Insecure    bool
}

type (
	sentECR struct {
		Metadata sentMetadata `json:"metadata"`
		Spec     sentECRSpec  `json:"spec"`
	}
	sentECRSpec struct {
		BaseContentPath         string         `json:"baseContentPath,omitempty"`
		ContainsSpectroManifest bool           `json:"containsSpectroManifest"`
		Credentials             *sentECRSecret `json:"credentials"`
		Endpoint                *string        `json:"endpoint"`
		IsPrivate               *bool          `json:"isPrivate"`
		IsSyncSupported         bool           `json:"isSyncSupported,omitempty"`
		ProviderType            *string        `json:"providerType"`
		TLS                     *sentTLS       `json:"tls,omitempty"`
	}
	sentECRSecret struct {
		AccessKey      string       `json:"accessKey,omitempty"`
		CredentialType string       `json:"credentialType,omitempty"`
		PolicyARNs     []string     `json:"policyARNs"` // always null
		SecretKey      string       `json:"secretKey,omitempty"`
		STS            *sentECRRole `json:"sts,omitempty"`
	}
	sentECRRole struct {
		ARN        string `json:"arn,omitempty"`
		ExternalID string `json:"externalId,omitempty"`
	}
	readECR struct {
		Metadata *readMetadata `json:"metadata"`
		Spec     *struct {
			BaseContentPath string  `json:"baseContentPath"`
			Endpoint        *string `json:"endpoint"`
			IsPrivate       *bool   `json:"isPrivate"`
			ProviderType    string  `json:"providerType"`
			Credentials     *struct {
				CredentialType *string      `json:"credentialType"`
				AccessKey      string       `json:"accessKey"`
				SecretKey      string       `json:"secretKey"`
				STS            *sentECRRole `json:"sts"`
			} `json:"credentials"`
			TLS *struct {
				Certificate        string `json:"certificate"`
				InsecureSkipVerify bool   `json:"insecureSkipVerify"`
			} `json:"tls"`
		} `json:"spec"`
		Status *struct {
			SyncStatus *readSync `json:"syncStatus"`
		} `json:"status"`
	}
)

func (c ecrConfig) spec() sentECRSpec {
	sent := &sentECRSecret{CredentialType: c.CredentialType}
	switch c.CredentialType {
	case "secret":
		sent.AccessKey, sent.SecretKey = c.AccessKey, c.SecretKey
	case "sts":
		sent.STS = &sentECRRole{c.ARN, c.ExternalID}
	default:
		sent.CredentialType = "" // of types that only basic registries have
	}
	s := sentECRSpec{BaseContentPath: c.BaseContentPath, Credentials: sent, Endpoint: &c.Endpoint, IsPrivate: &c.Private,
		IsSyncSupported: c.Synchronization, ProviderType: &c.ProviderType, TLS: &sentTLS{Enabled: true}}
	if c.TLS != nil {
		s.TLS.Certificate, s.TLS.InsecureSkipVerify = c.TLS.Certificate, c.TLS.Insecure
	}
	return s
}

func (c ecrConfig) body(t testing.TB) string {
	return encoded(t, sentECR{sentMetadata{zeroTime, zeroTime, zeroTime, c.Name}, c.spec()})
}

// ecrPlugin is the provider for resources of type ecr. The oldest release that starts dereferences tls.
type ecrPlugin struct {
	*provider
	derefsTLS bool
}

func (p ecrPlugin) create(c ecrConfig) string {
	p.wire.t.Helper()
	p.validateIfSynchronized(c)
	var made struct{ UID *string }
	p.must(post(registriesPath+"/ecr?skipPackSync=false", c.body(p.wire.t), 201), &made)
	if made.UID == nil || *made.UID == "" {
		p.crash("create returns no uid")
	}
	return *made.UID
}

func (p ecrPlugin) validateIfSynchronized(c ecrConfig) {
	p.wire.t.Helper()
	if c.Synchronization {
		p.must(post(registriesPath+"/ecr/validate", encoded(p.wire.t, c.spec()), 204), nil)
	}
}

// read is a refresh of a state, whose secret key stays unless it has none.
func (p ecrPlugin) read(uid string, state ecrConfig) (c ecrConfig, there bool) {
	p.wire.t.Helper()
	var r readECR
	if err := p.call(get(of(uid, "/ecr")), &r); err != nil {
		if err.Code == "ResourceNotFound" {
			return c, false
		}
		p.wire.t.Fatalf("refresh: %v", err)
	}
	switch {
	case r.Metadata == nil:
		p.crash("metadata")
	case r.Spec == nil || r.Spec.Endpoint == nil || r.Spec.IsPrivate == nil:
		p.crash("spec")
	case r.Spec.Credentials == nil || r.Spec.Credentials.CredentialType == nil:
		p.crash("spec.credentials.credentialType")
	case r.Status == nil || r.Status.SyncStatus == nil:
		p.crash("status.syncStatus")
	case p.derefsTLS && r.Spec.TLS == nil:
		p.crash("spec.tls")
	}
	c = ecrConfig{Name: r.Metadata.Name, Endpoint: *r.Spec.Endpoint, ProviderType: r.Spec.ProviderType, Private: *r.Spec.IsPrivate,
		Synchronization: r.Status.SyncStatus.IsSyncSupported, BaseContentPath: r.Spec.BaseContentPath,
		CredentialType: *r.Spec.Credentials.CredentialType}
	switch c.CredentialType {
	case "secret":
		c.AccessKey, c.SecretKey = r.Spec.Credentials.AccessKey, state.SecretKey
		if c.SecretKey == "" && !strings.Contains(r.Spec.Credentials.SecretKey, "*") {
			c.SecretKey = r.Spec.Credentials.SecretKey
		}
	case "sts":
		if r.Spec.Credentials.STS == nil {
			p.crash("spec.credentials.sts")
		}
		c.ARN, c.ExternalID = r.Spec.Credentials.STS.ARN, r.Spec.Credentials.STS.ExternalID
	default:
		p.wire.t.Fatalf("Registry type %s not implemented.", c.CredentialType)
	}
	if r.Spec.TLS != nil {
		c.TLS = &tlsConfig{r.Spec.TLS.Certificate, r.Spec.TLS.InsecureSkipVerify}
	}
	return c, true
}

// noDrift fails when a plan of a configuration that is in the state shows anything.
func (p ecrPlugin) noDrift(uid string, want ecrConfig) {
	p.wire.t.Helper()
	got, there := p.read(uid, want)
	if diff := cmp.Diff(want, got); !there || diff != "" {
		p.wire.t.Errorf("the plan is not empty (there: %t): %s", there, diff)
	}
}

func (p ecrPlugin) update(uid string, c ecrConfig) {
	p.wire.t.Helper()
	p.read(uid, c)
	p.configure()
	p.validateIfSynchronized(c)
	p.must(put(of(uid, "/ecr"), c.body(p.wire.t)), nil)
}

func (p ecrPlugin) destroy(uid string) {
	p.wire.t.Helper()
	p.read(uid, ecrConfig{})
	p.configure()
	p.must(del(of(uid, "/ecr")), nil)
	if _, there := p.read(uid, ecrConfig{}); there {
		p.wire.t.Error("destroyed, it is still there")
	}
	p.refused(del(of(uid, "/ecr")), 404, "ResourceNotFound") // an error of destroy
}

// importResource is "terraform import" by uid or name.
func (p ecrPlugin) importResource(id string) (uid string, c ecrConfig) {
	p.wire.t.Helper()
	if c, there := p.read(id, ecrConfig{}); there {
		return id, c
	}
	p.refused(get(of(id, "/basic")), 404, "ResourceNotFound")
	item := findSummary(p.wire.t.(*testing.T), p.summary(), id)
	if item.registryType != "ecr" {
		p.wire.t.Fatalf("registry type %q", item.registryType)
	}
	c, _ = p.read(item.uid, ecrConfig{})
	return item.uid, c
}

func ecrSecret(name string) ecrConfig {
	return ecrConfig{Name: name, Endpoint: ecrHost, ProviderType: "helm", Private: true, BaseContentPath: "charts",
		CredentialType: "secret", AccessKey: ecrKey, SecretKey: ecrPass}
}

// The whole life of each kind of resource: the plan is empty after each apply, and after an import shows the secret key alone.
func TestECRResourceLife(t *testing.T) {
	w, caPEM := startWithECR(t)
	with := func(c ecrConfig, change func(*ecrConfig)) ecrConfig { change(&c); return c }
	secret := ecrSecret("secret")
	for _, c := range []ecrConfig{
		secret,
		with(secret, func(c *ecrConfig) { c.Name, c.Synchronization = "synchronized", true }),
		with(secret, func(c *ecrConfig) { c.Name, c.ProviderType, c.Synchronization = "packs", "pack", true }),
		with(secret, func(c *ecrConfig) { c.Name, c.Endpoint = "with scheme", "https://"+ecrHost+"/" }),
		with(secret, func(c *ecrConfig) { c.Name, c.TLS = "certificate", &tlsConfig{Certificate: caPEM} }),
		with(secret, func(c *ecrConfig) { c.Name, c.TLS = "insecure", &tlsConfig{Insecure: true} }),
		with(secret, func(c *ecrConfig) { c.Name, c.Private = "with a key, not private", false }),
		{Name: "public", Endpoint: "public.ecr.aws", ProviderType: "helm", BaseContentPath: "charts", CredentialType: "secret"},
		{Name: "public, synchronized", Endpoint: "public.ecr.aws", ProviderType: "helm", BaseContentPath: "charts",
			CredentialType: "secret", Synchronization: true},
		{Name: "role", Endpoint: ecrHost, ProviderType: "helm", Private: true, CredentialType: "sts", ARN: ecrRole, ExternalID: "org-1"},
	} {
		t.Run(c.Name, func(t *testing.T) {
			plugin := func() ecrPlugin { return ecrPlugin{w.in(t).plugin(), c.TLS != nil} }
			uid := plugin().create(c)
			plugin().noDrift(uid, c)
			if c.Synchronization {
				if last, warning := plugin().waitFor(of(uid, "/ecr/sync/status")); warning || last.Status != "Success" {
					t.Errorf("%+v, warning %t", last, warning)
				}
			}
			changed := with(c, func(c *ecrConfig) { c.Name += " again"; c.BaseContentPath = "charts/app" })
			plugin().update(uid, changed)
			plugin().noDrift(uid, changed)
			for _, id := range []string{uid, changed.Name} {
				got, state := plugin().importResource(id)
				if diff := cmp.Diff(with(changed, func(c *ecrConfig) { c.SecretKey = "" }), state); got != uid || diff != "" {
					t.Errorf("import of %q: uid %s, %s", id, got, diff)
				}
			}
			plugin().destroy(uid)
		})
	}
}

// With synchronization the provider validates first. The message and the field are in the words of the request.
func TestECRShowsWhyItIsNotValid(t *testing.T) {
	w, _ := startWithECR(t)
	p := w.plugin()
	wrong, role := ecrSecret("wrong"), ecrSecret("role")
	wrong.SecretKey = "typo in the secret"
	role.CredentialType, role.ARN = "sts", ecrRole
	for field, c := range map[string]ecrConfig{"credentials.secretKey": wrong, "": role} {
		err := p.refused(post(registriesPath+"/ecr/validate", encoded(t, c.spec()), 204), 422, "RegistryCredentialSourceFailed")
		details, _ := err.Details.(map[string]any)
		if field != "" && details["field"] != field || strings.Contains(err.Message, "auth.") ||
			strings.Contains(err.Message, c.SecretKey) {
			t.Errorf("%v, field %v", err, details["field"])
		}
	}
}

// What the page of public clients says about masks, empty and foreign credentials.
func TestECRCredentials(t *testing.T) {
	w, _ := startWithECR(t)
	p := w.plugin()
	c := ecrSecret("masked")
	uid := ecrPlugin{provider: p}.create(c)
	masked := strings.Replace(c.body(t), ecrPass, "********", 1)
	p.must(put(of(uid, "/ecr"), masked), nil)
	p.must(put(of(uid, "/ecr"), strings.Replace(c.body(t), `,"secretKey":"`+ecrPass+`"`, "", 1)), nil)
	stored := strings.Replace(encoded(t, c.spec()), `"`+ecrPass+`"`, `"********"`, 1)
	p.must(post(registriesPath+"/ecr/validate", strings.Replace(stored, "{", `{"registryUid":"`+uid+`",`, 1), 204), nil)

	other := strings.Replace(masked, ecrKey, "AKIAOTHER", 1)
	basic := c
	basic.CredentialType = "basic"
	role := c
	role.CredentialType = "sts"
	pod := strings.Replace(c.body(t), `"credentialType":"secret"`, `"credentialType":"pod-identity"`, 1)
	otherHost := ecrConfig{Name: "x", Endpoint: "registry.onion", ProviderType: "helm", CredentialType: "secret"}.body(t)
	for name, want := range map[string]struct {
		o     operation
		field string
	}{
		"mask for another key":      {put(of(uid, "/ecr"), other), "spec.credentials.secretKey"},
		"mask in a new one":         {post(registriesPath+"/ecr", masked, 201), "spec.credentials.secretKey"},
		"credentials of basic":      {post(registriesPath+"/ecr", basic.body(t), 201), "spec.credentials.accessKey"},
		"role without an ARN":       {post(registriesPath+"/ecr", role.body(t), 201), "spec.credentials.sts.arn"},
		"pod identity":              {post(registriesPath+"/ecr", pod, 201), "spec.credentials.credentialType"},
		"open registry, other host": {post(registriesPath+"/ecr", otherHost, 201), "spec.endpoint"},
		"validation of no endpoint": {post(registriesPath+"/ecr/validate", `{"isPrivate":true}`, 204), "endpoint"},
	} {
		err := p.refused(want.o, 400, "InvalidRequest")
		details, _ := err.Details.(map[string]any)
		fields, _ := details["fields"].([]any)
		if !slices.ContainsFunc(fields, func(f any) bool { return f.(map[string]any)["field"] == want.field }) {
			t.Errorf("%s: %v, want the field %s", name, err.Details, want.field)
		}
	}
	for _, path := range []string{of(uid, "/ecr"), of(uid, "/basic"), registriesPath + "/" + uid, registriesPath + "/summary"} {
		resp, err := p.wire.send(p.request(http.MethodGet, path, ""))
		if err != nil || resp.status != http.StatusOK || strings.Contains(string(resp.body), ecrPass) {
			t.Errorf("%s: status %d, error %v, or it shows the secret key", path, resp.status, err)
		}
	}
}

// Lists name the kind; the routes of another kind do not have it.
func TestECRInLists(t *testing.T) {
	w, _ := startWithECR(t, "--aws-account", "123456789012,aws-us-gov:210987654321")
	p := ecrPlugin{provider: w.plugin()}
	uid := p.create(ecrSecret("ecr"))
	if item := findSummary(t, p.summary(), "ecr"); item.registryType != "ecr" || item.uid != uid || item.endpoint != ecrHost {
		t.Errorf("%+v", item)
	}
	var entity map[string]any
	p.must(get(registriesPath+"/"+uid), &entity)
	if entity["type"] != "ecr" || entity["defaultRegion"] != "eu-west-1" {
		t.Errorf("%v", entity)
	}
	var names readNames
	p.must(get("/v1/registries/metadata"), &names)
	if len(names.Items) != 1 || names.Items[0].UID != uid || !names.Items[0].IsPrivate {
		t.Errorf("%+v", names.Items)
	}
	p.refused(post(of(uid, "/ecr/sync?forceSync=false"), "", 202), 400, "InvalidRequest") // is_synchronization is false
	synchronized := ecrSecret("synchronized")
	synchronized.Synchronization = true
	p.must(post(of(p.create(synchronized), "/ecr/sync?forceSync=false"), "", 202), nil)
}

// An ECR registry of the command line, which is stored as a basic one, is one for Terraform too.
func TestECRStoredAsBasic(t *testing.T) {
	w, _ := startWithECR(t)
	p := ecrPlugin{provider: w.plugin()}
	var made struct{ UID string }
	p.must(post(registriesPath+"/basic", `{"metadata":{"name":"ours"},"spec":{"endpoint":"`+ecrHost+`","isPrivate":true,"auth":{`+
		`"type":"ecr","aws":{"accessKey":"`+ecrKey+`","secretKey":"`+ecrPass+`"}}}}`, 201), &made)
	want := ecrSecret("ours")
	want.BaseContentPath, want.SecretKey = "", ""
	if _, got := p.importResource("ours"); cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
	// What the provider does not know stays when it replaces the registry.
	whole := `{"metadata":{"name":"ours","labels":{"team":"a"}},"spec":{"endpoint":"` + ecrHost + `",` +
		`"isPrivate":true,"references":["charts/app:1.0.0"],"auth":{"type":"ecr","aws":{"accessKey":"` + ecrKey +
		`","secretKey":"` + ecrPass + `","sessionToken":"the session","roleArn":"` + ecrRole + `","externalId":"org-1"}}}}`
	p.must(put(of(made.UID, "/basic"), whole), nil)
	applied := ecrSecret("applied")
	p.update(made.UID, applied)
	var now map[string]any
	p.must(get(of(made.UID, "/basic")), &now)
	for _, text := range []string{`"name":"applied"`, `"team":"a"`, `"charts/app:1.0.0"`, ecrRole, `"externalId":"org-1"`,
		`"sessionToken"`} {
		if got := encoded(t, now); !strings.Contains(got, text) {
			t.Errorf("after an update %s is not in %s", text, got)
		}
	}
	applied.AccessKey = "AKIAOTHER"
	p.update(made.UID, applied)
	p.must(get(of(made.UID, "/basic")), &now)
	if got := encoded(t, now); !strings.Contains(got, ecrRole) || strings.Contains(got, "sessionToken") {
		t.Errorf("with another access key: %s", got)
	}
	p.must(put(of(made.UID, "/basic"), whole), nil)
	moved := ecrSecret("moved")
	moved.Endpoint = strings.Replace(ecrHost, "123456789012", "210987654321", 1)
	p.update(made.UID, moved) // the stored session token is not sent there
	p.must(get(of(made.UID, "/basic")), &now)
	if got := encoded(t, now); !strings.Contains(got, moved.Endpoint) || strings.Contains(got, "sessionToken") {
		t.Errorf("with another endpoint: %s", got)
	}
	basic := w.plugin().create(anonymous(t))
	p.refused(get(of(basic, "/ecr")), 404, "ResourceNotFound")
	p.refused(del(of(basic, "/ecr")), 404, "ResourceNotFound")
	p.refused(put(of(basic, "/ecr"), ecrSecret("x").body(t)), 404, "ResourceNotFound")
	p.must(del("/v1/registries/"+basic), nil)
	p.must(del("/v1/registries/"+made.UID), nil)
}

// The account of the operator, which a role must trust.
func TestAWSAccount(t *testing.T) {
	w := start(t, "--aws-account", "123456789012")
	p := w.plugin()
	var account map[string]string
	p.must(get("/v1/clouds/aws/account/sts"), &account)
	if account["accountId"] != "123456789012" || account["externalId"] == "" || account["partition"] != "aws" {
		t.Errorf("%v", account)
	}
	p.must(get("/v1/clouds/aws/account/sts?partition=aws"), &account)
	err := p.refused(get("/v1/clouds/aws/account/sts?partition=aws-us-gov"), 404, "AwsAccountNotConfigured")
	if !strings.Contains(err.Message, "aws-account") {
		t.Error(err)
	}
	p.refused(get("/v1/clouds/aws/account/sts?partition=aws-iso"), 400, "InvalidRequest")
}
