package engine_test

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/test/realregistry"
)

// A registry that has lost a config or a layer still serves the manifest: oras-go cannot pull the artifact, and neither is a
// reference to it valid.
func TestLostBlobs(t *testing.T) {
	registry := realregistry.Distribution(t, realregistry.Options{Users: users}).As(user, password)
	for i, repository := range []string{"charts/config-lost", "charts/layer-lost", "charts/whole"} {
		realregistry.Push(t, registry, realregistry.Helm, repository, "1.0.0")
		if i < 2 {
			realregistry.LoseBlob(t, registry, repository, "1.0.0", i)
		}
		pulled := realregistry.Pull(t, registry, repository, "1.0.0")
		for _, path := range []string{repository, repository + ":1.0.0"} {
			report := check(t, regcheck.Definition{Endpoint: registry.Endpoint, BaseContentPath: path, Auth: basic(user, password)})
			w := want{warnings: []regcheck.WarningCode{inClear}}
			switch {
			case pulled == nil:
			case strings.Contains(path, ":"):
				w.code, w.reason, w.stage = regcheck.CodeContentDamaged, regcheck.ReasonBlobMissing, regcheck.StageContent
			default:
				w.warnings, w.unknown = append(w.warnings, regcheck.WarnContentDamaged), true
			}
			compare(t, report, w)
		}
		if (pulled == nil) != (i == 2) {
			t.Errorf("%s: oras-go pulled it: %v", repository, pulled)
		}
	}
}
