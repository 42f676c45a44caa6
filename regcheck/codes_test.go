package regcheck

import (
	"slices"
	"strings"
	"testing"
)

// Each row of the table occurs once and is complete: meaning, hint, stages.
func TestCodeTable(t *testing.T) {
	fields := []string{"", "endpoint", "basePath", "baseContentPath", "providerType", "auth.type", "auth.username",
		"auth.password", "auth.token",
		"auth.tls.ca", "auth.tls.certificate", "auth.tls.key", "auth.tls.insecureSkipVerify", "auth.tls.enabled",
		"auth", "auth.aws.roleArn", "auth.exec"}
	seen := map[string]bool{}
	for _, e := range Entries() {
		key := string(e.Code) + " " + string(e.Reason) + " " + string(e.Warning)
		if seen[key] {
			t.Errorf("%s is a duplicate", key)
		}
		seen[key] = true
		if (e.Code == "") == (e.Warning == "") {
			t.Errorf("%s is not a code or a warning", key)
		}
		for what, text := range map[string]Text{"sentence": e.Sentence, "hint": e.Hint} {
			if len(text) < 20 || !strings.HasSuffix(string(text), ".") || text[0] < 'A' || text[0] > 'Z' {
				t.Errorf("%s: %s %q is not a sentence", key, what, text)
			}
		}
		if len(e.Stages) == 0 || !slices.Contains(fields, e.Field) {
			t.Errorf("%s: stages %v, field %q", key, e.Stages, e.Field)
		}
	}
}
