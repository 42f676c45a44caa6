// Package docker reads docker's and podman's files of credentials, which other files contain, and chooses among their entries as the
// consumer does.
package docker

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// Formats reads docker's and podman's files of credentials. They have the same shape: names distinguish them, and otherwise a
// file is docker's.
var Formats = []scanner.Reader{
	format(model.ContainersAuth, isContainersAuth, dockerKeys, "containers/auth.json"),
	format(model.DockerAuthConfigEnv, isNamed("DOCKER_AUTH_CONFIG"), dockerKeys, "DOCKER_AUTH_CONFIG"),
	format(model.DockerConfig, isDockerConfig, dockerKeys, ".docker/config.json", "kubelet/config.json", ".dockerconfigjson"),
	format(model.Dockercfg, isDockercfg, []string{"auth", "password"}, ".dockercfg"),
}

func format(name model.Format, is func(*scanner.File) bool, keys []string, files ...string) scanner.Reader {
	return scanner.Reader{Name: name, Names: files, Is: is, Keys: keys, Read: readerOfCredentials(name)}
}

// isNamed recognizes a docker config of this name.
func isNamed(name string) func(*scanner.File) bool {
	return func(f *scanner.File) bool { return path.Base(f.Name) == name && isDockerConfig(f) }
}

// isContainersAuth recognizes auth.json, but not one that a directory says to be docker's.
func isContainersAuth(f *scanner.File) bool {
	return isNamed("auth.json")(f) && strings.TrimPrefix(path.Base(path.Dir(f.Name)), ".") != "docker"
}

// dockerKeys are the members of which docker's configuration has at least one.
var dockerKeys = []string{"auths", "credHelpers", "credsStore"}

// isDockerConfig also recognizes files that consumers reject, such as those with a byte order mark.
func isDockerConfig(f *scanner.File) bool {
	if !f.LooksLikeJSON() {
		return false
	}
	root := f.Root()
	if root == nil {
		config, err := dockerauth.Parse(f.Data, false)
		return err == nil && (len(config.Entries(dockerauth.Docker)) > 0 || config.HasHelpers())
	}
	if root.Get("apiVersion") != nil || root.Get("kind") != nil {
		return false
	}
	return slices.ContainsFunc(root.Pairs(), func(member node.Pair) bool {
		return slices.ContainsFunc(dockerKeys, func(key string) bool { return strings.EqualFold(key, member.Key) })
	})
}

// isDockercfg reports whether the file is an object of entries, of which at least one has credentials.
func isDockercfg(f *scanner.File) bool {
	if !f.LooksLikeJSON() {
		return false
	}
	found := false
	for _, entry := range f.Root().Pairs() {
		if !entry.Value.IsObject() {
			return false
		}
		for _, member := range entry.Value.Pairs() {
			if !slices.Contains([]string{"auth", "email", "username", "password"}, member.Key) || !member.Value.IsText() {
				return false
			}
			found = found || member.Key == "auth" || member.Key == "password"
		}
	}
	return found
}

// CredentialFile is a file of credentials in docker's format, or a value of another file that has one, such as a Secret.
type CredentialFile struct {
	Config   *dockerauth.Config
	Reader   model.Format
	Consumer model.Consumer
	Rules    dockerauth.Rules
	At       func(line int, key string) model.Source // place of an entry, by its line in the config
	Notices  []model.Notice                          // of every entry with a secret
	Cluster  bool                                    // whether a cluster uses it, from which other hosts are reached
}

// RulesOf returns by which rules a consumer chooses entries. containerd gets credentials from kubelet, and Argo CD runs Helm.
func RulesOf(consumer model.Consumer, format model.Format) dockerauth.Rules {
	switch consumer {
	case model.Podman:
		return dockerauth.Podman
	case model.Kubelet, model.Containerd:
		return dockerauth.Kubelet
	case model.Flux:
		return dockerauth.Keychain
	case model.Helm, model.ArgoCD:
		return dockerauth.ORAS
	default: // docker chooses by the format
	}
	switch format {
	case model.DockerAuthConfigEnv:
		return dockerauth.DockerEnv
	case model.GitLabCI:
		return dockerauth.GitLabRunner
	default:
		return dockerauth.Docker
	}
}

