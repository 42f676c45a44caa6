package definitions

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Helper returns the credentials that a credential helper such as docker-credential-ecr-login has for a server. Empty credentials mean
// that it has none. It returns ErrHelperNotAllowed for a program that must not be started.
type Helper func(program, server string) (username string, password secret.String, err error)

// ErrHelperNotAllowed is the error of a Helper that did not start the program.
var ErrHelperNotAllowed = errors.New("the program was not allowed")

// Lookup returns the definition that a consumer would use for a reference (host[:port][/path], with or without tag), given its file of
// credentials, and the reasoning, one sentence per step. name is shown as the file. o.Format is one of DockerConfig, DockerAuthConfigEnv,
// Dockercfg and ContainersAuth; the error is for another one, and for a file that is not JSON. A file that the consumer rejects, and
// credentials that are not in it, are not an error: the definition is unresolved.
func Lookup(name string, config []byte, reference string, o Options) (Registry, []string, error) {
	switch o.Format {
	case DockerConfig, DockerAuthConfigEnv, Dockercfg, ContainersAuth:
	default:
		return Registry{}, nil, fmt.Errorf("format %q has no entries to choose from; use docker-config, docker-auth-config-env, dockercfg or containers-auth", o.Format)
	}
	s := NewScanner(o)
	c, err := s.newCredentialFile(config, o.Format, func(line int, key string) Source { return Source{File: name, Line: line, Object: dockerauth.Show(key)} })
	if err != nil {
		return Registry{}, nil, fmt.Errorf("%s is not valid JSON: %w", name, err)
	}
	host, content := splitWritten(reference)
	r := Registry{Sources: []Source{{File: name}}, Format: c.format, Consumer: c.consumer}
	r.Definition = regcheck.Definition{Endpoint: endpointOf(host), BaseContentPath: content}
	choice := s.choose(&r, c.config, c.rules, dockerauth.Reference(c.rules, host, content))
	if len(choice.Entries) > 0 {
		r.Sources = []Source{c.at(choice.Entries[0].Line, choice.Entries[0].Key)}
	}
	s.found(r)
	return s.result.Registries[0], choice.Steps, nil
}

// splitWritten splits a reference as users write it: also with the scheme that Helm and skopeo need, and a host alone.
func splitWritten(reference string) (host, path string) {
	for _, scheme := range []string{"oci://", "docker://", "https://"} {
		reference = strings.TrimPrefix(reference, scheme)
	}
	name, _, _ := strings.Cut(reference, ":")
	if !strings.Contains(reference, "/") && (strings.Contains(name, ".") || name == "localhost") {
		return reference, ""
	}
	host, path = splitReference(reference)
	return host, strings.Trim(path, "/")
}

// choose sets the credentials that a consumer uses for a reference (host[:port][/path], without tag and digest), with notices, or why
// they are not known.
func (s *Scanner) choose(r *Registry, config *dockerauth.Config, rules dockerauth.Rules, reference string) dockerauth.Choice {
	choice := config.Lookup(rules, reference)
	switch {
	case choice.Rejected != "":
		r.unresolved(UnresolvedIncomplete, "%s cannot use the file of credentials. %s", rules, choice.Rejected)
	case choice.Helper != "":
		s.useHelper(r, rules, &choice)
	case len(choice.Entries) == 0:
		r.notice(NoticeNoMatchingCredentials, "No entry matches %s: %s connects without credentials.", dockerauth.Show(reference), rules)
	case choice.Ambiguous:
		r.unresolved(UnresolvedAmbiguous, "%s", ambiguousDetail(rules, &choice))
	default:
		s.useFirst(r, rules, choice.Entries)
	}
	return choice
}

func ambiguousDetail(rules dockerauth.Rules, choice *dockerauth.Choice) string {
	return fmt.Sprintf("%d entries with different credentials match, such as %q and %q. %s uses any one of them, by chance. Remove all but one.",
		len(choice.Entries), dockerauth.Show(choice.Entries[0].Key), dockerauth.Show(choice.Entries[1].Key), rules)
}

func (s *Scanner) useFirst(r *Registry, rules dockerauth.Rules, entries []*dockerauth.Entry) {
	first := entries[0]
	if len(entries) > 1 {
		r.notice(NoticeAmbiguousCredentials, "%d entries match. %s tries %q first, and the others if it is rejected.", len(entries), rules, dockerauth.Show(first.Key))
	}
	switch {
	case first.Problem == string(ProblemNoPassword) && rules == dockerauth.Podman:
		r.notice(NoticeNoMatchingCredentials, "%s %s", first.Message, consequence(rules, first))
	case first.Problem != "":
		r.unresolved(UnresolvedIncomplete, "%s %s", first.Message, consequence(rules, first))
	case first.Empty():
		r.notice(NoticeNoMatchingCredentials, "The entry %q is empty: %s connects without credentials.", dockerauth.Show(first.Key), rules)
	default:
		r.use(first.Credential, rules)
	}
}

// consequence returns what a consumer does that finds an entry with a problem.
func consequence(rules dockerauth.Rules, e *dockerauth.Entry) string {
	if rules == dockerauth.Podman && e.Problem == string(ProblemNoPassword) {
		return "podman connects without credentials."
	}
	return rules.String() + " fails for this registry."
}

