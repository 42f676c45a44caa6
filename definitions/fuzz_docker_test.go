package definitions

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/regwarden/regwarden/definitions/model"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
)

// A consumer reads a hostile file, and chooses for a hostile reference. No result shows a secret that is only in auth.
func FuzzDockerConfig(f *testing.F) {
	consumers := []model.Consumer{model.Docker, model.Podman, model.Kubelet, model.Flux, model.Helm}
	formats := []model.Format{model.DockerConfig, model.DockerAuthConfigEnv, model.Dockercfg}
	for _, seed := range []string{
		`{"auths": {"r.test": {"auth": "dTpodW50ZXIyc2VjcmV0"}, "https://index.docker.io/v1/": {"identitytoken": "hunter2secret"}}, ` +
			`"credHelpers": {"a": "b"}}`,
		`{"auths": {"*.r.test:5000/a": {"username": "u", "password": "hunter2secret"}, "u:p@r.test/x": {"auth": "eA=="}, "r.test/y": ` +
			`{}}, "credsStore": "c"}`,
		`{"r.test": {"auth": "dTpodW50ZXIyc2VjcmV0", "email": ""}}`,
		"\ufeff{\"auths\": []} x", "",
	} {
		for i := range len(consumers) * len(formats) {
			f.Add([]byte(seed), "r.test/team/app:1", byte(i))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, reference string, which byte) {
		options := model.Options{Format: formats[int(which)/len(consumers)%len(formats)],
			As: consumers[int(which)%len(consumers)], Now: time.Unix(0, 0)}
		s := NewScanner(options)
		if err := s.AddReader("f", bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		chosen, steps, err := Lookup("f", data, reference, options)
		text, marshalErr := json.Marshal([]any{s.Result(), chosen, steps, err == nil})
		if marshalErr != nil {
			t.Fatal(marshalErr)
		}
		checkHidden(t, data, options.Format, text)
	})
}

func checkHidden(t *testing.T, data []byte, format model.Format, text []byte) {
	config, err := dockerauth.Parse(data, format == model.Dockercfg)
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