// NewCredentialFile parses a file of credentials.
func NewCredentialFile(s *scanner.Scanner, data []byte, format model.Format, at func(line int, key string) model.Source) (CredentialFile,
	error) {
	config, err := dockerauth.Parse(data, format == model.Dockercfg)
	consumer := s.Consumer(ConsumerOf(format))
	return CredentialFile{Config: config, Reader: format, Consumer: consumer, Rules: RulesOf(consumer, format), At: at}, err
}

func readerOfCredentials(format model.Format) func(*scanner.File) {
	return func(f *scanner.File) {
		f.DropNodes()
		c, err := NewCredentialFile(f.Scanner, f.Data, format, func(line int, key string) model.Source {
			return f.At(line, dockerauth.Show(key))
		})
		if err != nil {
			f.Scanner.Problem(f.At(0, ""), model.ProblemNotJSON, "The file is not valid JSON: %v.", err)
			return
		}
		c.Config = c.Config.Only(c.Rules)
		c.Add(f.Scanner)
	}
}

// Add adds every entry as a definition. Of a file that its consumer rejects there are problems only, since none of its
// credentials is ever used.
func (c CredentialFile) Add(s *scanner.Scanner) {
	if c.Config.Incomplete {
		s.Problem(c.At(0, ""), model.ProblemWrongShape, "There are more entries than %d; the others were not read.",
			len(c.Config.Entries(c.Rules))+len(c.Config.Helpers))
	}
	if rejected := c.Config.Rejected(c.Rules); rejected != nil {
		c.addRejected(s, rejected)
		return
	}
	l := lister{scanner: s, CredentialFile: c, choices: map[string]*dockerauth.Choice{}, helpers: map[string]string{}}
	for _, e := range c.Config.Entries(c.Rules) {
		l.add(e)
	}
	l.addHelpers()
}

func (c CredentialFile) addRejected(s *scanner.Scanner, rejected *dockerauth.Rejection) {
	named := false
	for _, e := range c.Config.Entries(c.Rules) {
		if e.Problem != "" {
			c.addUnusable(s, e, c.Rules.String()+" rejects the whole file for this.")
			named = named || e.Line == rejected.Line
		}
	}
	if !named {
		s.Problem(c.At(rejected.Line, ""), model.ProblemReason(rejected.Problem), "%s %s rejects the whole file for this.",
			rejected.Message, c.Rules)
	}
}

// addUnusable reports an entry that cannot be used, or skips it if its key shows that the file is a template of the consumer's.
func (c CredentialFile) addUnusable(s *scanner.Scanner, e *dockerauth.Entry, consequence string) {
	at := c.At(e.Line, e.Key)
	if scanner.IsTemplate(e.Key) {
		s.Skip(at, model.SkipTemplate, "The key %q is a template or an expression.", dockerauth.Show(e.Key))
		return
	}
	s.Problem(at, model.ProblemReason(e.Problem), "%s %s", e.Message, consequence)
}

// lister adds the entries of one file.
type lister struct {
	scanner *scanner.Scanner
	CredentialFile
	choices map[string]*dockerauth.Choice // by reference, of several entries
	helpers map[string]string             // that were added, by reference
}

func (l *lister) add(e *dockerauth.Entry) {
	at := l.At(e.Line, e.Key)
	if l.notARegistry(e, at) {
		return
	}
	key := dockerauth.ReadKey(l.Rules, e.Key, l.Config.Legacy())
	r := model.Registry{Sources: []model.Source{at}, Format: l.Reader, Consumer: l.Consumer}
	r.Definition = regcheck.Definition{Endpoint: scanner.EndpointOf(key.Host), BaseContentPath: strings.Trim(key.Path, "/")}
	switch {
	case key.Host == "":
		l.scanner.Skip(at, model.SkipNoHost, "The key %q has no host.", dockerauth.Show(e.Key))
		return
	case isPattern(key.Host) && !l.matchesPatterns():
		l.scanner.Skip(at, model.SkipWildcard, "%s has no patterns, and never uses the key %q.", l.Rules, dockerauth.Show(e.Key))
		return
	case isPattern(key.Host):
		l.scanner.Skip(at, model.SkipWildcard, "The key %q is a pattern for several registries. Check a reference that it matches.",
			dockerauth.Show(e.Key))
		return
	case r.Definition.Registry() == "":
		l.scanner.Skip(at, model.SkipNotARegistry, "The key %q is not the host of a registry.", dockerauth.Show(e.Key))
		return
	}
	l.addKeyNotices(&r, e, key)
	if l.Cluster {
		scanner.ReachedFrom(&r, key.Host)
	}
	if l.setCredentials(&r, e, key) {
		l.scanner.Found(r)
	}
}

