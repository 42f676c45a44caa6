package definitions

import (
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/regcheck"
)

// dockerFormats reads docker's and podman's files of credentials. They have the same shape: names distinguish them, and otherwise a
// file is docker's.
var dockerFormats = []format{
	{ContainersAuth, func(f *file) bool { return path.Base(f.name) == "auth.json" && f.isDockerConfig() }, readerOfCredentials(ContainersAuth)},
	{DockerAuthConfigEnv, func(f *file) bool { return path.Base(f.name) == "DOCKER_AUTH_CONFIG" && f.isDockerConfig() }, readerOfCredentials(DockerAuthConfigEnv)},
	{DockerConfig, (*file).isDockerConfig, readerOfCredentials(DockerConfig)},
	{Dockercfg, (*file).isDockercfg, readerOfCredentials(Dockercfg)},
}

// isDockerConfig also recognizes files that consumers reject, such as those with a byte order mark.
func (f *file) isDockerConfig() bool {
	if !f.looksLikeJSON() {
		return false
	}
	root := f.root()
	if root == nil {
		config, err := dockerauth.Parse(f.data, false)
		return err == nil && (len(config.Entries(dockerauth.Docker)) > 0 || len(config.Helpers) > 0 || config.Store != "")
	}
	if root.Get("apiVersion") != nil || root.Get("kind") != nil {
		return false
	}
	return slices.ContainsFunc(root.Pairs(), func(member node.Pair) bool {
		return slices.Contains([]string{"auths", "credhelpers", "credsstore"}, strings.ToLower(member.Key))
	})
}

