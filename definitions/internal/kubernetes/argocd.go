package kubernetes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/argorepo"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// argoKinds has what resolves the objects of Argo CD.
var argoKinds = map[string]resolver{
	"Secret":                     resolveArgoSecret,
	"ConfigMap":                  resolveUpdaterConfig,
	updaterFile:                  resolveUpdaterFile,
	bitnamiSecret:                resolveArgoUnreadable,
	externalSecret:               resolveArgoUnreadable,
	"argoproj.io/Application":    resolveApplication,
	"argoproj.io/ApplicationSet": resolveApplicationSet,
}

// argoSecrets is what the Secrets of Argo CD have.
type argoSecrets struct {
	readers, writers argorepo.Set
	of               map[*argorepo.Repository]*argoSecret
	bySecret         map[*object]*argoSecret
	namespaces       map[string]bool
	certificates     argorepo.Index[*certificateText] // by host
	unreadable       *gap                             // Secrets exist whose URL is not known
}

// certificateText is a value of the ConfigMap argocd-tls-certs-cm.
type certificateText struct {
	text   string
	blocks *string // its certificates, nil until they are needed
}

// Same reports whether the texts are the same.
func (t *certificateText) Same(other *certificateText) bool { return t.text == other.text }

func (t *certificateText) pem() string {
	if t.blocks == nil {
		certificates, _ := scanner.PemBlocks([]byte(t.text))
		t.blocks = &certificates
	}
	return *t.blocks
}

// argoSecret is a Secret with a repository or a credential template.
type argoSecret struct {
	argorepo.Repository
	o        *object
	template bool
	write    bool
	gap      *gap   // why a credential is not known
	urlGap   *gap   // why the URL is not known
	wrong    string // the key for which Argo CD rejects the Secret
}

// argoLabel returns the label by which Argo CD finds its Secrets, for a Secret and what creates one.
func (o *object) argoLabel() string {
	for _, path := range [][]string{{"metadata"}, {"spec", "template", "metadata"}, {"spec", "target", "template", "metadata"}} {
		if label := o.node.Get(path...).Get("labels", "argocd.argoproj.io/secret-type").Text(); label != "" {
			return label
		}
	}
	return ""
}

// argoCD returns what the Secrets of Argo CD have, which are read once.
func (c *cluster) argoCD() *argoSecrets {
	if c.argo != nil {
		return c.argo
	}
	c.argo = &argoSecrets{of: map[*argorepo.Repository]*argoSecret{}, bySecret: map[*object]*argoSecret{}, namespaces: map[string]bool{}}
	for _, o := range c.objects {
		switch label := o.argoLabel(); {
		case o.kind == "ConfigMap" && o.name == "argocd-tls-certs-cm":
			for _, p := range o.node.Get("data").Pairs() {
				c.argo.certificates.Add(c.argo.place(o), p.Key, &certificateText{text: p.Value.Text()})
			}
		case !scanner.IsOneOf(label, "repository", "repo-creds", "repository-write", "repo-write-creds"):
		case o.kind == "Secret":
			c.argo.add(readArgoSecret(o, label))
		default:
			c.argo.unreadable = gapf(model.UnresolvedEncrypted, "A %s creates a Secret of Argo CD, which may have the credentials. %s", o.kind, readInstead)
		}
	}
	return c.argo
}

func (a *argoSecrets) add(r *argoSecret) {
	a.namespaces[r.o.namespace] = true
	a.of[&r.Repository], a.bySecret[r.o] = r, r
	set := a.set(r)
	switch {
	case r.urlGap != nil && r.urlGap.reason != model.UnresolvedIncomplete:
		a.unreadable = gapf(r.urlGap.reason, "The URL in the Secret %q is not known, which may have the credentials. %s", dockerauth.Show(r.o.name), readInstead)
	case r.urlGap != nil: // Kubernetes rejects the Secret
	case r.template:
		set.AddTemplate(&r.Repository, a.place(r.o))
	default:
		set.AddRepository(&r.Repository, a.place(r.o))
	}
}

