package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
)

// newScan returns a Cluster that reads Kubernetes objects only.
func newScan(o model.Options) *Cluster {
	c := NewCluster(scanner.New(o))
	c.Formats = c.ObjectFormats()
	return c
}

func (c *Cluster) result() model.Result {
	c.Complete(c.Resolve)
	return c.Result()
}

func TestClusterIsLimited(t *testing.T) {
	s := newScan(model.Options{})
	s.values = maxClusterValues - 20
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text,
			"---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: r%d}\nspec: {type: oci, url: "+
				"oci://r%d.example.com}\n", i, i)
	}
	if err := s.AddReader("in", strings.NewReader(text.String())); err != nil {
		t.Fatal(err)
	}
	if f := s.objects[0].file; f.Data != nil {
		t.Error("the content of the file is stored")
	}
	r := s.result()
	if r.Summary.Found != 2 || len(r.Problems) != 1 || r.Problems[0].Reason != model.ProblemWrongShape || r.Problems[0].Source.Line != 12 {
		t.Errorf("got %d definitions, problems %v", r.Summary.Found, r.Problems)
	}
}

func TestClusterLimitsSizeOfFiles(t *testing.T) {
	s := newScan(model.Options{})
	s.bytes = maxClusterBytes - 100
	for i := range 3 {
		text := fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nspec: {type: oci, url: "+
			"oci://r%d.example.com}\n", i)
		if err := s.AddReader("in", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.result(); r.Summary.Found != 0 || len(r.Problems) != 1 {
		t.Errorf("got %d definitions, problems %v", r.Summary.Found, r.Problems)
	}
}

func TestLongNamesAreCut(t *testing.T) {
	s := newScan(model.Options{})
	text := "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: " + strings.Repeat("é", 100_000) +
		"}\nspec: {type: oci, url: oci://r.example.com}\n"
	if err := s.AddReader("in", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if object := s.result().Registries[0].Sources[0].Object; len(object) > 400 || !strings.HasSuffix(object, "é…") {
		t.Errorf("%d bytes: %.20s", len(object), object)
	}
}

// A Secret that is not for a registry is not decoded, whatever it has.
func TestSecretsOfOtherTypesAreNotDecoded(t *testing.T) {
	for _, secretType := range []string{"Opaque", "kubernetes.io/tls", "kubernetes.io/basic-auth", "helm.sh/release.v1", ""} {
		s := newScan(model.Options{})
		text := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: " + secretType +
			"\ndata: {username: cm9ib3Q=, password: '!', config.json: eyJhdXRocyI6e319}\n"
		if err := s.AddReader("in", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if r := s.result(); r.Summary != (model.Summary{}) {
			t.Errorf("%s: %+v", secretType, r)
		}
	}
}

// Objects that refer to each other can have many more pairs than the files have bytes. What is found has its credentials, and a problem
// says that the rest is not read.
func TestReferencesAreLimited(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/dockerconfigjson\nstringData: " +
		"{.dockerconfigjson: '{\"auths\":{\"r.test\":{\"username\":\"u\",\"password\":\"p\"}}}'}\n---\n"
	var images strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&images, "  - {image: r.test/i%d}\n", i)
	}
	certificates := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {ca.crt: '" + strings.Repeat("certificate ", 100_000) +
		"'}\n"
	for i := range 100 {
		certificates += fmt.Sprintf("---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nspec: {type: oci, url: "+
			"'oci://r%d.test', certSecretRef: {name: a}}\n", i)
	}
	for text, message := range map[string]string{
		secret + "apiVersion: v1\nkind: Pod\nspec:\n  imagePullSecrets:\n" + strings.Repeat("  - {name: a}\n", 1000) + "  containers:\n" +
			images.String(): "The entries of the files refer to each other more than",
		certificates: "The definitions repeat certificates and other texts of more than",
	} {
		s := newScan(model.Options{})
		if err := s.AddReader("in", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		r := s.result()
		if n := len(r.Registries); n < 5 || n > 99 || len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0].Message, message) ||
			r.Problems[0].Source.Line == 0 {
			t.Errorf("%d definitions, problems %v", n, r.Problems)
		}
		for _, found := range r.Registries {
			if found.Definition.Auth.Password == "" && found.Definition.Auth.TLS.CA == "" {
				t.Errorf("%s is without credentials", found.Definition.BaseContentPath)
			}
		}
	}
}

// A Secret that does not exist is compared with those of its namespace.
func TestSimilarSecret(t *testing.T) {
	const repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: r, namespace: apps}\nspec: " +
		"{type: oci, url: oci://r.example.com, secretRef: {name: %s}}\n"
	const existing = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: harbor-creds, namespace: %s}\n"
	for _, row := range []struct{ name, namespace, want string }{
		{"harbor-creds-typo", "apps", `The Secret "harbor-creds-typo" was not read. Did you mean "harbor-creds"?`},
		{"habor-creds", "apps", `The Secret "habor-creds" was not read. Did you mean "harbor-creds"?`},
		{"ghcr", "apps", `The Secret "ghcr" was not read.`},
		{"habor-creds", "other", `The Secret "habor-creds" was not read.`},
	} {
		s := newScan(model.Options{})
		if err := s.AddReader("in", strings.NewReader(fmt.Sprintf(repository+existing, row.name, row.namespace))); err != nil {
			t.Fatal(err)
		}
		if got := string(s.result().Registries[0].Detail); got != row.want {
			t.Errorf("%s in %s: %s", row.name, row.namespace, got)
		}
	}
}

// A Secret in plain text has a notice if its file is in a repository.
func TestPlainSecretInRepository(t *testing.T) {
	for name, text := range map[string]string{
		"pull": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ntype: kubernetes.io/dockerconfigjson\nstringData: " +
			"{.dockerconfigjson: '{\"auths\": {\"r.example.com\": {\"username\": \"a\", \"password\": \"hunter2\"}}}'}\n",
		"flux": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nspec: {type: oci, url: oci://r.example.com, secretRef: " +
			"{name: s}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {username: a, password: hunter2}\n",
		"argocd": "apiVersion: v1\nkind: Secret\nmetadata: {name: s, labels: {argocd.argoproj.io/secret-type: repository}}\nstringData: " +
			"{type: oci, url: oci://r.example.com, username: a, password: hunter2}\n",
	} {
		for _, versioned := range []bool{true, false} {
			s := newScan(model.Options{Versioned: func(file string) bool { return versioned && file == name }})
			if err := s.AddReader(name, strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			r := s.result().Registries[0]
			if noticed := len(r.Notices) == 1 && r.Notices[0].Code == model.NoticeSecretInRepository; noticed != versioned {
				t.Errorf("%s, versioned %v: %v", name, versioned, r.Notices)
			}
		}
	}
}
