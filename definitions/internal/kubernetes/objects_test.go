package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// scanOf returns the result of one file of manifests.
func scanOf(t *testing.T, text string) model.Result {
	t.Helper()
	s := newScan(model.Options{})
	if err := s.AddReader("in", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return s.result()
}

const (
	repositoryKind = `"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository`
	repositorySpec = `"spec": {"type": "oci", "url": "oci://one.test"}`
	repository     = `{` + repositoryKind + `", ` + repositorySpec + `}`
	resourceSet    = `{"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet", "spec": {"resources": [`
)

// TestWhatIsAnObject: an object has apiVersion and kind, and only items of a list are objects of it.
func TestWhatIsAnObject(t *testing.T) {
	for _, tt := range []struct {
		text  string
		found int
	}{
		{repository, 1},
		{`{"kind": "HelmRepository", ` + repositorySpec + `}`, 0},
		{`{"apiVersion": "source.toolkit.fluxcd.io/v1", ` + repositorySpec + `}`, 0},
		{`{"apiVersion": "v1", "kind": "List", "items": [` + repository + `]}`, 1},
		{`{"apiVersion": "v1", "kind": "List", "items": {"a": ` + repository + `}}`, 0},
		{`{"apiVersion": "a/v1", "kind": "Other", "items": [` + repository + `]}`, 0},
		{`{` + repositoryKind + `List", "items": [{` + repositorySpec + `}]}`, 1},
		{resourceSet + repository + `, {"kind": "A"}]}}`, 1},
	} {
		if r := scanOf(t, tt.text); r.Summary.Found != tt.found {
			t.Errorf("%s: %d found, want %d", tt.text, r.Summary.Found, tt.found)
		}
	}
}

// TestListsAreNestedToALimit, in lists and in what Flux creates.
func TestListsAreNestedToALimit(t *testing.T) {
	for name, around := range map[string][2]string{
		"lists":           {`{"apiVersion": "v1", "kind": "List", "items": [`, `]}`},
		"lists of a kind": {`{"apiVersion": "v1", "kind": "ListList", "items": [{"items": [`, `]}]}`},
		"resources":       {resourceSet, `]}}`},
	} {
		each := 1 + strings.Count(around[0], "items")/2
		for _, levels := range []int{maxLists, maxLists + each} {
			text := strings.Repeat(around[0], levels/each) + repository + strings.Repeat(around[1], levels/each)
			want := 0
			if levels/each*each <= maxLists {
				want = 1
			}
			if r := scanOf(t, text); r.Summary.Found != want {
				t.Errorf("%s, %d levels: %d found, want %d", name, levels, r.Summary.Found, want)
			}
		}
	}
}

// TestValuesUpToTheLimitAreRead: the limits themselves are allowed.
func TestValuesUpToTheLimitAreRead(t *testing.T) {
	for _, over := range []int{0, 1} {
		for name, set := range map[string]func(*Cluster, int, int){
			"values": func(c *Cluster, values, _ int) { c.values = maxClusterValues - values + over },
			"bytes":  func(c *Cluster, _, bytes int) { c.bytes = maxClusterBytes - bytes + over },
		} {
			s := newScan(model.Options{})
			if err := s.AddReader("in", strings.NewReader(repository)); err != nil {
				t.Fatal(err)
			}
			values, bytes := s.values, s.bytes
			s = newScan(model.Options{})
			set(s, values, bytes)
			if err := s.AddReader("in", strings.NewReader(repository)); err != nil {
				t.Fatal(err)
			}
			if r := s.result(); r.Summary.Found != 1-over {
				t.Errorf("%d more %s than the limit: %d found", over, name, r.Summary.Found)
			}
		}
	}
}

const accountOf = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: web}
spec: {url: "oci://one.test/web", serviceAccountName: robot}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
imagePullSecrets: [%s]
`

const pullSecret = `---
apiVersion: v1
kind: Secret
metadata: {name: %s}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths": {"one.test": {"username": "%s", "password": "%s"}%s}}'}
`

// TestPullSecretsOfAnAccount: the Secret is named if it is the only one, and other credentials for the same are a notice.
func TestPullSecretsOfAnAccount(t *testing.T) {
	one, same, other := fmt.Sprintf(pullSecret, "one", "ada", "p", ""), fmt.Sprintf(pullSecret, "two", "ada", "p", ""),
		fmt.Sprintf(pullSecret, "two", "bob", "p", "")
	within := fmt.Sprintf(pullSecret, "one", "ada", "p", `, "https://one.test": {"username": "bob", "password": "p"}`)
	for _, tt := range []struct {
		name, text       string
		named, ambiguous bool
	}{
		{"one Secret", fmt.Sprintf(accountOf, "{name: one}") + one, true, false},
		{"two of the same", fmt.Sprintf(accountOf, "{name: one}, {name: two}") + one + same, false, false},
		{"two that differ", fmt.Sprintf(accountOf, "{name: one}, {name: two}") + one + other, false, true},
		{"one with two entries", fmt.Sprintf(accountOf, "{name: one}") + within, true, true},
	} {
		seen := false
		for _, r := range scanOf(t, tt.text).Registries {
			if !strings.HasPrefix(r.Sources[0].Object, "OCIRepository") {
				continue
			}
			seen = true
			ambiguous := slices.ContainsFunc(r.Notices, func(n model.Notice) bool { return n.Code == model.NoticeAmbiguousCredentials })
			if (r.Secret != nil) != tt.named || ambiguous != tt.ambiguous {
				t.Errorf("%s: Secret %v, notices %v", tt.name, r.Secret, r.Notices)
			}
		}
		if !seen {
			t.Errorf("%s: not found", tt.name)
		}
	}
}

const chartsSecret = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: r}
spec: {type: oci, url: "oci://one.test", secretRef: {name: s}}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
%s: {username: ada, password: "%s"}
%s
`

