package definitions

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
)

// Every consumer reads the same hostile file, and chooses for a hostile reference. No result shows a secret that is only in auth.
func FuzzDockerConfig(f *testing.F) {
	for _, seed := range []string{
		`{"auths": {"r.test": {"auth": "dTpodW50ZXIyc2VjcmV0"}, "https://index.docker.io/v1/": {"identitytoken": "hunter2secret"}}, "credHelpers": {"a": "b"}}`,
		`{"auths": {"*.r.test:5000/a": {"username": "u", "password": "hunter2secret"}, "u:p@r.test/x": {"auth": "eA=="}, "r.test/y": {}}, "credsStore": "c"}`,
		`{"r.test": {"auth": "dTpodW50ZXIyc2VjcmV0", "email": ""}}`,
		"\ufeff{\"auths\": []} x", "",
	} {
		f.Add([]byte(seed), "r.test/team/app:1")
	}
	f.Fuzz(func(t *testing.T, data []byte, reference string) {
		for _, as := range []Consumer{Docker, Podman, Kubelet, Flux, Helm} {
			for _, format := range []Format{DockerConfig, DockerAuthConfigEnv, Dockercfg} {
				options := Options{Format: format, As: as, Now: time.Unix(0, 0)}
				s := NewScanner(options)
				if err := s.AddReader("f", bytes.NewReader(data)); err != nil {
					t.Fatal(err)
				}
				chosen, steps, err := Lookup("f", data, reference, options)
				text, marshalErr := json.Marshal([]any{s.Result(), chosen, steps, err == nil})
				if marshalErr != nil {
					t.Fatal(marshalErr)
				}
				checkHidden(t, data, format, text)
			}
		}
	})
}

func checkHidden(t *testing.T, data []byte, format Format, text []byte) {
	config, err := dockerauth.Parse(data, format == Dockercfg)
	if err != nil {
		return
	}
	for _, e := range config.Entries(dockerauth.ORAS) {
		for _, value := range []string{e.Credential.Password.Reveal(), e.Credential.IdentityToken.Reveal()} {
			if len(value) > len(marked) && !bytes.Contains(data, []byte(value)) && bytes.Contains(text, []byte(value)) {
				t.Errorf("the result shows a secret: %s", text)
			}
		}
	}
}