// isDockercfg reports whether the file is an object of entries, of which at least one has credentials.
func (f *file) isDockercfg() bool {
	if !f.looksLikeJSON() {
		return false
	}
	found := false
	for _, entry := range f.root().Pairs() {
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

// credentialFile is a file of credentials in docker's format, or a value of another file that has one, such as a Secret.
type credentialFile struct {
	config   *dockerauth.Config
	format   Format
	consumer Consumer
	rules    dockerauth.Rules
	at       func(line int, key string) Source // place of an entry, by its line in the config
	notices  []Notice                          // of every entry with a secret
	lookups  int                               // comparisons of entries with references, of which there may be many
}

// consumerOf returns who uses a file of credentials unless the options name a consumer.
func consumerOf(format Format) Consumer {
	switch format {
	case ContainersAuth, Dockercfg: // docker does not read .dockercfg since version 1.7
		return Podman
	}
	return Docker
}

// rulesOf returns by which rules a consumer chooses entries. containerd gets credentials from kubelet, and Argo CD runs Helm.
func rulesOf(consumer Consumer, format Format) dockerauth.Rules {
	switch consumer {
	case Podman:
		return dockerauth.Podman
	case Kubelet, Containerd:
		return dockerauth.Kubelet
	case Flux:
		return dockerauth.Keychain
	case Helm, ArgoCD:
		return dockerauth.ORAS
	}
	switch format {
	case DockerAuthConfigEnv:
		return dockerauth.DockerEnv
	case GitLabCI:
		return dockerauth.GitLabRunner
	}
	return dockerauth.Docker
}

// newCredentialFile parses a file of credentials.
func (s *Scanner) newCredentialFile(data []byte, format Format, at func(line int, key string) Source) (credentialFile, error) {
	config, err := dockerauth.Parse(data, format == Dockercfg)
	consumer := s.consumer(consumerOf(format))
	return credentialFile{config: config, format: format, consumer: consumer, rules: rulesOf(consumer, format), at: at}, err
}

func readerOfCredentials(format Format) func(*file) {
	return func(f *file) {
		c, err := f.scanner.newCredentialFile(f.data, format, func(line int, key string) Source { return f.at(line, dockerauth.Show(key)) })
		if err != nil {
			f.scanner.problem(f.at(0, ""), ProblemNotJSON, "The file is not valid JSON: %v.", err)
			return
		}
		f.scanner.addCredentials(c)
	}
}

// addCredentials adds every entry as a definition. Of a file that its consumer rejects there are problems only, since none of its
// credentials is ever used.
func (s *Scanner) addCredentials(c credentialFile) {
	if rejected := c.config.Rejected(c.rules); rejected != nil {
		s.addRejected(c, rejected)
		return
	}
	l := lister{scanner: s, credentialFile: c, choices: map[string]*listedChoice{}}
	for _, e := range c.config.Entries(c.rules) {
		l.add(e)
	}
	l.addHelpers()
}

func (s *Scanner) addRejected(c credentialFile, rejected *dockerauth.Rejection) {
	named := false
	for _, e := range c.config.Entries(c.rules) {
		if e.Problem != "" {
			s.problem(c.at(e.Line, e.Key), ProblemReason(e.Problem), "%s %s rejects the whole file for this.", e.Message, c.rules)
			named = named || e.Line == rejected.Line
		}
	}
	if !named {
		s.problem(c.at(rejected.Line, ""), ProblemReason(rejected.Problem), "%s %s rejects the whole file for this.", rejected.Message, c.rules)
	}
}

// lister adds the entries of one file.
type lister struct {
	scanner *Scanner
	credentialFile
	choices map[string]*listedChoice // by reference
}

func (l *lister) add(e *dockerauth.Entry) {
	at := l.at(e.Line, e.Key)
	if l.notARegistry(e, at) {
		return
	}
	key := dockerauth.ReadKey(l.rules, e.Key, l.config.Legacy())
	r := Registry{Sources: []Source{at}, Format: l.format, Consumer: l.consumer}
	r.Definition = regcheck.Definition{Endpoint: endpointOf(key.Host), BaseContentPath: strings.Trim(key.Path, "/")}
	switch {
	case key.Host == "":
		l.scanner.skip(at, SkipNoHost, "The key %q has no host.", dockerauth.Show(e.Key))
		return
	case strings.ContainsAny(key.Host, "*?[") && !l.matchesPatterns():
		l.scanner.skip(at, SkipWildcard, "%s has no patterns, and never uses the key %q.", l.rules, dockerauth.Show(e.Key))
		return
	case strings.ContainsAny(key.Host, "*?["):
		l.scanner.skip(at, SkipWildcard, "The key %q is a pattern for several registries. Check a reference that it matches.", dockerauth.Show(e.Key))
		return
	case r.Definition.Registry() == "":
		l.scanner.skip(at, SkipNotARegistry, "The key %q is not the host of a registry.", dockerauth.Show(e.Key))
		return
	}
	l.addKeyNotices(&r, e, key)
	if l.setCredentials(&r, e, key) {
		l.scanner.found(r)
	}
}

// notARegistry skips entries that are not for a registry, and reports those that cannot be used.
func (l *lister) notARegistry(e *dockerauth.Entry, at Source) bool {
	switch {
	case strings.HasSuffix(e.Key, "/access-token"), strings.HasSuffix(e.Key, "/refresh-token"):
		l.scanner.skip(at, SkipMarker, "docker stores a token of its login to Docker Hub here.")
	case strings.HasSuffix(e.Key, "hub-tool-token"), e.Key == "cloud.openshift.com":
		l.scanner.skip(at, SkipNotARegistry, "The entry %q is for another service than a registry.", dockerauth.Show(e.Key))
	case e.Problem != "":
		l.scanner.problem(at, ProblemReason(e.Problem), "%s %s", e.Message, consequence(l.rules, e))
	default:
		return false
	}
	return true
}

func (l *lister) addKeyNotices(r *Registry, e *dockerauth.Entry, key dockerauth.Key) {
	if key.Scheme == "http" {
		r.notice(NoticeSchemeInKeyIgnored, "%s ignores the http:// of the key: it does not make the connection plain HTTP.", l.rules)
	}
	if key.IgnoredPath != "" {
		r.notice(NoticeIgnoredField, "%s ignores the path %q of the key, and uses the credentials for the whole host.", l.rules, dockerauth.Show(key.IgnoredPath))
	}
	if e.Repeated {
		r.notice(NoticeConflictingEntries, "The key occurs more than once; %s uses the last.", l.rules)
	}
	for _, member := range e.Ignored {
		r.notice(NoticeIgnoredField, "%s ignores %s.", l.rules, member)
	}
}

// setCredentials sets what the consumer would use for the host of an entry. It returns false if there is nothing to check.
func (l *lister) setCredentials(r *Registry, e *dockerauth.Entry, key dockerauth.Key) bool {
	choice := l.choice(e, key.Reference)
	switch {
	case choice.Rejected != "":
		r.unresolved(UnresolvedIncomplete, "%s cannot use the file for this registry. %s", l.rules, choice.Rejected)
		return true
	case choice.Helper != "":
		if !e.Empty() {
			r.notice(NoticeShadowedCredentials, "%s uses a credential helper for this registry; the credentials of this entry are never sent.", l.rules)
		}
		l.scanner.useHelper(r, l.rules, &choice.Choice)
		return true
	case choice.Ambiguous && choice.has[e]:
		r.unresolved(UnresolvedAmbiguous, "%s", ambiguousDetail(l.rules, &choice.Choice))
		return true
	case e.Empty():
		l.scanner.skip(r.Sources[0], SkipEmptyEntry, "The entry %q has no credentials%s.", dockerauth.Show(e.Key), l.whyEmpty(e))
		return false
	case choice.has[e]:
	case len(choice.Entries) > 0:
		r.notice(NoticeShadowedCredentials, "%s uses the entry %q instead of this one.", l.rules, dockerauth.Show(choice.Entries[0].Key))
	default:
		r.notice(NoticeNotUsedByConsumer, "%s never uses the key %q.%s", l.rules, dockerauth.Show(e.Key), hubHint(l.rules, key.Host))
	}
	r.use(e.Credential, l.rules)
	r.Notices = append(r.Notices, l.notices...)
	return true
}

// matchesPatterns reports whether keys are kubelet's patterns, and helpers are ignored.
func (c credentialFile) matchesPatterns() bool {
	return c.rules == dockerauth.Kubelet || c.rules == dockerauth.Keychain
}

// hubHint names the key for Docker Hub, for which docker does not use docker.io.
func hubHint(rules dockerauth.Rules, host string) string {
	if endpointOf(host) == dockerHub && rules != dockerauth.Podman {
		return " For Docker Hub, use the key " + dockerauth.HubKey + "."
	}
	return ""
}

// whyEmpty explains empty entries to users of kubelet and podman, which do not read everything that docker does.
func (l *lister) whyEmpty(e *dockerauth.Entry) string {
	if len(e.Ignored) > 0 {
		return " that " + l.rules.String() + " uses: it ignores " + strings.Join(e.Ignored, " and ")
	}
	if l.config.Store != "" {
		return "; they are in the credentials store " + dockerauth.Show(l.config.Store) + ", which " + l.rules.String() + " does not use"
	}
	return ""
}

// listedChoice is a choice with its entries as a set, since hostile files have many for one host.
type listedChoice struct {
	dockerauth.Choice
	has map[*dockerauth.Entry]bool
}

// choice returns what the consumer uses for a reference of an entry. All entries whose pattern matches are used for some reference.
func (l *lister) choice(e *dockerauth.Entry, reference string) *listedChoice {
	if l.matchesPatterns() {
		return &listedChoice{dockerauth.Choice{Entries: []*dockerauth.Entry{e}}, map[*dockerauth.Entry]bool{e: true}}
	}
	if l.choices[reference] == nil {
		choice := listedChoice{l.config.Lookup(l.rules, reference), map[*dockerauth.Entry]bool{}}
		for _, chosen := range choice.Entries {
			choice.has[chosen] = true
		}
		l.choices[reference] = &choice
	}
	return l.choices[reference]
}

// addHelpers adds the helpers that no entry has shown, and reports a store whose registries are not known.
func (l *lister) addHelpers() {
	entries := l.config.Entries(l.rules)
	for _, h := range l.config.Helpers {
		key := dockerauth.ReadKey(l.rules, h.Host, false)
		if listed := l.choices[key.Reference]; h.Name != "" && (listed == nil || listed.Helper != h.Name) {
			l.addHelper(h, key)
		}
	}
	if l.config.Store != "" && len(entries) == 0 {
		l.scanner.skip(l.at(l.config.StoreLine, ""), SkipNoHost, "The file does not name the registries whose credentials are in the store %q.", dockerauth.Show(l.config.Store))
	}
}

func (l *lister) addHelper(h dockerauth.Helper, key dockerauth.Key) {
	at := l.at(h.Line, h.Host)
	r := Registry{Sources: []Source{at}, Format: l.format, Consumer: l.consumer, Definition: regcheck.Definition{Endpoint: endpointOf(key.Host)}}
	if r.Definition.Registry() == "" {
		l.scanner.skip(at, SkipNotARegistry, "The credential helper %q is for %q, which is not the host of a registry.", dockerauth.Show(h.Name), dockerauth.Show(h.Host))
		return
	}
	program := "docker-credential-" + dockerauth.Show(h.Name)
	if l.matchesPatterns() {
		r.notice(NoticeNotUsedByConsumer, "%s ignores credHelpers, and connects without credentials.", l.rules)
		r.unresolved(UnresolvedCredentialHelper, "The credentials are in %s, which %s never starts.", program, l.rules)
	} else if choice := l.choice(nil, key.Reference); choice.Helper == h.Name {
		l.scanner.useHelper(&r, l.rules, &choice.Choice)
	} else {
		r.notice(NoticeNotUsedByConsumer, "%s does not use the credential helper of %q.%s", l.rules, dockerauth.Show(h.Host), hubHint(l.rules, key.Host))
		r.unresolved(UnresolvedCredentialHelper, "The credentials are in %s.", program)
	}
	l.scanner.found(r)
}