// isPattern reports whether a host stands for several. An IPv6 address has brackets too.
func isPattern(host string) bool {
	return strings.ContainsAny(host, "*?") || strings.Contains(host, "[") && !strings.HasPrefix(host, "[")
}

// notARegistry skips entries that are not for a registry, and reports those that cannot be used.
func (l *lister) notARegistry(e *dockerauth.Entry, at model.Source) bool {
	switch {
	case strings.HasSuffix(e.Key, "/access-token"), strings.HasSuffix(e.Key, "/refresh-token"):
		l.scanner.Skip(at, model.SkipMarker, "docker stores a token of its login to Docker Hub here.")
	case strings.HasSuffix(e.Key, "hub-tool-token"), e.Key == "cloud.openshift.com":
		l.scanner.Skip(at, model.SkipNotARegistry, "The entry %q is for another service than a registry.", dockerauth.Show(e.Key))
	case e.Problem != "", scanner.IsTemplate(e.Key):
		l.addUnusable(l.scanner, e, consequence(l.Rules, e))
	default:
		return false
	}
	return true
}

func (l *lister) addKeyNotices(r *model.Registry, e *dockerauth.Entry, key dockerauth.Key) {
	if key.Scheme == "http" {
		scanner.AddNotice(r, model.NoticeSchemeInKeyIgnored,
			"%s ignores the http:// of the key: it does not make the connection plain HTTP.",
			l.Rules)
	}
	if key.IgnoredPath != "" {
		scanner.AddNotice(r, model.NoticeIgnoredField, "%s ignores the path %q of the key, and uses the credentials for the whole host.",
			l.Rules, dockerauth.Show(key.IgnoredPath))
	}
	if l.matchesPatterns() && strings.Contains(key.Reference, "/") && !strings.HasSuffix(e.Key, "/") {
		scanner.AddNotice(r, model.NoticePrefixWithoutBoundary,
			"The path of the key is a bare prefix: %s sends the credentials for %s-other too. End the key of a project with a /.", l.Rules,
			dockerauth.Show(key.Reference))
	}
	if e.Repeated {
		scanner.AddNotice(r, model.NoticeConflictingEntries, "The key occurs more than once; %s uses the last.", l.Rules)
	}
	for _, member := range e.Ignored {
		scanner.AddNotice(r, model.NoticeIgnoredField, "%s ignores %s.", l.Rules, member)
	}
}

// setCredentials sets what the consumer would use for the host of an entry. It returns false if there is nothing to check.
func (l *lister) setCredentials(r *model.Registry, e *dockerauth.Entry, key dockerauth.Key) bool {
	choice := l.choice(e, key.Reference)
	r.Steps = choice.Steps
	switch {
	case choice.Rejected != "":
		scanner.SetUnresolved(r, model.UnresolvedIncomplete, "%s cannot use the file for this registry. %s", l.Rules, choice.Rejected)
		return true
	case choice.Helper != "":
		if !e.Empty() {
			scanner.AddNotice(r, model.NoticeShadowedCredentials,
				"%s uses a credential helper for this registry; the credentials of this entry are never sent.", l.Rules)
		}
		useHelper(l.scanner, r, l.Rules, choice)
		l.helpers[key.Reference] = choice.Helper
		return true
	case choice.Ambiguous && choice.Has(e):
		scanner.SetUnresolved(r, model.UnresolvedAmbiguous, "%s", ambiguousDetail(l.Rules, choice))
		return true
	case e.Empty():
		l.scanner.Skip(r.Sources[0], model.SkipEmptyEntry, "The entry %q has no credentials%s.", dockerauth.Show(e.Key), l.whyEmpty(e))
		return false
	case choice.Has(e):
	case len(choice.Entries) > 0:
		l.scanner.Skip(r.Sources[0], model.SkipShadowed, "%s uses the entry %q instead of this one.", l.Rules,
			dockerauth.Show(choice.Entries[0].Key))
		return false
	default:
		scanner.AddNotice(r, model.NoticeNotUsedByConsumer, "%s never uses the key %q.%s", l.Rules, dockerauth.Show(e.Key), hubHint(l.Rules,
			key.Host))
	}
	Use(r, e.Credential, l.Rules)
	r.Notices = append(r.Notices, l.Notices...)
	return true
}

