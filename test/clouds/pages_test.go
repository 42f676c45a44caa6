package clouds

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
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

// The policy on the page of ECR suffices for lists, manifests and layers. Without one of its actions, the report names that action.
func TestPolicyOfThePageSuffices(t *testing.T) {
	_, text, _ := strings.Cut(page(t, "ecr.md"), "## The smallest policy")
	text, _, _ = strings.Cut(text, "For `public.ecr.aws`")
	rest := text
	w := newWorld(t)
	key := func(removed string) regcheck.Auth {
		var policy cloudtest.Policy
		if err := json.Unmarshal([]byte(strings.Replace(text, removed, "ecr:Removed", 1)), &policy); err != nil {
			t.Fatal(err)
		}
		id := "AKIA" + strings.ToUpper(strings.TrimPrefix(removed, "ecr:"))
		w.AWS.Keys[id] = cloudtest.AWSKey{Secret: "page-secret-of-aws", Account: "123456789012", Policy: policy}
		return awsAuth(id, "page-secret-of-aws")
	}
	for _, path := range []string{"team/app", "team/app:1.0.0"} {
		if report := w.checkPath(t, private, path, key("nothing")); !report.Valid || len(report.Warnings) > 0 {
			t.Errorf("%s: %s: %s %v", path, report.Code, report.Message, report.Warnings)
		}
	}
	if report := w.checkPath(t, private, "other/app", key("nothing")); report.Code != regcheck.CodeAccessDenied {
		t.Errorf("another repository: %s: %s", report.Code, report.Message)
	}
	for action, want := range map[string]struct {
		path string
		code regcheck.Code
	}{
		"ecr:GetAuthorizationToken":  {"team/app", regcheck.CodeCredentialSourceFailed},
		"ecr:ListImages":             {"team/app", regcheck.CodeAccessDenied},
		"ecr:BatchGetImage":          {"team/app:1.0.0", regcheck.CodeAccessDenied},
		"ecr:GetDownloadUrlForLayer": {"team/app:1.0.0", regcheck.CodeContentDamaged},
	} {
		report := w.checkPath(t, private, want.path, key(action))
		if report.Code != want.code || !strings.Contains(report.Hint, "the action "+action) {
			t.Errorf("without %s: %s (%s): %s %s", action, report.Code, report.Reason, report.Message, report.Hint)
		}
		rest = strings.Replace(rest, action, "", 1)
	}
	if strings.Count(rest, "ecr:") != 1 { // of the ARN
		t.Errorf("the policy has more than is tested: %s", rest)
	}
}

// The actions on the page suffice for ECR Public, where everything may be read, and each is necessary.
func TestActionsOfECRPublicSuffice(t *testing.T) {
	w := newWorld(t)
	actions := []string{"ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"}
	for i, action := range append(actions, "") {
		if i < len(actions) && !strings.Contains(page(t, "ecr.md"), "`"+action+"`") {
			t.Errorf("the page lacks %s", action)
		}
		id := "AKIAPUBLIC" + strconv.Itoa(i)
		w.AWS.Keys[id] = cloudtest.AWSKey{Secret: "page-secret-of-aws", Account: "123456789012",
			Actions: slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return a == action })}
		report := w.check(t, "public.ecr.aws", awsAuth(id, "page-secret-of-aws"))
		if report.Valid != (action == "") || !strings.Contains(report.Hint, action) {
			t.Errorf("without %q: %s: %s %s", action, report.Code, report.Message, report.Hint)
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
