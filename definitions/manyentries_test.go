// The race detector makes this ten times slower, and it starts no goroutine.

//go:build !race

package definitions

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
)

// All entries of one host are listed. Their number is such that comparing each with each would take minutes.
func TestManyEntries(t *testing.T) {
	const entries = 14_000
	var config strings.Builder
	config.WriteString(`{"auths": {"x.test": {"auth": "dTpw"}`)
	for i := range entries {
		fmt.Fprintf(&config, `,"r.test/%d": {"auth": %q}`, i, base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "u%d:p", i)))
	}
	config.WriteString("}}")
	for _, as := range []model.Consumer{model.Docker, model.Helm, model.Podman, model.Kubelet, model.Flux} {
		s := NewScanner(model.Options{Format: model.DockerConfig, As: as, Now: time.Unix(0, 0)})
		if err := s.AddReader("f", strings.NewReader(config.String())); err != nil {
			t.Fatal(err)
		}
		if n := s.Result().Summary.Found; n != entries+1 {
			t.Errorf("%s: %d", as, n)
		}
	}
}
