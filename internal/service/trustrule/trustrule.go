// Package trustrule decides whether the claims of a token meet the conditions of a trust rule, and which conditions a rule may have.
package trustrule

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
)

const (
	maxConditions = 16
	maxText       = 1024     // bytes of an issuer, an audience, a claim's name or its value
	maxMaterial   = 64 << 10 // bytes of certificates, and of keys
)

// separators are the characters after which the rest of a value may be left open. They end a name in the claims of the known issuers, so
// that "repo:acme/app:*" does not match a repository "acme/app-of-somebody-else".
const separators = "/:"

// Conditions are the required values of claims, by their names. A value that ends in "*" after a separator is a prefix.
type Conditions map[string]string

// Unmet returns the name of the first claim, in alphabetical order, that does not meet its condition, "" if all do.
func (c Conditions) Unmet(claims map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if !meets(claims[name], c[name]) {
			return name
		}
	}
	return ""
}

// meets reports whether a claim has the value, or is a list with it.
func meets(claim any, value string) bool {
	switch claim := claim.(type) {
	case []any:
		return slices.ContainsFunc(claim, func(one any) bool { return meetsText(one, value) })
	default:
		return meetsText(claim, value)
	}
}

func meetsText(claim any, value string) bool {
	var text string
	switch claim := claim.(type) {
	case string:
		text = claim
	case bool:
		text = strconv.FormatBool(claim)
	case float64:
		text = strconv.FormatFloat(claim, 'f', -1, 64)
	default:
		return false
	}
	if prefix, open := strings.CutSuffix(value, "*"); open {
		return len(text) > len(prefix) && strings.HasPrefix(text, prefix)
	}
	return text == value
}

// owners are, by public issuer, the claims that name the owner of a token, each with what precedes the owner. Everybody can
// get a token of such an issuer, so a rule must have a condition for one of them.
var owners = map[string]map[string]string{
	"https://token.actions.githubusercontent.com": {"sub": "repo:", "repository": "", "repository_id": "", "repository_owner": "",
		"repository_owner_id": ""},
	"https://gitlab.com":          {"sub": "project_path:", "project_path": "", "project_id": "", "namespace_path": "", "namespace_id": ""},
	"https://agent.buildkite.com": {"sub": "organization:", "organization_slug": "", "organization_id": "", "pipeline_id": ""},
	"https://app.terraform.io":    {"sub": "organization:", "terraform_organization_name": "", "terraform_organization_id": ""},
	"https://accounts.google.com": {"sub": "", "email": "", "hd": ""},
}

// Problem returns why a rule for that issuer must not have the conditions, "" if it may.
func (c Conditions) Problem(issuer string) string {
	switch {
	case len(c) == 0:
		return "is required: name at least one claim, such as sub"
	case len(c) > maxConditions:
		return fmt.Sprintf("must have at most %d entries", maxConditions)
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if problem := valueProblem(c[name]); problem != "" || name == "" || len(name) > maxText {
			return fmt.Sprintf("%q %s", name, cmp.Or(problem, "must be the name of a claim"))
		}
	}
	required, public := owners[strings.TrimSuffix(issuer, "/")]
	if !public {
		return ""
	}
	for name, value := range c {
		// At GitHub, the owner of a repository chooses the claims that its sub consists of: only one that begins so names the owner.
		begin, names := required[name]
		if owner, has := strings.CutPrefix(value, begin); names && has && namesOwner(owner) {
			return ""
		}
	}
	return "must name the owner, since everybody can get a token of this issuer: set " +
		strings.Join(slices.Sorted(maps.Keys(required)), ", ") + " or several of them"
}

// namesOwner reports whether a value without the common beginning still has a name.
func namesOwner(value string) bool {
	return strings.Trim(value, separators+"*") != ""
}

func valueProblem(value string) string {
	prefix, open := strings.CutSuffix(value, "*")
	switch {
	case value == "":
		return "must have a value"
	case len(value) > maxText || !utf8.ValidString(value):
		return "must be valid UTF-8 of at most 1,024 bytes"
	case strings.Contains(prefix, "*"), open && (prefix == "" || !strings.Contains(separators, prefix[len(prefix)-1:])):
		return `must be a whole value, or a prefix that ends in "/*" or ":*"`
	}
	return ""
}

// IssuerProblem returns why a text cannot be an issuer, "" if it can.
func IssuerProblem(issuer string) string {
	u, err := url.Parse(issuer)
	switch {
	case issuer == "":
		return "is required"
	case len(issuer) > maxText:
		return "must be at most 1,024 bytes"
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return "must be a URL with https, without credentials, query and fragment, exactly as in the claim iss of the tokens"
	}
	return ""
}

// AudienceProblem returns why a text cannot be an audience, "" if it can.
func AudienceProblem(audience string) string {
	switch {
	case strings.TrimSpace(audience) == "":
		return "is required: the value that the tokens have in the claim aud, such as the URL of this service"
	case len(audience) > maxText || !utf8.ValidString(audience):
		return "must be valid UTF-8 of at most 1,024 bytes"
	}
	return ""
}

// CAProblem returns why a text cannot be the certificates of an issuer, "" if it can.
func CAProblem(pem string) string {
	switch {
	case len(pem) > maxMaterial:
		return "must be at most 64 KiB"
	case pem != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(pem)):
		return "must contain a PEM certificate"
	}
	return ""
}

// KeysProblem returns why a text cannot be the public keys of an issuer, "" if it can.
func KeysProblem(text string) string {
	if text == "" {
		return ""
	}
	if len(text) > maxMaterial {
		return "must be at most 64 KiB"
	}
	set, err := ReadKeys([]byte(text))
	if err != nil || len(set.Keys) == 0 {
		return "must be a JSON Web Key Set with at least one public key"
	}
	return ""
}

// ReadKeys reads a JSON Web Key Set, without keys that no token may be verified with.
func ReadKeys(text []byte) (set jose.JSONWebKeySet, err error) {
	if err = json.Unmarshal(text, &set); err != nil {
		return set, err
	}
	set.Keys = slices.DeleteFunc(set.Keys, func(k jose.JSONWebKey) bool { return !k.Valid() || !usable(k) })
	return set, nil
}
