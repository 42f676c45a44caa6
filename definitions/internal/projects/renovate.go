package projects

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"maps"
	neturl "net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// RenovateFormats reads Renovate's host rules.
var RenovateFormats = []scanner.Reader{{Name: model.Renovate, Is: isRenovate, Keys: []string{"hostRules"}, Read: readRenovate}}

// maxHostRules limits the rules, each of which is compared with all others.
const maxHostRules = 1000

// Names of Renovate's configurations, and of those that are programs.
var (
	renovateNames    = []string{"renovate.json", "renovate.json5", ".renovaterc", ".renovaterc.json", ".renovaterc.json5"}
	renovatePrograms = []string{"renovate*.js", "config.js"}
)

// isRenovate recognizes a file by its name, and others in JSON by rules that have a host or a type.
func isRenovate(f *scanner.File) bool {
	switch {
	case !bytes.Contains(f.Data, []byte("hostRules")):
		return false
	case isRenovateProgram(f), f.HasName(renovateNames...):
		return true
	case f.IsWalked() && !scanner.IsOneOf(f.Extension(), ".json", ".json5"):
		return false
	}
	rules := renovateRules(f)
	return rules.IsArray() && (!f.IsWalked() || slices.ContainsFunc(rules.Items(), func(rule *node.Node) bool {
		return rule.Get("matchHost") != nil || rule.Get("hostType") != nil
	}))
}

// isRenovateProgram reports whether a file is a configuration in JavaScript.
func isRenovateProgram(f *scanner.File) bool {
	return (!f.IsWalked() || f.HasName(renovatePrograms...)) && !f.LooksLikeJSON() &&
		(bytes.Contains(f.Data, []byte("module.exports")) || bytes.Contains(f.Data, []byte("export default")))
}

// renovateRules returns the host rules of renovate.json or of package.json, nil if there are none.
func renovateRules(f *scanner.File) *node.Node {
	root, err := node.JSON5(f.Data)
	if err != nil {
		return nil
	}
	if renovate := root.Get("renovate"); renovate.IsObject() {
		return renovate.Get("hostRules")
	}
	return root.Get("hostRules")
}

func readRenovate(f *scanner.File) {
	if isRenovateProgram(f) {
		f.Scanner.Problem(f.At(0, ""), model.ProblemProgram,
			"The configuration is a program, which is not run. Write its host rules as JSON, or read the JSON that the program exports.")
		return
	}
	if _, err := node.JSON5(f.Data); err != nil {
		f.Scanner.Problem(f.At(0, ""), model.ProblemNotJSON, "The file is not valid JSON5: %v.", err)
		return
	}
	elements := renovateRules(f).Items()
	if len(elements) > maxHostRules {
		f.Scanner.Problem(f.At(0, ""), model.ProblemWrongShape, "The file has more than %d host rules.", maxHostRules)
		return
	}
	var rules []hostRule
	for _, n := range elements {
		rules = append(rules, readHostRule(n))
	}
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b hostRule) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(len(a.matchHost), len(b.matchHost)))
	})
	seen := map[string]bool{}
	for _, rule := range rules {
		if skipHostRule(f, rule) {
			continue
		}
		if endpoint, _, _ := scanner.ReadAddress(rule.matchHost); !seen[endpoint] {
			seen[endpoint] = true
			hostRuleEntry(f, rule, sorted)
		}
	}
}

// hostRule is an element of Renovate's hostRules.
type hostRule struct {
	node      *node.Node
	hostType  string
	matchHost string
	suffix    string                // of the hosts that matchHost is the domain of
	members   map[string]*node.Node // those of ruleMembers that it has
}

// ruleMembers are the members of a rule that decide how Renovate connects to a registry.
var ruleMembers = []string{"username", "password", "token", "encrypted", "authType", "insecureRegistry"}

// readHostRule reads a rule. A host with a port or a path becomes a URL, as in Renovate. Older names of matchHost are still used.
func readHostRule(n *node.Node) hostRule {
	r := hostRule{node: n, hostType: n.Get("hostType").Text(), members: map[string]*node.Node{}}
	for _, name := range ruleMembers {
		if value := n.Get(name); value != nil {
			r.members[name] = value
		}
	}
	for _, name := range []string{"matchHost", "hostName", "domainName", "baseUrl", "host", "endpoint"} {
		if r.matchHost == "" {
			r.matchHost = n.Get(name).Text()
		}
	}
	r.suffix = "." + strings.TrimPrefix(r.matchHost, ".")
	if !strings.Contains(r.matchHost, "://") && strings.ContainsAny(r.matchHost, "/:") {
		r.matchHost = "https://" + r.matchHost
	}
	return r
}

// rank orders rules: those that Renovate applies later have a higher one.
func (r hostRule) rank() int {
	switch {
	case r.hostType != "" && r.matchHost != "":
		return 3
	case r.matchHost != "":
		return 2
	case r.hostType != "":
		return 1
	}
	return 0
}

// matches reports whether Renovate applies the rule to a URL of a registry: a URL is a prefix, and a host is a suffix of the host.
func (r *hostRule) matches(url, host string) bool {
	switch {
	case r.hostType != "" && r.hostType != "docker":
		return false
	case r.matchHost == "":
		return true
	case strings.Contains(r.matchHost, "://"):
		return strings.HasPrefix(url, r.matchHost)
	}
	return host == r.matchHost || strings.HasSuffix(host, r.suffix)
}

// notRegistry recognizes hosts for which rules without a type are common, and which are not OCI registries: those of Git, and package
// indexes by the name of their language.
var notRegistry = lazyregexp.New(
	`^((api\.)?github\.com|raw\.githubusercontent\.com|gitlab\.com|bitbucket\.org|dev\.azure\.com)$` +
		`|\b(npm|npmjs|pypi|maven|nuget|rubygems|packagist|crates)\b`)

