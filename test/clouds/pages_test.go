package clouds

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/cloudtest"
	"github.com/regwarden/regwarden/regcheck"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The policy on the page of ECR suffices, and not without its first action.
func TestPolicyOfThePageSuffices(t *testing.T) {
	_, text, _ := strings.Cut(page(t, "ecr.md"), "## The smallest policy")
	text, _, _ = strings.Cut(text, "For `public.ecr.aws`")
	var policy struct {
		Statement []struct{ Action any }
	}
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, s := range policy.Statement {
		switch a := s.Action.(type) {
		case string:
			actions = append(actions, a)
		case []any:
			for _, one := range a {
				actions = append(actions, one.(string))
			}
		}
	}
	w := newWorld(t)
	key := func(actions []string) regcheck.Auth {
		w.AWS.Keys["AKIAOFPAGE"] = cloudtest.AWSKey{Secret: "page-secret-of-aws", Account: "123456789012", Actions: actions}
		return awsAuth("AKIAOFPAGE", "page-secret-of-aws")
	}
	less := slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return a == "ecr:GetAuthorizationToken" })
	if report := w.check(t, private, key(less)); report.Reason != regcheck.ReasonNotAuthorized {
		t.Errorf("without an action: %s (%s)", report.Code, report.Reason)
	}
	if report := w.check(t, private, key(actions)); !report.Valid {
		t.Errorf("%s: %s", report.Code, report.Message)
	}
	for _, pull := range []string{"ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"} {
		if !slices.Contains(actions, pull) {
			t.Errorf("the page lacks %s", pull)
		}
	}
}

// Each page has what the hints of its cloud name, and the reasons that its sources have.
func TestPagesHaveTheWordsOfHints(t *testing.T) {
	for _, row := range rows() {
		name := map[regcheck.AuthType]string{regcheck.ECR: "ecr.md", regcheck.GCP: "google.md", regcheck.Azure: "azure.md",
			regcheck.GitHub: "github.md"}[row.auth.Type]
		if row.reason != "" && row.reason != regcheck.ReasonAmbientNotAllowed &&
			!strings.Contains(page(t, name), "`"+string(row.reason)+"`") {
			t.Errorf("%s: %s does not name the reason %s", row.name, name, row.reason)
		}
	}
	for name, words := range map[string][]string{"ecr.md": {"ecr:GetAuthorizationToken", "ecr-public:GetAuthorizationToken"},
		"google.md": {"artifactregistry.repositories.downloadArtifacts"}, "azure.md": {"AcrPull", "Container Registry Repository Reader",
			"az acr token"}, "github.md": {"Packages: read", "read:packages", "Configure SSO"}} {
		for _, word := range append(words, "Flux", "Argo CD", "kubelet") {
			if !strings.Contains(page(t, name), word) {
				t.Errorf("%s does not have %q", name, word)
			}
		}
	}
}
