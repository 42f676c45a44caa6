package registry

import (
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/secret"
)

// References differ for every registry of the organization, and do not depend on which ones are exported.
func TestReferences(t *testing.T) {
	var all []api.OCIRegistrySummary
	for uid, name := range map[string]string{
		"u-1": "harbor.a", "u-2": "Harbor-A", "u-3": "quay", "u-4": "レジストリ", "u-5": "7", "u-6": "ミラー",
	} {
		all = append(all, api.OCIRegistrySummary{Metadata: api.OCIRegistryMetadata{Name: name, UID: uid}})
	}
	for uid, want := range map[string][2]string{
		"u-1": {"${env:HARBOR_A_U_1_PASSWORD}", "${file:harbor-a-u-1.password}"},
		"u-2": {"${env:HARBOR_A_U_2_PASSWORD}", "${file:harbor-a-u-2.password}"},
		"u-3": {"${env:QUAY_PASSWORD}", "${file:quay.password}"},
		"u-4": {"${env:U_4_PASSWORD}", "${file:u-4.password}"},
		"u-5": {"${env:REGISTRY_7_PASSWORD}", "${file:7.password}"},
		"u-6": {"${env:U_6_PASSWORD}", "${file:u-6.password}"},
	} {
		for _, one := range all {
			if one.Metadata.UID != uid {
				continue
			}
			for i, kind := range []string{"env", "file"} {
				if got := newReferences(kind, all).of(one.Metadata)(secret.Mask, "password"); got != want[i] {
					t.Errorf("%s: %s, want %s", one.Metadata.Name, got, want[i])
				}
			}
		}
	}
	if got := newReferences("none", all).of(all[0].Metadata)(secret.Mask, "password"); got != "" {
		t.Errorf("none: %s", got)
	}
}