// skipHostRule skips what is not a rule for one registry with credentials.
func skipHostRule(f *scanner.File, r hostRule) bool {
	at := f.At(r.node.Line, "hostRules")
	host := scanner.HostOf(r.matchHost)
	switch {
	case r.hostType == "helm":
		f.Scanner.Skip(at, model.SkipClassicHelm,
			"Renovate uses rules of the type helm for classic repositories with an index.yaml. Set hostType to docker for OCI registries.")
	case r.hostType != "" && r.hostType != "docker" || r.hostType == "" && notRegistry.Get().MatchString(host):
		f.Scanner.Skip(at, model.SkipNotARegistry, "The rule is not for an OCI registry.")
	case r.node.Get("enabled") != nil && !r.node.Get("enabled").Bool():
		f.Scanner.Skip(at, model.SkipBlocked, "Renovate does not connect to this host: enabled is false.")
	case r.matchHost == "" || strings.HasPrefix(r.matchHost, "."):
		f.Scanner.Skip(at, model.SkipWildcard,
			"The rule is for several hosts. Renovate applies it to registries that the rule does not name.")
	case strings.Contains(r.matchHost, "{{"):
		f.Scanner.Skip(at, model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
	case !r.hasCredentials() && !r.members["insecureRegistry"].Bool():
		f.Scanner.Skip(at, model.SkipEmptyEntry, "The rule has no credentials.")
	default:
		return false
	}
	return true
}

func (r hostRule) hasCredentials() bool {
	return slices.ContainsFunc(ruleMembers[:4], func(name string) bool { return r.members[name] != nil })
}

// hostRuleEntry adds the registry of a rule with what all matching rules have. Renovate merges them, and later ones win: those without
// a host or a type are first, and of two with both the one with the shorter host.
func hostRuleEntry(f *scanner.File, r hostRule, sorted []hostRule) {
	e := scanner.Entry{At: f.At(r.node.Line, "hostRules"), Address: r.matchHost, Path: scanner.PathIgnored}
	e.Format = model.Renovate
	endpoint, _, _ := scanner.ReadAddress(r.matchHost)
	if endpoint == scanner.DockerHub {
		endpoint = "https://index.docker.io" // the name by which Renovate matches Docker Hub
		if r.matchHost == "registry-1.docker.io" {
			r.matchHost = "docker.io"
		}
	}
	url := endpoint + "/v2/"
	host, _, _ := strings.Cut(scanner.HostOf(url), ":")
	merged := map[string]*node.Node{}
	for i := range sorted {
		if rule := &sorted[i]; rule.matches(url, host) {
			maps.Copy(merged, rule.members)
		}
	}
	if u, err := neturl.Parse(r.matchHost); err == nil && u.Host != "" && u.Path == "" && strings.Contains(r.node.Get("matchHost").Text(),
		"://") {
		scanner.AddNotice(&e.Registry, model.NoticePrefixWithoutBoundary,
			"Renovate sends the credentials to every host whose name begins like this one. End matchHost with /, or remove the scheme.")
	}
	if !r.matches(url, host) {
		e.Reason, e.Detail = model.UnresolvedNoMatchingEntry, "Renovate requests URLs that begin with the host and /v2/, which do not "+
			"begin with this matchHost. Set matchHost to the host alone."
		e.Notices = append(e.Notices, model.Notice{Code: model.NoticeNotUsedByConsumer,
			Message: "Renovate does not use the rule for a registry, because of the path in matchHost."})
		e.Add(f.Scanner)
		return
	}
	if merged["insecureRegistry"].Bool() {
		e.Address = "http://" + strings.TrimPrefix(endpoint, "https://")
	}
	hostRuleAuth(&e, merged)
	e.Add(f.Scanner)
}

func hostRuleAuth(e *scanner.Entry, rule map[string]*node.Node) {
	auth := scanner.BasicAuth(rule["username"].Text(), rule["password"].Text())
	token := rule["token"].Text()
	if token != "" && (auth.Username == "" || auth.Password == "") {
		auth = &regcheck.Auth{Token: secret.String(token)}
		if rule["authType"].Text() == "Basic" { // the token is the encoded username and password
			text, _ := base64.StdEncoding.DecodeString(token)
			username, password, _ := strings.Cut(string(text), ":")
			auth = scanner.BasicAuth(username, password)
		}
	}
	e.Definition.Auth = auth
	text := auth.Username + auth.Password.Reveal() + auth.Token.Reveal()
	switch {
	case scanner.IsECR(e.Address) && auth.Username != "AWS": // with which the password is that of the registry
		e.Reason, e.Detail = model.UnresolvedCloudIdentity, "Renovate gets a password from AWS, with the rule as its keys. Check the "+
			"registry with a password of AWS."
	case rule["encrypted"] != nil:
		e.Reason, e.Detail = model.UnresolvedEncrypted, "Only Renovate's server can decrypt the values in encrypted. Check the registry "+
			"with the values themselves."
	case strings.Contains(text, "{{"):
		e.Reason, e.Detail = model.UnresolvedTemplate, "The value is a secret of Renovate's own configuration. Check the registry with "+
			"the value itself."
	case text != "" && auth.Kind() == regcheck.Basic && (auth.Username == "" || auth.Password == ""):
		e.Reason, e.Detail = model.UnresolvedIncomplete, "Renovate uses a username only with a password. Set both, or token."
	case text != "":
		e.Notices = append(e.Notices, scanner.SecretNotice("Use the encrypted values or the secrets of Renovate."))
	}
}