// TestPlaceholdersAndEncryption: what SOPS or Argo CD's Vault plugin replaces is no password.
func TestPlaceholdersAndEncryption(t *testing.T) {
	const encrypted = "ENC[AES256_GCM,data:x,iv:x,tag:x,type:str]"
	for _, tt := range []struct {
		members, password, more string
		want                    model.UnresolvedReason
	}{
		{"stringData", "hunter2", "", ""},
		{"stringData", "<hunter2", "", ""},
		{"stringData", "hunter2>", "", ""},
		{"stringData", "<path:a#b>", "", model.UnresolvedTemplate},
		{"stringData", encrypted, "", model.UnresolvedEncrypted},
		{"data", encrypted, "", model.UnresolvedEncrypted},
		{"stringData", "hunter2", "sops: {version: 3.8.1}", model.UnresolvedEncrypted},
	} {
		r := scanOf(t, fmt.Sprintf(chartsSecret, tt.members, tt.password, tt.more)).Registries[0]
		if r.Reason != tt.want {
			t.Errorf("%s %s %s: %s, want %q", tt.members, tt.password, tt.more, r.Reason, tt.want)
		}
	}
}

// TestPatchesOfFluxSources: an object without an address is a patch of kustomize, or patched. It does not count as an object of its name.
func TestPatchesOfFluxSources(t *testing.T) {
	const (
		source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: %s\nmetadata: {name: app}\nspec: {%s}\n"
		image  = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {name: app}\nspec: {%s}\n"
		login  = "secretRef: {name: login}"
		chart  = "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: c}\n" +
			"spec: {chart: web, sourceRef: {kind: HelmRepository, name: app}}\n"
	)
	patch := fmt.Sprintf(source, "HelmRepository", login)
	for _, tt := range []struct {
		text  string
		found int
		wrong bool
	}{
		{fmt.Sprintf(source, "OCIRepository", "ref: {tag: 2.0.0}"), 0, false},
		{fmt.Sprintf(source, "OCIRepository", "url: ''"), 0, true},
		{patch, 0, false},
		{fmt.Sprintf(source, "HelmRepository", "type: oci"), 0, false},
		{fmt.Sprintf(source, "HelmRepository", "url: ''"), 0, true},
		{fmt.Sprintf(image, login), 0, false},
		{fmt.Sprintf(image, "image: ''"), 0, true},
		{fmt.Sprintf(source, "HelmRepository", "url: 'https://one.test'") + "---\n" + patch + chart, 2, false},
	} {
		if r := scanOf(t, tt.text); r.Summary.Found != tt.found || len(r.Problems) > 0 != tt.wrong || len(r.Skipped) > 0 {
			t.Errorf("%s: %d found, problems %v, skipped %v", tt.text, r.Summary.Found, r.Problems, r.Skipped)
		}
	}
}