func readArgoSecret(o *object, label string) *argoSecret {
	r := &argoSecret{o: o, template: strings.HasSuffix(label, "creds"), write: strings.Contains(label, "write")}
	address := func(key string) string { return r.text(key, &r.urlGap) }
	value := func(key string) string { return r.text(key, &r.gap) }
	r.URL, r.Type, r.Project = address("url"), address("type"), address("project")
	r.Username, r.Password = value("username"), secret.String(value("password"))
	r.Certificate, r.Key = value("tlsClientCertData"), secret.String(value("tlsClientCertKey"))
	r.Proxy, r.NoProxy = value("proxy"), value("noProxy")
	r.EnableOCI, r.ForceHTTP = r.boolean("enableOCI"), r.boolean("insecureOCIForceHttp")
	r.Insecure, r.AzureIdentity = r.boolean("insecure"), r.boolean("useAzureWorkloadIdentity")
	r.GitCredentials = slices.ContainsFunc([]string{"bearerToken", "sshPrivateKey", "githubAppPrivateKey", "azureServicePrincipalClientSecret"},
		func(key string) bool { return o.secretValue(key).at != nil })
	r.Unknown = r.gap != nil || r.wrong != ""
	return r
}

// text returns a value of the Secret. A value that is not known sets the gap.
func (r *argoSecret) text(key string, g **gap) string {
	v := r.o.secretValue(key)
	switch {
	case v.at == nil || v.at.Text() == "":
	case isSOPS(v.at):
		v.text, v.gap = "", gapf(model.UnresolvedEncrypted, "The Secret %q is encrypted with SOPS. %s", dockerauth.Show(r.o.name), readInstead)
	case !v.at.IsText():
		r.wrong = key
	case scanner.IsMask(v.text):
		v.gap = gapf(model.UnresolvedMasked, "The value %q of the Secret %q is masked.", key, dockerauth.Show(r.o.name))
	}
	if *g == nil {
		*g = v.gap
	}
	if v.gap != nil {
		return ""
	}
	return v.text
}

// unusable returns why the repository cannot be used as it is in the Secret, nil if it can.
func (r *argoSecret) unusable() *gap {
	switch {
	case r == nil:
		return nil
	case r.wrong != "":
		return gapf(model.UnresolvedIncomplete, "Argo CD cannot read the Secret %q because of the value of %s.", dockerauth.Show(r.o.name), r.wrong)
	}
	return r.gap
}

// boolean returns a value that Argo CD reads as strconv.ParseBool does. For another value it ignores the whole Secret.
func (r *argoSecret) boolean(key string) bool {
	text := r.text(key, &r.gap)
	value, err := strconv.ParseBool(text)
	if err != nil && text != "" {
		r.wrong = key
	}
	return value
}

func resolveArgoUnreadable(s *scanner.Scanner, o *object) {
	switch {
	case o.argoLabel() == "":
	case o.kind == "SealedSecret":
		s.Skip(o.at(nil), model.SkipEncrypted, "The SealedSecret with a repository of Argo CD is encrypted. %s", readInstead)
	default:
		s.Skip(o.at(nil), model.SkipTemplate, "The ExternalSecret is a template for a repository of Argo CD, whose values are in another store. %s", readInstead)
	}
}

func resolveArgoSecret(s *scanner.Scanner, o *object) {
	r := clusterOf(s).argoCD().bySecret[o]
	if r == nil {
		return
	}
	at := o.at(o.secretValue("url").at)
	used := &argoUse{argoCD: clusterOf(s).argoCD(), o: o, Repository: r.Repository, from: r, gap: r.gap}
	if !r.template {
		used.inherit()
	}
	if !r.isOCI(s, at, used) {
		return
	}
	e := scanner.Entry{At: at, Address: r.URL}
	if r.template {
		r.templateNotices(&e, used.argoCD)
	} else {
		r.repositoryNotices(&e, used)
	}
	if r.write {
		scanner.AddNotice(&e.Registry, model.NoticeNotUsedByConsumer, "Argo CD uses this Secret only to push to Git repositories.")
	}
	used.add(s, e)
}

