package oracles_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/authn/kubernetes"
	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"

	"github.com/regwarden/regwarden/definitions/model"
)

// resolve uses go-containerregistry's keychain of pull Secrets, which Flux has and whose patterns are kubelet's.
func resolve(c testCase, repository string) (credentials, error) {
	secret := corev1.Secret{Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(c.config)}}
	if c.legacy {
		secret = corev1.Secret{Type: corev1.SecretTypeDockercfg, Data: map[string][]byte{corev1.DockerConfigKey: []byte(c.config)}}
	}
	keychain, err := kubernetes.NewFromPullSecrets(context.Background(), []corev1.Secret{secret})
	if err != nil {
		return credentials{}, err
	}
	target, err := name.NewRepository(repository)
	if err != nil {
		return credentials{}, err
	}
	found, err := keychain.Resolve(target)
	if err != nil {
		return credentials{}, err
	}
	a, err := found.Authorization()
	if err != nil {
		return credentials{}, err
	}
	return credentials{a.Username, a.Password, a.IdentityToken, a.RegistryToken}, nil
}

var emptySecret = difference{"an empty value of a Secret is no file; kubelet and Flux use other Secrets",
	func(c testCase) bool { return c.config == "" },
	testCase{reference: "ghcr.io/acme/app"}}

func TestFlux(t *testing.T) {
	oracle{consumer: model.Flux, format: model.DockerConfig, lookup: func(c testCase) (credentials, error) {
		return resolve(c, c.reference)
	}, differs: []difference{emptySecret}}.check(t)
}

// samePattern reports whether two keys have the same host and path.
func samePattern(c testCase) bool {
	seen := map[string]bool{}
	for _, found := range regexp.MustCompile(`"(?:https?://)?(?:[^"@]*@)?([^"]*?)(/v[12](?:/[^"]*)?|/`+
		`?)": [{n]`).FindAllStringSubmatch(c.config, -1) {
		pattern := strings.TrimSuffix(found[1]+strings.TrimPrefix(strings.TrimPrefix(found[2], "/v1"), "/v2"), "/")
		if seen[pattern] {
			return true
		}
		seen[pattern] = true
	}
	return false
}

func TestKubelet(t *testing.T) {
	contains := func(text string) func(testCase) bool {
		return func(c testCase) bool { return strings.Contains(c.config, text) }
	}
	oracle{consumer: model.Kubelet, format: model.DockerConfig, lookup: func(c testCase) (credentials, error) {
		named, err := reference.ParseNormalizedNamed(c.reference)
		if err != nil {
			return credentials{}, err
		}
		return resolve(c, named.Name())
	}, differs: []difference{
		emptySecret,
		{"kubelet ignores identitytoken", contains("identitytoken"),
			testCase{config: `{"auths": {"ghcr.io": {"identitytoken": "t"}}}`, reference: "ghcr.io/acme/app"}},
		{"kubelet ignores registrytoken", contains("registrytoken"),
			testCase{config: `{"auths": {"ghcr.io": {"registrytoken": "t"}}}`, reference: "ghcr.io/acme/app"}},
		{"kubelet reads email", contains(`"email": 5`),
			testCase{config: `{"auths": {"ghcr.io": {"email": 5}}}`, reference: "ghcr.io/acme/app"}},
		{"kubelet reads HttpHeaders", contains(`{"X-Meta": 1}`),
			testCase{config: `{"HttpHeaders": {"X-Meta": 1}}`, reference: "ghcr.io/acme/app"}},
		{"kubelet compares docker.io, go-containerregistry index.docker.io",
			func(c testCase) bool { return strings.Contains(c.reference, "docker.io") },
			testCase{config: `{"auths": {"docker.io": {"auth": "dTpw"}}}`, reference: "docker.io/acme/app"}},
		{"for a host without dot and port, kubelet uses credentials of Docker Hub",
			func(c testCase) bool { return strings.HasPrefix(c.reference, "localhost/") },
			testCase{config: `{"auths": {"index.docker.io": {"auth": "dTpw"}}}`, reference: "localhost/acme/app"}},
		{"kubelet tries all keys of one pattern, in random order; go-containerregistry uses one of them", samePattern,
			testCase{config: `{"auths": {"r.test": {"auth": "dTpw"}, "https://r.test/v1/": {"auth": "dTpx"}}}`, reference: "r.test/app"}},
		{"kubelet ignores an entry whose key is not a URL",
			func(c testCase) bool { return contains("r.test:port")(c) || contains("[p-s]")(c) },
			testCase{config: `{"auths": {"r.test:port": {"auth": "dTpw"}}}`, reference: "r.test/app"}},
	}}.check(t)
}
