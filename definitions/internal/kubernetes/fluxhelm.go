package kubernetes

import (
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

func resolveHelmRepository(c *Cluster, o *object) {
	if f := newHelmRepository(c, o); f != nil {
		c.Found(f.r)
	}
}

// newHelmRepository returns what a HelmRepository defines. It returns nil, and reports why, if there is nothing to check.
func newHelmRepository(c *Cluster, o *object) *fluxSource {
	at := o.node.Get("spec", "url")
	address, oci := strings.CutPrefix(at.Text(), "oci://")
	typed := o.node.Get("spec", "type").Text() == "oci"
	switch {
	case !typed && !oci:
		return newFluxCharts(c, o, at)
	case !oci && !scanner.IsTemplate(at.Text()):
		c.Problem(o.at(at), model.ProblemWrongShape, "Flux rejects the HelmRepository: with type: oci, the URL must begin with oci://.")
		return nil
	}
	f := newFluxSource(c, o, at, address)
	if f == nil {
		return nil
	}
	if !typed {
		scanner.AddNotice(&f.r, model.NoticeTypeMissing,
			"Flux looks for a classic Helm repository at this URL, and fails. Add type: oci to the spec.")
	}
	if f.spec.Get("insecure").Bool() {
		scanner.SetPlainHTTP(&f.r, "With spec.insecure, Flux")
	}
	f.addCertificates()
	f.addHelmCredentials()
	return f
}

// newFluxCharts returns the chart repository of a HelmRepository of the default type.
func newFluxCharts(c *Cluster, o *object, at *node.Node) *fluxSource {
	scheme, address, _ := strings.Cut(at.Text(), "://")
	var user *url.Userinfo // which Go's HTTP client sends
	if parsed, err := url.Parse(at.Text()); err == nil && parsed.User != nil {
		user = parsed.User
		address = strings.TrimPrefix(address, user.String()+"@")
	}
	if !scanner.IsOneOf(scheme, "https", "http") && !scanner.IsTemplate(at.Text()) {
		c.Problem(o.at(at), model.ProblemWrongShape,
			"Flux rejects the HelmRepository: its URL must begin with https://, http:// or oci://.")
		return nil
	}
	f := newFluxSource(c, o, at, address)
	if f == nil {
		return nil
	}
	f.r.Definition.Kind, f.r.Definition.BaseContentPath = regcheck.KindChartRepository, ""
	f.r.Definition.Endpoint = strings.TrimSuffix(scheme+"://"+f.host+"/"+f.path, "/")
	f.r.Notices = append(f.r.Notices, scanner.ConnectionNotices(f.r.Definition.Endpoint, regcheck.TLS{})...)
	for _, field := range []string{"provider", "insecure"} {
		if value := f.spec.Get(field); value.Bool() || value.Text() != "" && value.Text() != "generic" {
			scanner.AddNotice(&f.r, model.NoticeIgnoredField, "Flux ignores spec.%s, which is for type: oci only.", field)
		}
	}
	f.addCertificates()
	if name := f.spec.Get("secretRef", "name").Text(); name == "" && user != nil {
		password, _ := user.Password()
		scanner.SetAuth(&f.r, scanner.BasicAuth(user.Username(), password))
	} else if name != "" {
		found, g := c.secret(o, name)
		if lacks(&f.r, g); g == nil {
			f.r.Secret = found.place()
			f.useBasic(found)
		}
	}
	f.r.Definition.Auth.PassCredentials = f.spec.Get("passCredentials").Bool()
	return f
}

// isCharts reports whether the source is a chart repository.
func (f *fluxSource) isCharts() bool { return f.r.Definition.Kind == regcheck.KindChartRepository }

func resolveHelmChart(c *Cluster, o *object) {
	addChart(c, o, o.node.Get("spec"))
}

func resolveHelmRelease(c *Cluster, o *object) {
	addChart(c, o, o.node.Get("spec", "chart", "spec"))
}

// addChart adds a chart of a HelmRepository. Charts of other sources are those of the source.
func addChart(c *Cluster, o *object, spec *node.Node) {
	chart, reference := spec.Get("chart"), spec.Get("sourceRef")
	name := reference.Get("name").Text()
	if kind := reference.Get("kind").Text(); kind != "HelmRepository" || chart.Text() == "" {
		return
	}
	namespace := reference.Get("namespace").Text()
	if namespace == "" {
		namespace = o.namespace
	}
	repository, ambiguous := c.near(o, helmRepository, namespace, name)
	if repository == nil { // Flux and kustomize set namespaces that objects do not name
		repository, ambiguous = c.nearUnnamed(o, helmRepository, namespace, name)
	}
	switch {
	case repository == nil:
		c.Skip(o.at(reference), model.SkipAlias, "The HelmRepository %q was not read.", dockerauth.Show(name))
		return
	case ambiguous && repository.namespace != namespace:
		c.Skip(o.at(reference), model.SkipAlias, mayBeAnother, repository.kind, dockerauth.Show(name))
		return
	case ambiguous:
		c.Skip(o.at(reference), model.SkipAlias, "The files have several HelmRepositories %q. Scan one environment at a time.",
			dockerauth.Show(name))
		return
	case scanner.IsTemplate(chart.Text()):
		c.Skip(o.at(chart), model.SkipTemplate, "The name of the chart is a placeholder.")
		return
	}
	if of := c.helmRepository(repository); of != nil {
		f := *of
		auth := *f.r.Definition.Auth
		f.r.Definition.Auth, f.r.Notices = &auth, slices.Clone(f.r.Notices)
		f.r.Sources = []model.Source{o.at(chart)}
		f.r.Definition.BaseContentPath = scanner.Tagged(strings.Trim(f.path+"/"+chart.Text(), "/"), spec.Get("version").Text())
		if f.isCharts() {
			f.r.Definition.BaseContentPath = scanner.ChartPath(chart.Text(), spec.Get("version").Text())
		}
		f.suspended(o)
		c.Found(f.r)
	}
}

// helmRepository returns what a HelmRepository defines for its charts, nil if there is nothing to check, which is reported with itself.
func (c *Cluster) helmRepository(o *object) *fluxSource {
	f, known := c.charts[o]
	if !known {
		c.WithoutReports(func() { f = newHelmRepository(c, o) })
		if c.charts == nil {
			c.charts = map[*object]*fluxSource{}
		}
		c.charts[o] = f
	}
	return f
}