// matchesPatterns reports whether keys are kubelet's patterns, and helpers are ignored.
func (c CredentialFile) matchesPatterns() bool {
	return c.Rules == dockerauth.Kubelet || c.Rules == dockerauth.Keychain
}

// hubHint names the key for Docker Hub, for which docker does not use docker.io.
func hubHint(rules dockerauth.Rules, host string) string {
	if scanner.EndpointOf(host) == scanner.DockerHub && rules != dockerauth.Podman {
		return " For Docker Hub, use the key " + dockerauth.HubKey + "."
	}
	return ""
}

// whyEmpty explains empty entries to users of kubelet and podman, which do not read everything that docker does.
func (l *lister) whyEmpty(e *dockerauth.Entry) string {
	if len(e.Ignored) > 0 {
		return " that " + l.Rules.String() + " uses: it ignores " + strings.Join(e.Ignored, " and ")
	}
	if l.Config.Store != "" {
		return "; they are in the credentials store " + dockerauth.Show(l.Config.Store) + ", which " + l.Rules.String() + " does not use"
	}
	return ""
}

// choice returns what the consumer uses for a reference of an entry. All entries whose pattern matches are used for some reference.
func (l *lister) choice(e *dockerauth.Entry, reference string) *dockerauth.Choice {
	if l.matchesPatterns() {
		steps := []string{fmt.Sprintf("%s uses the entry for every reference that its key matches.", l.Rules)}
		return &dockerauth.Choice{Entries: []*dockerauth.Entry{e}, Steps: steps}
	}
	choice := l.choices[reference]
	if choice == nil {
		l.scanner.CheckLimits()
		found := l.Config.Lookup(l.Rules, reference)
		if !l.scanner.Options.Explain {
			found.Steps = nil
		}
		if choice = &found; len(choice.Entries) > 1 { // others are cheap, and as many as entries
			l.choices[reference] = choice
		}
	}
	return choice
}

// addHelpers adds the helpers that no entry has shown, and reports a store whose registries are not known.
func (l *lister) addHelpers() {
	entries := l.Config.Entries(l.Rules)
	for _, h := range l.Config.Helpers {
		key := dockerauth.ReadKey(l.Rules, h.Host, false)
		if h.Name != "" && l.helpers[key.Reference] != h.Name {
			l.addHelper(h, key)
		}
	}
	if l.Config.Store != "" && len(entries) == 0 {
		l.scanner.Skip(l.At(l.Config.StoreLine, ""), model.SkipNoHost,
			"The file does not name the registries whose credentials are in the store %q.", dockerauth.Show(l.Config.Store))
	}
}

func (l *lister) addHelper(h dockerauth.Helper, key dockerauth.Key) {
	at := l.At(h.Line, h.Host)
	r := model.Registry{Sources: []model.Source{at}, Format: l.Reader, Consumer: l.Consumer,
		Definition: regcheck.Definition{Endpoint: scanner.EndpointOf(key.Host)}}
	if r.Definition.Registry() == "" {
		l.scanner.Skip(at, model.SkipNotARegistry, "The credential helper %q is for %q, which is not the host of a registry.",
			dockerauth.Show(h.Name), dockerauth.Show(h.Host))
		return
	}
	program := "docker-credential-" + dockerauth.Show(h.Name)
	if l.matchesPatterns() {
		scanner.AddNotice(&r, model.NoticeNotUsedByConsumer, "%s ignores credHelpers, and connects without credentials.", l.Rules)
		scanner.SetUnresolved(&r, model.UnresolvedCredentialHelper, "The credentials are in %s, which %s never starts.", program, l.Rules)
	} else if choice := l.choice(nil, key.Reference); choice.Helper == h.Name {
		r.Steps = choice.Steps
		useHelper(l.scanner, &r, l.Rules, choice)
	} else if choice.Helper != "" {
		l.scanner.Skip(at, model.SkipShadowed, "%s asks docker-credential-%s for this registry instead of %s.%s", l.Rules,
			dockerauth.Show(choice.Helper), program, hubHint(l.Rules, key.Host))
		return
	} else {
		scanner.AddNotice(&r, model.NoticeNotUsedByConsumer, "%s does not use the credential helper of %q.%s", l.Rules,
			dockerauth.Show(h.Host), hubHint(l.Rules, key.Host))
		scanner.SetUnresolved(&r, model.UnresolvedCredentialHelper, "The credentials are in %s.", program)
	}
	l.scanner.Found(r)
}