// use sets the credentials of an entry. As docker does, a bearer token is preferred to an identity token, and that to a password.
func (r *Registry) use(c dockerauth.Credential, rules dockerauth.Rules) {
	auth := &regcheck.Auth{}
	switch {
	case c.RegistryToken != "":
		auth.Token = c.RegistryToken
	case c.IdentityToken != "":
		auth.Token = c.IdentityToken
	case c.Username == "":
		r.unresolved(UnresolvedIncomplete, "The entry has a password and no username.")
	case c.Password == "":
		r.unresolved(UnresolvedIncomplete, "The entry has a username and no password that %s uses.", rules)
	default:
		auth.Username, auth.Password = c.Username, c.Password
	}
	r.setAuth(auth)
}

// setAuth sets the credentials; TLS stays as it is.
func (r *Registry) setAuth(auth *regcheck.Auth) {
	if r.Definition.Auth != nil {
		auth.TLS = r.Definition.Auth.TLS
	}
	r.Definition.Auth = auth
}

// useHelper asks the credential helper of a choice, if that is allowed.
func (s *Scanner) useHelper(r *Registry, rules dockerauth.Rules, choice *dockerauth.Choice) {
	reason := UnresolvedCredentialHelper
	if choice.FromStore {
		reason = UnresolvedCredentialsStore
	}
	program := "docker-credential-" + choice.Helper
	ask := s.options.Helper
	if ask == nil || program != path.Base(program) {
		ask = func(string, string) (string, secret.String, error) { return "", "", ErrHelperNotAllowed }
	}
	username, password, err := ask(program, choice.HelperServer)
	switch {
	case errors.Is(err, ErrHelperNotAllowed):
		r.unresolved(reason, "The credentials are in %s, which was not started.", dockerauth.Show(program))
	case err != nil:
		r.unresolved(reason, "%s did not return credentials: %v.", dockerauth.Show(program), err)
	case username == "" && password == "":
		r.notice(NoticeNoMatchingCredentials, "%s has no credentials for %s: %s connects without any.", dockerauth.Show(program), dockerauth.Show(choice.HelperServer), rules)
	case username == "<token>":
		r.use(dockerauth.Credential{IdentityToken: password}, rules)
	default:
		r.use(dockerauth.Credential{Username: username, Password: password}, rules)
	}
}

// unresolved sets what is missing. The first reason stays.
func (r *Registry) unresolved(reason UnresolvedReason, format string, args ...any) {
	if r.Reason == "" {
		r.Reason, r.Detail = reason, Detail(fmt.Sprintf(format, args...))
	}
}

func (r *Registry) notice(code NoticeCode, format string, args ...any) {
	r.Notices = append(r.Notices, Notice{code, fmt.Sprintf(format, args...)})
}

// Location is where a consumer looks for credentials: a file, or an environment variable that has the text of one.
type Location struct {
	Path     string
	Variable string
	Format   Format
}

// Locations returns where a consumer looks for credentials on Linux, in this order. It uses the first location that has an entry for
// the registry. getenv returns an environment variable, home and uid are those of the user. Consumers whose credentials are in a
// cluster have no locations.
func Locations(consumer Consumer, getenv func(string) string, home string, uid int) []Location {
	first := func(candidates ...string) string { // the first whose variable is set; the last is always there
		for i := 0; i+1 < len(candidates); i += 2 {
			if value := getenv(candidates[i]); value != "" {
				return path.Join(value, candidates[i+1])
			}
		}
		return candidates[len(candidates)-1]
	}
	docker := Location{Path: first("DOCKER_CONFIG", "config.json", path.Join(home, ".docker/config.json")), Format: DockerConfig}
	switch consumer {
	case Docker:
		if getenv("DOCKER_AUTH_CONFIG") == "" {
			return []Location{docker}
		}
		return []Location{{Variable: "DOCKER_AUTH_CONFIG", Format: DockerAuthConfigEnv}, docker}
	case Helm:
		return []Location{{Path: first("HELM_REGISTRY_CONFIG", "", "HELM_CONFIG_HOME", "registry/config.json", "XDG_CONFIG_HOME", "helm/registry/config.json",
			path.Join(home, ".config/helm/registry/config.json")), Format: DockerConfig}, docker}
	case Podman:
		if file := getenv("REGISTRY_AUTH_FILE"); file != "" {
			return []Location{{Path: file, Format: ContainersAuth}}
		}
		return []Location{
			{Path: first("XDG_RUNTIME_DIR", "containers/auth.json", fmt.Sprintf("/run/containers/%d/auth.json", uid)), Format: ContainersAuth},
			{Path: first("XDG_CONFIG_HOME", "containers/auth.json", path.Join(home, ".config/containers/auth.json")), Format: ContainersAuth},
			docker, {Path: path.Join(home, ".dockercfg"), Format: Dockercfg}}
	case Kubelet:
		return []Location{
			{Path: "/var/lib/kubelet/config.json", Format: DockerConfig}, {Path: path.Join(home, ".docker/config.json"), Format: DockerConfig},
			{Path: "/.docker/config.json", Format: DockerConfig}, {Path: "/var/lib/kubelet/.dockercfg", Format: Dockercfg},
			{Path: path.Join(home, ".dockercfg"), Format: Dockercfg}, {Path: "/.dockercfg", Format: Dockercfg}}
	}
	return nil
}
