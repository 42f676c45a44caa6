package docker

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// LookUp is described at definitions.Lookup.
func LookUp(name string, config []byte, reference string, o model.Options) (model.Registry, []string, error) {
	switch o.Format {
	case model.DockerConfig, model.DockerAuthConfigEnv, model.Dockercfg, model.ContainersAuth:
	default:
		return model.Registry{}, nil, fmt.Errorf("format %q has no entries to choose from; use docker-config, docker-auth-config-env, "+
			"dockercfg or containers-auth", o.Format)
	}
	s := scanner.New(o)
	c, err := NewCredentialFile(s, config, o.Format, func(line int, key string) model.Source {
		return model.Source{File: name, Line: line, Object: dockerauth.Show(key)}
	})
	if err != nil {
		return model.Registry{}, nil, fmt.Errorf("%s is not valid JSON: %w", name, err)
	}
	host, content := splitWritten(reference)
	used := dockerauth.Reference(c.Rules, host, content)
	_, content, _ = strings.Cut(used, "/")
	r := model.Registry{Sources: []model.Source{{File: name}}, Format: c.Reader, Consumer: c.Consumer}
	r.Definition = regcheck.Definition{Endpoint: scanner.EndpointOf(host), BaseContentPath: content}
	choice := Choose(s, &r, c.Config, c.Rules, used)
	if len(choice.Entries) > 0 {
		r.Sources = []model.Source{c.At(choice.Entries[0].Line, choice.Entries[0].Key)}
	}
	s.Found(r)
	result := s.Result()
	if len(result.Registries) == 0 { // its host is a placeholder
		return model.Registry{}, nil, fmt.Errorf("the reference %s has no host of a registry", dockerauth.Show(reference))
	}
	return result.Registries[0], choice.Steps, nil
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
	host, path = scanner.SplitPrefix(reference)
	return host, strings.Trim(path, "/")
}

// Choose sets the credentials that a consumer uses for a reference (host[:port][/path], without tag and digest), with notices, or why
// they are not known.
func Choose(s *scanner.Scanner, r *model.Registry, config *dockerauth.Config, rules dockerauth.Rules, reference string) dockerauth.Choice {
	s.CheckLimits()
	choice := config.Lookup(rules, reference)
	r.Steps = choice.Steps
	switch {
	case choice.Rejected != "":
		scanner.SetUnresolved(r, model.UnresolvedIncomplete, "%s cannot use the file of credentials. %s", rules, choice.Rejected)
	case choice.Helper != "":
		useHelper(s, r, rules, &choice)
	case len(choice.Entries) == 0:
		scanner.AddNotice(r, model.NoticeNoMatchingCredentials, "No entry matches %s: %s connects without credentials.",
			dockerauth.Show(reference), rules)
	case choice.Ambiguous:
		scanner.SetUnresolved(r, model.UnresolvedAmbiguous, "%s", ambiguousDetail(rules, &choice))
	default:
		UseFirst(r, rules, choice.Entries[0], len(choice.Entries))
	}
	return choice
}

func ambiguousDetail(rules dockerauth.Rules, choice *dockerauth.Choice) string {
	return fmt.Sprintf("%d entries with different credentials match, such as %q and %q. %s uses any one of them, by chance. Remove all "+
		"but one.", len(choice.Entries), dockerauth.Show(choice.Entries[0].Key), dockerauth.Show(choice.Entries[1].Key), rules)
}

// UseFirst sets the first of the entries that a consumer tries, and notes that there are others. count is the number of all.
func UseFirst(r *model.Registry, rules dockerauth.Rules, first *dockerauth.Entry, count int) {
	if len(r.Steps) == 0 {
		r.Steps = []string{fmt.Sprintf("The key %q matches.", dockerauth.Show(first.Key))}
	}
	if count > 1 {
		scanner.AddNotice(r, model.NoticeAmbiguousCredentials, "%d entries match. %s tries %q first, and the others if it is rejected.",
			count, rules, dockerauth.Show(first.Key))
	}
	switch {
	case rules.Fails(first):
		scanner.SetUnresolved(r, model.UnresolvedIncomplete, "%s %s", first.Message, consequence(rules, first))
	case first.Problem != "":
		scanner.AddNotice(r, model.NoticeNoMatchingCredentials, "%s %s", first.Message, consequence(rules, first))
	case first.Empty():
		scanner.AddNotice(r, model.NoticeNoMatchingCredentials, "The entry %q is empty: %s connects without credentials.",
			dockerauth.Show(first.Key), rules)
	default:
		Use(r, first.Credential, rules)
	}
}

// consequence returns what a consumer does that finds an entry with a problem.
func consequence(rules dockerauth.Rules, e *dockerauth.Entry) string {
	if rules.Fails(e) {
		return rules.String() + " fails for this registry."
	}
	return rules.String() + " connects without credentials."
}

// Use sets the credentials of an entry. As docker does, a bearer token is preferred to an identity token, and that to a password.
func Use(r *model.Registry, c dockerauth.Credential, rules dockerauth.Rules) {
	auth := &regcheck.Auth{}
	switch {
	case c.RegistryToken != "":
		auth.Token = c.RegistryToken
	case c.IdentityToken != "":
		auth.Token = c.IdentityToken
	case c.Username == "":
		scanner.SetUnresolved(r, model.UnresolvedIncomplete, "The entry has a password and no username.")
	case c.Password == "":
		scanner.SetUnresolved(r, model.UnresolvedIncomplete, "The entry has a username and no password that %s uses.", rules)
	default:
		auth.Username, auth.Password = c.Username, c.Password
	}
	scanner.SetAuth(r, auth)
}

// useHelper asks the credential helper of a choice, if that is allowed.
func useHelper(s *scanner.Scanner, r *model.Registry, rules dockerauth.Rules, choice *dockerauth.Choice) {
	reason := model.UnresolvedCredentialHelper
	if choice.FromStore {
		reason = model.UnresolvedCredentialsStore
	}
	program := "docker-credential-" + choice.Helper
	ask := s.Options.Helper
	if ask == nil || program != path.Base(program) {
		ask = func(string, string) (string, secret.String, error) { return "", "", model.ErrHelperNotAllowed }
	}
	username, password, err := ask(program, choice.HelperServer)
	switch {
	case errors.Is(err, model.ErrHelperNotAllowed):
		scanner.SetUnresolved(r, reason, "The credentials are in %s, which was not started.", dockerauth.Show(program))
	case err != nil:
		scanner.SetUnresolved(r, reason, "%s did not return credentials: %v.", dockerauth.Show(program), err)
	case username == "" && password == "":
		scanner.AddNotice(r, model.NoticeNoMatchingCredentials, "%s has no credentials for %s: %s connects without any.",
			dockerauth.Show(program), dockerauth.Show(choice.HelperServer), rules)
	case username == "<token>":
		Use(r, dockerauth.Credential{IdentityToken: password}, rules)
	default:
		Use(r, dockerauth.Credential{Username: username, Password: password}, rules)
	}
}
