// Package product recognizes products by what a registry responds, for hints only: no result depends on it.
package product

import (
	"cmp"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Product is a registry with habits of its own.
type Product uint8

// Products. Unknown is any other one.
const (
	Unknown Product = iota
	ECR
	ECRPublic
	GHCR
	GitLab
)

// Of returns the product that sends these challenges.
func Of(o challenge.Offers) Product {
	if o.Service == "ecr.amazonaws.com" {
		return ECR
	}
	if o.Bearer == nil {
		return Unknown
	}
	scopes := strings.Fields(o.Bearer.Params["scope"])
	realm, _, _ := strings.Cut(o.Bearer.Params["realm"], "?")
	switch {
	case slices.Contains(scopes, "aws"):
		return ECRPublic
	case slices.Contains(scopes, "repository:user/image:pull"): // its placeholder
		return GHCR
	case o.Bearer.Params["service"] == "container_registry" && strings.HasSuffix(realm, "/jwt/auth"):
		return GitLab
	}
	return Unknown
}

// Login returns how to get credentials, "" for products where any user may have some.
func (p Product) Login() message.Text {
	if p == ECR {
		return "Set {auth.username} to AWS and {auth.password} to the output of `aws ecr get-login-password`, which is valid for 12 hours."
	}
	return ""
}

// Scope returns which scope a token must have, "" if that is not known. GitLab and GHCR reject a token without it like a wrong one.
func (p Product) Scope() string {
	switch p {
	case GHCR:
		return "read:packages"
	case GitLab:
		return "read_registry"
	default:
		return ""
	}
}

// Renew returns how to renew rejected or expired credentials, "" if neither product nor username show it.
func (p Product) Renew(username string) message.Text {
	switch {
	case p == ECRPublic:
		return "Get a new password with `aws ecr-public get-login-password --region us-east-1`, or remove the credentials and set " +
			"{auth.type} to noAuth: public content can be read without them."
	case p == ECR && username != "AWS":
		return "Set {auth.username} to AWS, and {auth.password} to the output of `aws ecr get-login-password`, which is valid for 12 hours."
	case username == "AWS":
		return "Get a new password with `aws ecr get-login-password`: it is valid for 12 hours."
	case username == "00000000-0000-0000-0000-000000000000":
		return "Get a new token with `az acr login --expose-token`: it is valid for 3 hours."
	case strings.HasPrefix(username, "robot$"):
		return "Renew the secret of the robot account in Harbor if the account has expired or was disabled."
	}
	return ""
}

// Denied returns what to do about a response that denies content at a path, which may be known to be a repository.
func Denied(path string, a *wire.Response, repository bool) message.Text {
	if better, ok := WithoutChartRepo(path); ok {
		return ChartRepo(better)
	}
	text := string(a.Body[:min(len(a.Body), 4096)])
	if project := harborProject.Get().FindStringSubmatch(text); project != nil {
		return message.Of("Correct the project in {baseContentPath}, or create it: the registry has no project %s.", a.Text(project[1]))
	}
	if hint := cmp.Or(GitHubToken(a), AWSAction(a)); hint != "" {
		return hint
	}
	grant := codes.PerRepository + " Otherwise grant"
	if repository {
		grant = "Grant"
	}
	return message.Of("%s the user permission to pull from %s"+
		" (Harbor: pull; ACR: metadata_read; ECR: ecr:ListImages, ecr:BatchGetImage; GitLab: read_registry; GHCR: read:packages; "+
		"Google: artifactregistry.repositories.downloadArtifacts).", grant, wire.CleanText(path))
}

// GitHubToken returns what to do about a response of GitHub that says what a token lacks, "" for other responses.
func GitHubToken(a *wire.Response) message.Text {
	switch text := strings.ToLower(string(a.Body[:min(len(a.Body), 4096)])); {
	case strings.Contains(text, "saml"):
		return "Authorize the token for the organization: at GitHub, Configure SSO in the list of the user's tokens."
	case strings.Contains(text, "does not match expected scopes"):
		return "Give the token the scope read:packages: at GitHub, in the list of the user's tokens, or create a new one."
	}
	return ""
}

// AWSAction returns what to do about a response of ECR that names an action that no policy allows, "" for other responses.
func AWSAction(a *wire.Response) message.Text {
	found := awsAction.Get().FindSubmatch(a.Body[:min(len(a.Body), 4096)])
	if found == nil {
		return ""
	}
	return message.Of("Allow the user or role the action %s on this repository, by its policy in IAM or that of the repository. "+
		"Pulling needs ecr:BatchGetImage and ecr:GetDownloadUrlForLayer, and lists of tags need ecr:ListImages.", a.Text(string(found[1])))
}

var awsAction = lazyregexp.New(`not authorized to perform:? (ecr:[A-Za-z]{1,64})`)

// harborProject is in Harbor's response for a project that does not exist.
var harborProject = lazyregexp.New(`project ([^\s"]{1,255}) not found`)

// WithoutChartRepo returns a path without the prefix of ChartMuseum, which Harbor had before 2.8.
func WithoutChartRepo(path string) (better string, ok bool) {
	if better, ok = strings.CutPrefix(strings.TrimPrefix(path, "api/"), "chartrepo/"); ok {
		return better, true
	}
	return path, false
}

// ChartRepo is the hint for such a path.
func ChartRepo(better string) message.Text {
	return message.Of("Set {baseContentPath} to %s and push the charts there with oci://: "+
		"Harbor 2.8 removed ChartMuseum and its path chartrepo/.", wire.CleanText(better))
}