const (
	deploymentIn = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web%s}\nspec: {template: {spec: " +
		"{imagePullSecrets: [{name: pull}], containers: [{image: one.test/web}]}}}\n"
	encryptedIn = "---\napiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: pull%s}\n"
)

// pullSecretIn returns a Secret with the rest of its metadata.
func pullSecretIn(namespace, username string) string {
	return fmt.Sprintf(pullSecret, "pull"+namespace, username, "p", "")
}

// TestSecretsOfUnknownNamespaces: kubectl, kustomize and others set a namespace that an object does not name.
func TestSecretsOfUnknownNamespaces(t *testing.T) {
	const apps, dev, several = ", namespace: apps", ", namespace: dev", "ambiguous: Not all objects name their namespace"
	for _, tt := range []struct{ deployment, secrets, want string }{
		{"", pullSecretIn("", "ada"), "ada"},
		{"", pullSecretIn(apps, "ada"), "ada"},
		{apps, pullSecretIn("", "ada"), "ada"},
		{apps, pullSecretIn(dev, "bob") + pullSecretIn(apps, "ada"), "ada"},
		{apps, pullSecretIn("", "bob") + pullSecretIn(apps, "ada"), "ada"},
		{"", pullSecretIn(apps, "ada") + pullSecretIn(dev, "ada"), "ada"},
		{"", pullSecretIn(apps, "ada") + pullSecretIn(dev, "bob"), several},
		{apps, pullSecretIn("", "ada") + pullSecretIn(dev, "bob"), several},
		{"", pullSecretIn(apps, "ada") + fmt.Sprintf(encryptedIn, dev), several},
		{apps, pullSecretIn("", "ada") + fmt.Sprintf(encryptedIn, apps), "encrypted: The Secret"},
		{apps, fmt.Sprintf(encryptedIn, ""), "encrypted: The Secret"},
		{apps, pullSecretIn(dev, "ada"), `referenceMissing: The Secret "pull" was read in the namespace "dev", not in`},
	} {
		text, got := fmt.Sprintf(deploymentIn, tt.deployment)+tt.secrets, "nothing"
		for _, r := range scanOf(t, text).Registries {
			switch {
			case !slices.ContainsFunc(r.Sources, func(at model.Source) bool { return strings.HasPrefix(at.Object, "Deployment") }):
			case r.Reason == "":
				got = r.Definition.Auth.Username
			default:
				got = string(r.Reason) + ": " + string(r.Detail)
			}
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s, want %s", text, got, tt.want)
		}
	}
}

// TestSecretsOfOtherDirectories: a Secret may be of another environment where neither directory contains the other.
func TestSecretsOfOtherDirectories(t *testing.T) {
	for file, want := range map[string]string{"prod/s.yaml": "ada", "s.yaml": "ada", "prod/a/s.yaml": "ada", "dev/s.yaml": "ambiguous",
		"prod2/s.yaml": "ambiguous"} {
		s := newScan(model.Options{})
		deployment := fmt.Sprintf(deploymentIn, ", namespace: apps")
		for name, text := range map[string]string{"prod/d.yaml": deployment, file: pullSecretIn("", "ada")} {
			if err := s.AddReader(name, strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, r := range s.result().Registries {
			if strings.HasPrefix(r.Sources[0].Object, "Deployment") {
				got = append(got, cmp.Or(string(r.Reason), r.Definition.Auth.Username))
			}
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %s", file, got, want)
		}
	}
}

// TestChartsOfUnknownNamespaces: Flux sets the namespaces of a directory by targetNamespace.
func TestChartsOfUnknownNamespaces(t *testing.T) {
	const (
		source = "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: web%s}\n" +
			"spec: {url: 'https://%s.test'}\n"
		release = "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r%s}\n" +
			"spec: {chart: {spec: {chart: app, sourceRef: {kind: HelmRepository, name: web%s}}}}\n"
		web, other = ", namespace: web", ", namespace: other"
		several    = "alias Not all objects name their namespace, so that the HelmRepository"
	)
	of := func(namespace, host string) string { return fmt.Sprintf(source, namespace, host) }
	for _, tt := range []struct{ repositories, release, reference, want string }{
		{of("", "one"), "", web, "https://one.test"},
		{of(web, "one"), "", "", "https://one.test"},
		{of("", "one"), web, "", "https://one.test"},
		{of("", "two") + of(web, "one"), "", web, "https://one.test"},
		{of(other, "one"), "", web, `alias The HelmRepository "web" was not read.`},
		{of(other, "two") + of("", "one"), "", web, several},
		{of(other, "two") + of(web, "one"), "", "", several},
	} {
		text := tt.repositories + fmt.Sprintf(release, tt.release, tt.reference)
		var got string
		r := scanOf(t, text)
		for _, found := range r.Registries {
			if found.Definition.BaseContentPath == "app" {
				got = found.Definition.Endpoint
			}
		}
		for _, skipped := range r.Skipped {
			got += string(skipped.Reason) + " " + skipped.Message
		}
		if got == "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s, want %s", text, got, tt.want)
		}
	}
}

// TestTemplatesOfResourceSets: their text has objects, with values that Flux puts in.
func TestTemplatesOfResourceSets(t *testing.T) {
	const set = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: a}\nspec:\n  resourcesTemplate: |\n"
	const source = "    ---\n    apiVersion: source.toolkit.fluxcd.io/v1\n    kind: OCIRepository\n    metadata: {name: a}\n    spec:\n%s"
	for _, tt := range []struct{ spec, want string }{
		{"      url: oci://one.test/app\n", "https://one.test/app at 11"},
		{"      url: oci://<< inputs.host >>/app\n", "skipped template at 11"},
		{"      <<- if inputs.tag >>\n      ref: {tag: << inputs.tag >>}\n      <<- end >>\n      url: oci://one.test/app\n",
			"skipped template at 12"},
	} {
		r, got := scanOf(t, set+fmt.Sprintf(source, tt.spec)), ""
		for _, found := range r.Registries {
			got += fmt.Sprintf("%s/%s at %d", found.Definition.Endpoint, found.Definition.BaseContentPath, found.Sources[0].Line)
		}
		for _, skipped := range r.Skipped {
			got += fmt.Sprintf("skipped %s at %d", skipped.Reason, skipped.Source.Line)
		}
		if got != tt.want || len(r.Problems) > 0 {
			t.Errorf("%s: %s and %v, want %s", tt.spec, got, r.Problems, tt.want)
		}
	}
}

