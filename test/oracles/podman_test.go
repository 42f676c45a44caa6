package oracles_test

import (
	"io"
	"testing"

	"github.com/distribution/reference"
	"github.com/sirupsen/logrus"
	podman "go.podman.io/image/v5/pkg/docker/config"
	podmantypes "go.podman.io/image/v5/types"

	"github.com/regwarden/regwarden/definitions/model"
)

func TestPodman(t *testing.T) {
	helpers(t)
	logrus.SetOutput(io.Discard) // it warns of entries without a colon
	dir := t.TempDir()
	registries, err := writeFile(dir, "registries.conf", "")
	if err != nil {
		t.Fatal(err)
	}
	oracle{consumer: model.Podman, format: model.ContainersAuth, lookup: func(c testCase) (credentials, error) {
		path, err := writeFile(dir, "auth.json", c.config)
		if err != nil {
			return credentials{}, err
		}
		system := &podmantypes.SystemContext{AuthFilePath: path, SystemRegistriesConfPath: registries,
			SystemRegistriesConfDirPath: dir + "/none"}
		if c.legacy {
			system.AuthFilePath, system.LegacyFormatAuthFilePath = "", path
		}
		named, err := reference.ParseNormalizedNamed(c.reference)
		if err != nil {
			return credentials{}, err
		}
		a, err := podman.GetCredentialsForRef(system, named)
		return credentials{username: a.Username, password: a.Password, identityToken: a.IdentityToken}, err
	}}.check(t)
}
