package cloudtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Policy is a policy document of IAM. Of its language it has statements that allow actions on resources, with *.
type Policy struct {
	Statement []struct {
		Effect           string
		Action, Resource texts
	}
}

// texts is one text or a list of them, as policies have them.
type texts []string

func (t *texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// match reports whether one of the texts is the value; * in it is any text.
func (t texts) match(value string) bool {
	return slices.ContainsFunc(t, func(pattern string) bool {
		first, rest, wild := strings.Cut(pattern, "*")
		if !wild {
			return pattern == value
		}
		after, ok := strings.CutPrefix(value, first)
		return ok && strings.HasSuffix(after, rest)
	})
}

func (k AWSKey) allows(action, resource string) bool {
	if slices.Contains(k.Actions, action) {
		return true
	}
	for _, s := range k.Policy.Statement {
		if s.Effect == "Allow" && s.Action.match(action) && s.Resource.match(resource) {
			return true
		}
	}
	return false
}

// notAuthorized is how AWS says that no policy allows an action.
func (k AWSKey) notAuthorized(id, action, resource, based string) string {
	return "User: arn:aws:iam::" + k.Account + ":user/" + id + " is not authorized to perform: " + action + " on resource: " + resource +
		" because no " + based + "-based policy allows the " + action + " action"
}

// registryOf returns the account and region in the name of a registry's host. ok is false for ECR Public.
func registryOf(host string) (account, region string, ok bool) {
	for _, service := range []string{".dkr.ecr.", ".dkr.ecr-fips.", ".dkr-ecr.", ".dkr-ecr-fips."} {
		if account, rest, found := strings.Cut(host, service); found {
			region, _, _ = strings.Cut(rest, ".")
			return account, region, true
		}
	}
	return "", "", false
}

// Admits reports whether a registry responds to a request, and sends the refusal if it does not. The registry of an account accepts the
// passwords that were issued; the policies of the key, and of the repository if that is of another account, allow the actions.
func (a *AWS) Admits(w http.ResponseWriter, r *http.Request) bool {
	user, password, _ := r.BasicAuth()
	id, valid := a.passwords.owner(password, a.Now())
	if user != "AWS" || !valid {
		w.Header().Set("WWW-Authenticate", `Basic realm="https://`+r.Host+`/",service="ecr.amazonaws.com"`)
		http.Error(w, "Not Authorized", http.StatusUnauthorized)
		return false
	}
	action, name := pullAction(r), repository(r)
	account, region, private := registryOf(r.Host)
	if action == "" || !private { // everything in ECR Public may be read
		return true
	}
	key, _ := a.key(id)
	resource := "arn:aws:ecr:" + region + ":" + account + ":repository/" + name
	switch {
	case !key.allows(action, resource):
		refuse(w, a.Now(), http.StatusForbidden, "DENIED", key.notAuthorized(id, action, resource, "identity"))
	case key.Account != account && !slices.Contains(a.Shares[name], key.Account):
		refuse(w, a.Now(), http.StatusForbidden, "DENIED", key.notAuthorized(id, action, resource, "resource"))
	case a.Regions[name] != "" && a.Regions[name] != region:
		refuse(w, a.Now(), http.StatusNotFound, "NAME_UNKNOWN",
			"The repository with name '"+name+"' does not exist in the registry with id '"+account+"'")
	default:
		return true
	}
	return false
}

// pullAction returns the action of ECR that a request to its registry needs, "" for none.
func pullAction(r *http.Request) string {
	switch {
	case strings.HasSuffix(r.URL.Path, "/tags/list"):
		return "ecr:ListImages"
	case strings.Contains(r.URL.Path, "/manifests/"):
		return "ecr:BatchGetImage"
	case strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodHead:
		return "ecr:BatchCheckLayerAvailability"
	case strings.Contains(r.URL.Path, "/blobs/"):
		return "ecr:GetDownloadUrlForLayer"
	case strings.HasSuffix(r.URL.Path, "/_catalog"):
		return "ecr:DescribeRepositories"
	}
	return ""
}