// TestSecretsOfOtherReaders: a Secret of another type is right where something else than kubelet reads it, and its content is checked.
func TestSecretsOfOtherReaders(t *testing.T) {
	const (
		secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: apps}\n%s\n---\n"
		config = `stringData: {.dockerconfigjson: '{"auths": {"one.test": {"auth": "YWRhOmh1bnRlcjI="}}}'}`
		hosted = "apiVersion: hypershift.openshift.io/v1beta1\nkind: HostedCluster\nmetadata: {name: a, namespace: apps}\n" +
			"spec: {pullSecret: {name: pull}}\n"
		other = "apiVersion: hive.openshift.io/v1\nkind: ClusterDeployment\nspec: {pullSecretRef: {name: other}}\n"
		infra = "apiVersion: agent-install.openshift.io/v1beta1\nkind: InfraEnv\nspec: {pullSecretRef: {name: pull}}\n"
		site  = "apiVersion: ran.openshift.io/v1\nkind: SiteConfig\nmetadata: {namespace: b}\nspec: {pullSecretRef: {name: pull}}\n"
		pod   = "apiVersion: v1\nkind: Pod\nmetadata: {name: a%s}\nspec: {volumes: [{secret: {secretName: pull}}]}\n"
	)
	for _, tt := range []struct{ data, reader, want string }{
		{config, "", "wrongShape"},
		{config, other, "wrongShape"},
		{config, hosted, "ada"},
		{config, infra, "ada"},
		{config, site, "ada"},
		{config, fmt.Sprintf(pod, ", namespace: apps"), "ada"},
		{config, fmt.Sprintf(pod, ", namespace: dev"), "wrongShape"},
		{config, fmt.Sprintf(pod, ""), "ada"},
		{"data: {.dockerconfigjson: <value>}", hosted, "template"},
		{"stringData: {.dockerconfigjson: '{}'}", hosted, ""},
		{"stringData: {.dockerconfigjson: '{'}", hosted, "notJSON"},
		{"stringData: {config.json: '{', .dockercfg: '{}'}", hosted, "wrongShape"},
	} {
		r, got := scanOf(t, fmt.Sprintf(secret, tt.data)+tt.reader), ""
		for _, found := range r.Registries {
			got += found.Definition.Auth.Username
		}
		for _, problem := range r.Problems {
			got += string(problem.Reason)
		}
		for _, skipped := range r.Skipped {
			got += string(skipped.Reason)
		}
		if got != tt.want {
			t.Errorf("%s of %s: %s, want %s", tt.data, tt.reader, got, tt.want)
		}
	}
}