func (r *argoSecret) repositoryNotices(e *scanner.Entry, used *argoUse) {
	a := used.argoCD
	if _, count := a.set(r).Repository(r.URL, r.Project, a.place(r.o)); count > 1 {
		scanner.AddNotice(&e.Registry, model.NoticeConflictingEntries, "Another Secret has this URL and other values. Argo CD uses any one of them, by chance. Remove all but one.")
	}
	switch {
	case strings.HasPrefix(r.URL, "oci://") && used.Type != "oci":
		scanner.AddNotice(&e.Registry, model.NoticeTypeMissing, "Argo CD uses the repository for Applications, but its own test of the connection fails. Set type to oci.")
	case r.EnableOCI && !used.EnableOCI:
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField, "The credential template replaces enableOCI, so that Argo CD's own test of the connection fails. Set enableOCI in the template too.")
	}
}

func (r *argoSecret) templateNotices(e *scanner.Entry, a *argoSecrets) {
	_, count := a.set(r).Template(r.URL, a.place(r.o))
	if count > 1 {
		scanner.AddNotice(&e.Registry, model.NoticeConflictingEntries, "Another credential template has this URL and other values. Argo CD uses any one of them, by chance. Remove all but one.")
	}
	switch {
	case count == 0:
		scanner.AddNotice(&e.Registry, model.NoticeNotUsedByConsumer, "Argo CD uses this credential template for no repository, because it cannot compare an IP address with a port and without a scheme. Use a host name, or repositories of type oci.")
	case !strings.HasSuffix(r.URL, "/"):
		scanner.AddNotice(&e.Registry, model.NoticePrefixWithoutBoundary, "Argo CD uses these credentials for every URL that begins like this one, even in the middle of a name, such as %s. End the URL with /, if the repositories that use it have a path.", dockerauth.Show(argorepo.Longer(r.URL)))
	}
}

// set returns where a Secret and the templates for it are.
func (a *argoSecrets) set(r *argoSecret) *argorepo.Set {
	if r != nil && r.write {
		return &a.writers
	}
	return &a.readers
}

