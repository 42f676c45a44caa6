package kubernetes

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/argorepo"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// argoUse is a repository as Argo CD uses it: with what it inherits.
type argoUse struct {
	argorepo.Repository
	argoCD *argoSecrets
	o      *object     // that names the repository
	from   *argoSecret // the Secret of the repository, nil if there is none
	secret *object     // that has the credentials
	gap    *gap
	notice []model.Notice

	passCredentials bool // to other hosts that the index of a chart repository names
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
		u.gap = gapf(model.UnresolvedAmbiguous,
			"Several Secrets have this repository, with different values. Argo CD uses any one of them, by chance. Remove all but one, "+
				"and scan one environment at a time.")
	}
	u.inherit()
	return u
}

// inherit adds what a repository without credentials inherits from a template.
func (u *argoUse) inherit() {
	if u.gap == nil {
		u.gap = u.from.unusable()
	}
	if u.from != nil {
		u.secret = u.from.o
	}
	if u.gap != nil || u.HasCredentials() {
		return
	}
	a := u.argoCD
	template, count := a.set(u.from).Template(u.URL, a.place(u.o))
	switch {
	case count > 1:
		u.gap = gapf(model.UnresolvedAmbiguous,
			"Several credential templates have the same URL, with different values. Argo CD uses any one of them, by chance. Remove all "+
				"but one, and scan one environment at a time.")
	case count == 0:
	case !argorepo.SameHost(template.URL, u.URL):
		u.gap = gapf(model.UnresolvedNoMatchingEntry,
			"The credentials are for another host, and are not sent to this one. Argo CD sends them, because the URL begins like that of "+
				"the credential template %q.", dockerauth.Show(a.of[template].o.name))
		u.notice = append(u.notice, model.Notice{Code: model.NoticePrefixWithoutBoundary,
			Message: "Argo CD sends the credentials of a template to every host whose name begins like the one in its URL. End the URL " +
				"of the template with /."})
	default:
		u.gap, u.secret = a.of[template].unusable(), a.of[template].o
		u.Inherit(template)
	}
}

// place returns where an object is. Argo CD reads the Secrets of its own namespace, for Applications of all namespaces.
func (a *argoSecrets) place(o *object) argorepo.Place {
	return argorepo.Place{Namespace: o.namespace, Scopes: o.scopes(), Anywhere: o.kind != "Secret" && !a.namespaces[o.namespace]}
}

// add adds the definition of a repository.
func (u *argoUse) add(c *Cluster, e scanner.Entry) {
	e.Format, e.Consumer = model.Kubernetes, model.ArgoCD
	e.Definition.Auth = &regcheck.Auth{}
	e.Notices = append(e.Notices, u.notice...)
	lacks(&e.Registry, u.gap)
	if u.secret != nil && u.secret != u.o {
		e.Secret = u.secret.place()
	}
	u.addCredentials(&e)
	u.addConnection(c, &e)
	e.Definition.Auth.PassCredentials = u.passCredentials && e.Definition.Kind == regcheck.KindChartRepository
	scanner.ReachedFrom(&e.Registry, argorepo.Host(u.URL))
	e.Add(c.Scanner)
}

func (u *argoUse) addCredentials(e *scanner.Entry) {
	switch {
	case e.Reason != "":
	case u.AzureIdentity && !strings.HasPrefix(u.URL, "oci://"):
		scanner.SetUnresolved(&e.Registry, model.UnresolvedCloudIdentity, "Argo CD gets credentials from Azure by the identity of its pod.")
	case u.Username != "" && u.Password != "":
		scanner.SetAuth(&e.Registry, &regcheck.Auth{Username: u.Username, Password: u.Password})
	case u.Username != "":
		scanner.SetUnresolved(&e.Registry, model.UnresolvedIncomplete,
			"The repository has a username and no password. No credential template applies to it.")
	case u.Password != "":
		scanner.SetUnresolved(&e.Registry, model.UnresolvedIncomplete,
			"The repository has a password and no username. No credential template applies to it.")
	case u.AzureIdentity || u.GitCredentials:
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField,
			"Argo CD ignores these credentials for this type of repository, and uses no credential template because of them: it connects "+
				"without credentials.")
	case u.Certificate != "":
	case u.argoCD.unreadable != nil:
		lacks(&e.Registry, u.argoCD.unreadable)
	default:
		scanner.AddNotice(&e.Registry, model.NoticeNoMatchingCredentials,
			"No Secret of Argo CD has credentials for this URL, and no credential template matches it: Argo CD connects without "+
				"credentials.")
	}
}

func (u *argoUse) addConnection(c *Cluster, e *scanner.Entry) {
	tls := &e.Definition.Auth.TLS
	if u.ForceHTTP && e.Definition.Kind != regcheck.KindChartRepository {
		e.Address = "http://" + strings.TrimPrefix(e.Address, "oci://")
	} else {
		tls.InsecureSkipVerify = u.Insecure
		u.addCA(e)
		u.addClientCertificate(e)
		tls.Enabled = *tls != regcheck.TLS{}
	}
	if c.Afford(e.At, len(u.NoProxy)>>6) && !u.BypassesProxy() {
		scanner.AddNotice(&e.Registry, model.NoticeOnlyFromTheCluster,
			"Argo CD connects through the proxy in its Secret, which the check does not use.")
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
		scanner.SetUnresolved(&e.Registry, model.UnresolvedAmbiguous,
			"Several files have the ConfigMap argocd-tls-certs-cm, with different certificates for this host. Scan one environment at a "+
				"time.")
	case count == 1 && tls.CA == "":
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField,
			"The ConfigMap argocd-tls-certs-cm has no certificate in PEM for this host: Argo CD trusts the roots of its system.")
	}
}

func (u *argoUse) addClientCertificate(e *scanner.Entry) {
	tls := &e.Definition.Auth.TLS
	switch {
	case u.Certificate != "" && u.Key != "":
		tls.Certificate, _ = scanner.PemBlocks([]byte(u.Certificate))
		tls.Key = u.Key
	case u.Certificate != "" || u.Key != "":
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField,
			"Argo CD uses a client certificate only if both tlsClientCertData and tlsClientCertKey are set.")
	}
}
