package registry

import (
	"slices"
	"testing"

	"github.com/regwarden/regwarden/api"
)

func TestNotesOfRegistry(t *testing.T) {
	for _, tt := range []struct {
		health api.RegistryHealth
		want   []string
	}{
		{api.RegistryHealth{}, nil},
		{api.RegistryHealth{CertificateExpiresSoon: true}, []string{"the certificate expires soon"}},
		{api.RegistryHealth{CertificateExpiresSoon: true, CredentialsExpireSoon: true},
			[]string{"the certificate expires soon", "the credentials expire soon or have expired"}},
	} {
		if got := (shownRegistry{Health: tt.health}).notes(); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.health, got, tt.want)
		}
	}
}