// isOCI reports whether the Secret is for an OCI registry, and adds why it is not. Argo CD also uses a Helm repository as such whose template
// does not repeat enableOCI.
func (r *argoSecret) isOCI(s *scanner.Scanner, at model.Source, used *argoUse) bool {
	helm, enabled := used.Type == "helm", used.EnableOCI || r.EnableOCI
	hasScheme := strings.Contains(r.URL, "://")
	switch {
	case r.wrong != "":
		s.Problem(at, model.ProblemWrongShape, "Argo CD cannot read the Secret: the value of %s must be text, such as \"true\" in quotes for a boolean.", r.wrong)
	case r.urlGap != nil && r.urlGap.reason == model.UnresolvedTemplate:
		s.Skip(at, model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
	case r.urlGap != nil && r.urlGap.reason == model.UnresolvedEncrypted:
		s.Skip(at, model.SkipEncrypted, "%s", r.urlGap.detail)
	case r.urlGap != nil:
		s.Problem(at, model.ProblemInvalidBase64, "%s", r.urlGap.detail)
	case r.URL == "":
		s.Problem(at, model.ProblemNoHost, "The Secret has no url.")
	case strings.HasPrefix(r.URL, "oci://"), helm && enabled && !hasScheme:
		return true
	case used.Type == "oci":
		s.Problem(at, model.ProblemWrongShape, "Argo CD rejects the URL, because that of a repository of type oci must begin with oci://.")
	case helm && enabled:
		s.Problem(at, model.ProblemWrongShape, "Argo CD rejects the URL, because that of a Helm repository with enableOCI must not have a scheme. Remove it, or set type to oci and begin the URL with oci://.")
	case helm:
		s.Skip(at, model.SkipClassicHelm, "The repository is a classic Helm repository. If it is an OCI registry, set enableOCI to \"true\".")
	default:
		s.Skip(at, model.SkipGit, "The repository is a Git repository, because its type is not oci or helm.")
	}
	return false
}

func resolveApplication(s *scanner.Scanner, o *object) {
	addArgoSources(s, o, o.node.Get("spec"))
}

func resolveApplicationSet(s *scanner.Scanner, o *object) {
	addArgoSources(s, o, o.node.Get("spec", "template", "spec"))
}

// addArgoSources adds what an Application is made of. If it has several sources, the single one is ignored.
func addArgoSources(s *scanner.Scanner, o *object, spec *node.Node) {
	sources := spec.Get("sources").Items()
	if single := spec.Get("source"); len(sources) == 0 && single.IsObject() {
		sources = []*node.Node{single}
	}
	project := spec.Get("project").Text()
	for _, source := range sources {
		if !s.Afford(o.at(source), costOfSource+len(project)>>6) {
			return
		}
		addArgoSource(s, o, project, source)
	}
}

// costOfSource is as many comparisons as a search for the Secrets of a URL.
const costOfSource = 4

func addArgoSource(s *scanner.Scanner, o *object, project string, source *node.Node) {
	address, chart := source.Get("repoURL").Text(), source.Get("chart").Text()
	at := o.at(source)
	if line := source.Get("repoURL"); line != nil {
		at = o.at(line)
	}
	e := scanner.Entry{At: at, Address: address}
	switch {
	case scanner.IsTemplate(address + chart):
		s.Skip(at, model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
		return
	case address == "":
		s.Skip(at, model.SkipNoHost, "The source has no repoURL.")
		return
	case strings.HasPrefix(address, "oci://") && chart != "":
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField, "Argo CD ignores chart if repoURL begins with oci://. Append the chart to repoURL, or remove oci:// from it.")
	case strings.HasPrefix(address, "oci://"):
	case chart != "" && !strings.Contains(address, "://"):
		e.Address = strings.TrimSuffix(address, "/") + "/" + chart
	case chart != "":
		s.Skip(at, model.SkipClassicHelm, "The source is a classic Helm repository.")
		return
	default:
		s.Skip(at, model.SkipGit, "The source is a Git repository.")
		return
	}
	used := clusterOf(s).argoCD().repository(o, address, project)
	used.add(s, e)
}

// argoUse is a repository as Argo CD uses it: with what it inherits.
type argoUse struct {
	argorepo.Repository
	argoCD *argoSecrets
	o      *object     // that names the repository
	from   *argoSecret // the Secret of the repository, nil if there is none
	gap    *gap
	notice []model.Notice
}

// repository returns the repository for the URL of an Application.
func (a *argoSecrets) repository(o *object, address, project string) *argoUse {
	u := &argoUse{argoCD: a, o: o, Repository: argorepo.Repository{URL: address}}
	found, count := a.readers.Repository(address, project, a.place(o))
	switch count {
	case 0:
	case 1:
		u.Repository, u.from = *found, a.of[found]
	default:
		u.gap = gapf(model.UnresolvedAmbiguous, "Several Secrets have this repository, with different values. Argo CD uses any one of them, by chance. Remove all but one, and scan one environment at a time.")
	}
	u.inherit()
	return u
}

// inherit adds what a repository without credentials inherits from a template.
func (u *argoUse) inherit() {
	if u.gap == nil {
		u.gap = u.from.unusable()
	}
	if u.gap != nil || u.HasCredentials() {
		return
	}
	a := u.argoCD
	template, count := a.set(u.from).Template(u.URL, a.place(u.o))
	switch {
	case count > 1:
		u.gap = gapf(model.UnresolvedAmbiguous, "Several credential templates have the same URL, with different values. Argo CD uses any one of them, by chance. Remove all but one, and scan one environment at a time.")
	case count == 0:
	case !argorepo.SameHost(template.URL, u.URL):
		u.gap = gapf(model.UnresolvedNoMatchingEntry, "The credentials are for another host, and are not sent to this one. Argo CD sends them, because the URL begins like that of the credential template %q.", dockerauth.Show(a.of[template].o.name))
		u.notice = append(u.notice, model.Notice{Code: model.NoticePrefixWithoutBoundary, Message: "Argo CD sends the credentials of a template to every host whose name begins like the one in its URL. End the URL of the template with /."})
	default:
		u.gap = a.of[template].unusable()
		u.Inherit(template)
	}
}

// place returns where an object is. Argo CD reads the Secrets of its own namespace, for Applications of all namespaces.
func (a *argoSecrets) place(o *object) argorepo.Place {
	return argorepo.Place{Namespace: o.namespace, Scopes: o.scopes(), Anywhere: o.kind != "Secret" && !a.namespaces[o.namespace]}
}

// add adds the definition of a repository.
func (u *argoUse) add(s *scanner.Scanner, e scanner.Entry) {
	e.Format, e.Consumer = model.Kubernetes, model.ArgoCD
	e.Definition.Auth = &regcheck.Auth{}
	e.Notices = append(e.Notices, u.notice...)
	lacks(&e.Registry, u.gap)
	u.addCredentials(&e)
	u.addConnection(s, &e)
	reachedFrom(&e.Registry, argorepo.Host(u.URL))
	e.Add(s)
}

func (u *argoUse) addCredentials(e *scanner.Entry) {
	switch {
	case e.Reason != "":
	case u.AzureIdentity && !strings.HasPrefix(u.URL, "oci://"):
		lacks(&e.Registry, gapf(model.UnresolvedCloudIdentity, "Argo CD gets credentials from Azure by the identity of its pod."))
	case u.Username != "" && u.Password != "":
		scanner.SetAuth(&e.Registry, &regcheck.Auth{Username: u.Username, Password: u.Password})
	case u.Username != "":
		lacks(&e.Registry, gapf(model.UnresolvedIncomplete, "The repository has a username and no password. No credential template applies to it."))
	case u.Password != "":
		lacks(&e.Registry, gapf(model.UnresolvedIncomplete, "The repository has a password and no username. No credential template applies to it."))
	case u.AzureIdentity || u.GitCredentials:
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField, "Argo CD ignores these credentials for this type of repository, and uses no credential template because of them: it connects without credentials.")
	case u.Certificate != "":
	case u.argoCD.unreadable != nil:
		lacks(&e.Registry, u.argoCD.unreadable)
	default:
		scanner.AddNotice(&e.Registry, model.NoticeNoMatchingCredentials, "No Secret of Argo CD has credentials for this URL, and no credential template matches it: Argo CD connects without credentials.")
	}
}

