// Package fixes shows what to change in the words of the files that were scanned: of docker, Flux, Argo CD and others.
package fixes

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// Report returns the report of a check with hints for those who write the file of the definition. a has the other texts.
func Report(r model.Registry, report *regcheck.Report, a regcheck.Audience) *regcheck.Report {
	w, known := wordsOf(r)
	if report == nil || !known {
		return report
	}
	p := newPhrases(r, w)
	a.Field = p.field
	shown := show(*report, a)
	if hint := p.hint(shown); hint != "" {
		shown.Hint = hint
	}
	if shown.Code == regcheck.CodeAuthFailed {
		shown.Hint += " The credentials are in " + p.secret + "."
	}
	for i := range shown.Warnings {
		p.warning(&shown.Warnings[i])
	}
	return shown
}

// show returns the report with message, hint and warnings for an audience; those of a report that was decoded as they are.
func show(r regcheck.Report, a regcheck.Audience) *regcheck.Report {
	r.Message = cmp.Or(strings.TrimSuffix(a.Show(r.MessageText), " "), r.Message)
	r.Hint = cmp.Or(a.Show(r.HintText), r.Hint)
	r.Warnings = slices.Clone(r.Warnings)
	for i := range r.Warnings {
		w := &r.Warnings[i]
		w.Message = cmp.Or(a.Show(w.Text), w.Message)
	}
	return &r
}

// Field returns how the file of a definition names a field, which is a JSON path. It has the place only if that is not the definition's.
func Field(r model.Registry, path string) string {
	w, known := wordsOf(r)
	if !known {
		return path
	}
	p := newPhrases(r, w)
	return strings.TrimSuffix(p.field(path), " ("+p.place+")")
}

// phrases are the words for one definition.
type phrases struct {
	words
	place, secret string
	classic       string // what else than the address of an OCI registry may correct a definition that has a chart repository's
	replacer      *strings.Replacer
}

func newPhrases(r model.Registry, w words) phrases {
	var at model.Source
	if len(r.Sources) > 0 {
		at = r.Sources[0]
	}
	host := r.Definition.Endpoint
	if u, err := url.Parse(r.Definition.Registry()); err == nil && u.Host != "" {
		host = u.Host
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	p := phrases{words: w, place: at.String(), secret: at.String(), classic: classicUse(r.Consumer, at.Object)}
	if r.Definition.Kind == regcheck.KindChartRepository {
		p.words = w.ofCharts(r)
	}
	if r.Secret != nil {
		p.secret = r.Secret.String()
		if r.Secret.Object != "" {
			p.secret += " (" + r.Secret.Object + ")"
		}
	}
	p.replacer = strings.NewReplacer("{host}", host, "{hostname}", name, "{place}", p.place, "{file}", at.File, "{object}", at.Object)
	return p
}

// field is a regcheck.Audience.Field.
func (p phrases) field(path string) string {
	list, _, _ := strings.Cut(path, "[")
	switch list {
	case "auth.tls.enabled":
		return "" // the other settings of TLS imply it
	case "endpoint":
		return p.address + " (" + p.place + ")"
	case "basePath", "baseContentPath", "references":
		return p.content + " (" + p.place + ")"
	case "auth.passCredentials":
		return p.passCredentials
	case "auth.username":
		return "the username (" + p.secret + ")"
	case "auth.password":
		return "the password (" + p.secret + ")"
	case "auth.token":
		return "the token (" + p.secret + ")"
	case "auth.tls.ca":
		return p.replacer.Replace(p.ca)
	case "auth.tls.certificate":
		return p.replacer.Replace(p.certificate)
	case "auth.tls.key":
		return p.replacer.Replace(p.key)
	case "auth.tls.insecureSkipVerify":
		return p.replacer.Replace(p.skipVerify)
	}
	return path
}

// hint returns the hint for what a file says in another way than a definition, "" for everything else.
func (p phrases) hint(r *regcheck.Report) string {
	switch {
	case r.Reason == regcheck.ReasonNotTLS && p.plainHTTP == "":
		return "Serve the registry over TLS, or correct the port in " + p.field("endpoint") + "."
	case r.Reason == regcheck.ReasonNotTLS:
		return p.replacer.Replace(p.plainHTTP) + " if the registry does not use TLS; otherwise correct the port in " +
			p.field("endpoint") + "."
	case strings.HasPrefix(string(r.Reason), "clientCertificate") && p.certificate == "":
		return "Contact the registry operator: the registry requires a client certificate, which this definition cannot have."
	case r.Reason == regcheck.ReasonOCIRegistry:
		return p.replacer.Replace(p.oci) + ": charts in an OCI registry are used with oci://."
	case r.Reason == regcheck.ReasonClassicHelm:
		return "Set " + p.field("endpoint") + " to the address of an OCI registry" + p.classic + "."
	case r.Code == regcheck.CodeAuthRequired:
		return p.replacer.Replace(p.login) + "."
	case r.Reason == regcheck.ReasonAnonymousWorks:
		return "Renew the credentials, or remove them."
	}
	return ""
}

// classicUse returns how a consumer uses a classic repository instead of an OCI registry, "" if it uses no charts.
func classicUse(consumer model.Consumer, object string) string {
	switch {
	case consumer == model.Flux && (strings.HasPrefix(object, "HelmRepository ") || strings.HasPrefix(object, "HelmRelease ")):
		return ", or, for a classic Helm repository, remove spec.type of the HelmRepository and begin its spec.url with https://"
	case consumer == model.Helm, consumer == model.ArgoCD:
		return ", or use the charts as those of a classic Helm repository, by its https:// address"
	}
	return ""
}

// warning replaces what a file says in another way than a definition.
func (p phrases) warning(w *regcheck.Warning) {
	switch w.Code {
	case regcheck.WarnCredentialsNotChecked:
		w.Message = strings.Replace(w.Message, "Set "+p.field("auth.type")+" to noAuth", "Remove the credentials", 1)
	case regcheck.WarnCredentialsExpireSoon:
		w.Message += " They are in " + p.secret + "."
	default: // the others say it alike
	}
}
