package oracles_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distribution/reference"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/config/types"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"oras.land/oras-go/v2/registry"
	orascredentials "oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/regwarden/regwarden/definitions/model"
)

func notLegacy(c testCase) bool { return !c.legacy }

func fromDocker(a types.AuthConfig) credentials {
	return credentials{a.Username, a.Password, a.IdentityToken, a.RegistryToken}
}

func TestDocker(t *testing.T) {
	helpers(t)
	t.Setenv("DOCKER_AUTH_CONFIG", "")
	oracle{consumer: model.Docker, format: model.DockerConfig, applies: notLegacy, lookup: func(c testCase) (credentials, error) {
		file := configfile.New("")
		if err := file.LoadFromReader(strings.NewReader(c.config)); err != nil {
			return credentials{}, err
		}
		named, err := reference.ParseNormalizedNamed(c.reference)
		if err != nil {
			return credentials{}, err
		}
		a, err := file.GetAuthConfig(reference.Domain(named))
		return fromDocker(a), err
	}, differs: []difference{tokenWithHelper}}.check(t)
}

var tokenWithHelper = difference{"docker adds a registrytoken of the file to what a helper returns; no program writes one",
	func(c testCase) bool {
		return strings.Contains(c.config, "registrytoken") &&
			(strings.Contains(c.config, "credHelpers") || strings.Contains(c.config, "credsStore"))
	},
	testCase{config: `{"auths": {"ghcr.io": {"registrytoken": "t"}}, "credsStore": "three"}`, reference: "ghcr.io/acme/app"}}

// docker prints that it does not understand DOCKER_AUTH_CONFIG, and continues without it.
func TestDockerEnvironment(t *testing.T) {
	printed, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	stderr := os.Stderr
	os.Stderr = printed
	defer func() { os.Stderr = stderr }()
	empty := oracle{consumer: model.Docker, format: model.DockerAuthConfigEnv, lookup: func(c testCase) (credentials, error) {
		t.Setenv("DOCKER_AUTH_CONFIG", c.config)
		named, err := reference.ParseNormalizedNamed(c.reference)
		if err != nil {
			return credentials{}, err
		}
		before, err := printed.Seek(0, io.SeekEnd)
		if err != nil {
			return credentials{}, err
		}
		a, err := configfile.New("").GetAuthConfig(reference.Domain(named))
		if after, _ := printed.Seek(0, io.SeekEnd); err == nil && after > before {
			err = os.ErrInvalid
		}
		return fromDocker(a), err
	}}
	empty.applies = notLegacy
	empty.check(t)
}

func TestORAS(t *testing.T) {
	helpers(t)
	dir := t.TempDir()
	anotherCase := testCase{config: `{"Auths": {"ghcr.io": {"auth": "dTpw"}}}`, reference: "ghcr.io/acme/app"}
	oracle{consumer: model.Helm, format: model.DockerConfig, applies: notLegacy, lookup: func(c testCase) (credentials, error) {
		path, err := writeFile(dir, "config.json", c.config)
		if err != nil {
			return credentials{}, err
		}
		store, err := orascredentials.NewStore(path, orascredentials.StoreOptions{})
		if err != nil {
			return credentials{}, err
		}
		parsed, err := registry.ParseReference(c.reference)
		if err != nil {
			return credentials{}, err
		}
		a, err := orascredentials.Credential(store)(context.Background(), parsed.Host())
		return credentials{a.Username, a.Password, a.RefreshToken, a.AccessToken}, err
	}, differs: []difference{
		{"oras-go compares auths with its case, all others without; no program writes it otherwise",
			func(c testCase) bool { return c.config == anotherCase.config }, anotherCase},
	}}.check(t)
}

// go-containerregistry (crane, ko, kaniko) reads docker's config with docker's own package, and is no consumer of ours.
func TestGoContainerRegistry(t *testing.T) {
	helpers(t)
	dir := t.TempDir()
	t.Setenv("DOCKER_AUTH_CONFIG", "")
	t.Setenv("HOME", dir)
	t.Setenv("DOCKER_CONFIG", dir)
	repositoryKey := func(c testCase) bool {
		repository, err := name.NewRepository(c.reference) // for it, docker.io is index.docker.io
		return err == nil && (strings.Contains(c.config, `"`+c.reference+`"`) || strings.Contains(c.config, `"`+repository.Name()+`"`))
	}
	oracle{consumer: model.Docker, format: model.DockerConfig, applies: notLegacy, lookup: func(c testCase) (credentials, error) {
		if _, err := writeFile(dir, "config.json", c.config); err != nil {
			return credentials{}, err
		}
		repository, err := name.NewRepository(c.reference)
		if err != nil {
			return credentials{}, err
		}
		found, err := authn.DefaultKeychain.Resolve(repository)
		if err != nil {
			return credentials{}, err
		}
		a, err := found.Authorization()
		if err != nil {
			return credentials{}, err
		}
		return credentials{a.Username, a.Password, a.IdentityToken, a.RegistryToken}, nil
	}, differs: []difference{
		tokenWithHelper,
		{"go-containerregistry first uses a key that is the whole repository; docker has no such rule", repositoryKey,
			testCase{config: `{"auths": {"ghcr.io/acme/app": {"auth": "dTpw"}, "ghcr.io": {"auth": "dTpx"}}}`,
				reference: "ghcr.io/acme/app"}},
		{"go-containerregistry asks a credentials store for the whole repository first",
			func(c testCase) bool { return strings.Contains(c.config, `"credsStore": "`) },
			testCase{config: `{"credsStore": "three"}`, reference: "ghcr.io/acme/app"}},
	}}.check(t)
}
