package fixes

import (
	"regexp"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// Talos writes containerd's files itself: a hint that names one of them, or a key of containerd's, is of no use.
func TestHintsForTalosNameNoFileOfContainerd(t *testing.T) {
	foreign := regexp.MustCompile(`certs\.d|hosts\.toml|/etc/|skip_verify|ca_file|cert_file|docker login|pull Secret`)
	own := regexp.MustCompile(`machine\.registries|Registry(TLS|Auth|Mirror)Config`)
	r, named := registry(model.Talos, model.Containerd, "r.example.com:5000"), 0
	for _, e := range regcheck.Entries() {
		given := show(regcheck.Report{Code: e.Code, Reason: e.Reason, MessageText: e.Sentence, HintText: e.Hint}, regcheck.Audience{})
		hint := Report(r, given, regcheck.Audience{}).Hint
		if found := foreign.FindString(hint); found != "" {
			t.Errorf("%s %s: %q in %q", e.Code, e.Reason, found, hint)
		}
		if own.MatchString(hint) {
			named++
		}
	}
	if named < 5 {
		t.Errorf("%d hints name a document of Talos", named)
	}
}