func (u *argoUse) addConnection(s *scanner.Scanner, e *scanner.Entry) {
	tls := &e.Definition.Auth.TLS
	if u.ForceHTTP {
		e.Address = "http://" + strings.TrimPrefix(e.Address, "oci://")
	} else {
		tls.InsecureSkipVerify = u.Insecure
		u.addCA(e)
		u.addClientCertificate(e)
		tls.Enabled = *tls != regcheck.TLS{}
	}
	if s.Afford(e.At, len(u.NoProxy)>>6) && !u.BypassesProxy() {
		scanner.AddNotice(&e.Registry, model.NoticeOnlyFromTheCluster, "Argo CD connects through the proxy in its Secret, which the check does not use.")
	}
}

// addCA adds the certificates for the host. Argo CD trusts them instead of the system's roots; a check trusts both.
func (u *argoUse) addCA(e *scanner.Entry) {
	name, _, _ := strings.Cut(argorepo.Host(u.URL), ":")
	text, count := u.argoCD.certificates.Find(u.argoCD.place(u.o), name)
	tls := &e.Definition.Auth.TLS
	if count > 0 {
		tls.CA = text.pem()
	}
	switch {
	case count > 1:
		lacks(&e.Registry, gapf(model.UnresolvedAmbiguous, "Several files have the ConfigMap argocd-tls-certs-cm, with different certificates for this host. Scan one environment at a time."))
	case count == 1 && tls.CA == "":
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField, "The ConfigMap argocd-tls-certs-cm has no certificate in PEM for this host: Argo CD trusts the roots of its system.")
	}
}

func (u *argoUse) addClientCertificate(e *scanner.Entry) {
	tls := &e.Definition.Auth.TLS
	switch {
	case u.Certificate != "" && u.Key != "":
		tls.Certificate, _ = scanner.PemBlocks([]byte(u.Certificate))
		tls.Key = u.Key
	case u.Certificate != "" || u.Key != "":
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField, "Argo CD uses a client certificate only if both tlsClientCertData and tlsClientCertKey are set.")
	}
}
