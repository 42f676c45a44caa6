package server

import (
	"errors"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/internal/web/shapes"
	"github.com/regwarden/regwarden/regcheck"
)

// registryKind is what differs among the routes of the kinds of registries.
type registryKind struct {
	kind  registries.Kind
	names fieldNames // of a definition in a spec; nil: those of the domain
	input func(*call) (sentRegistry, []fault.Field, error)
	spec  func(c *call, body []byte) (registries.SentDefinition, []fault.Field, error)
	show  func(registries.Registry) any
}

// sentRegistry is the body of a request that stores a registry.
type sentRegistry struct {
	registries.RegistryInput
	charts []string // which must be readable
}

var (
	ociKind = registryKind{
		input: inputFrom(func(sent *api.OCIRegistryRequest) sentRegistry { return sentRegistry{shapes.OCIInput(sent), nil} }),
		spec: specFrom(func(sent *api.OCIRegistryDefinition) (registries.SentDefinition, []fault.Field) {
			return registries.SentDefinition{Definition: sent.Definition, RegistryUID: sent.RegistryUID, Scope: sent.Scope}, nil
		}, new(api.OCIRegistryRequestSpec)),
		show: func(r registries.Registry) any { return shapes.OCI(r) },
	}
	ecrKind = registryKind{
		kind: registries.ECRKind, names: shapes.ECRNames,
		input: inputFrom(func(sent *api.ECRRegistryRequest) sentRegistry { return sentRegistry{shapes.ECRInput(sent), nil} }),
		spec:  specFrom(shapes.ECRDefinition, new(api.ECRRegistrySpec), api.IgnoredFields...),
		show:  func(r registries.Registry) any { return shapes.ECR(r) },
	}
	helmKind = registryKind{
		kind: registries.HelmKind, names: fieldNames{"references": "createOption.charts"},
		input: inputFrom(func(sent *shapes.HelmRequest) sentRegistry {
			return sentRegistry{shapes.HelmInput(sent), shapes.HelmCharts(sent.Spec.CreateOption)}
		}),
		spec: specFrom(func(sent *api.HelmRegistryDefinition) (registries.SentDefinition, []fault.Field) {
			return shapes.HelmDefinition(sent), nil
		}, new(api.HelmRegistryDefinition), api.IgnoredFields...),
		show: func(r registries.Registry) any { return shapes.Helm(r) },
	}
)

// inputFrom returns a function that decodes a body of type T.
func inputFrom[T any](convert func(*T) sentRegistry) func(*call) (sentRegistry, []fault.Field, error) {
	return func(c *call) (sentRegistry, []fault.Field, error) {
		var body T
		wrong, err := c.decode(&body)
		return convert(&body), wrong, err
	}
}

// specFrom returns a function that decodes a body of type T. It notes members that the type of known does not have, for the report and
// the response.
func specFrom[T any](convert func(*T) (registries.SentDefinition, []fault.Field), known any, ignored ...string,
) func(*call, []byte) (registries.SentDefinition, []fault.Field, error) {
	return func(c *call, body []byte) (registries.SentDefinition, []fault.Field, error) {
		var sent T
		wrong, err := strictjson.Decode(body, &sent)
		if err != nil {
			return registries.SentDefinition{}, nil, err
		}
		d, more := convert(&sent)
		unknown, names := strictjson.Unknown(body, known, ignored...)
		d.NoteUnknown(unknown, names)
		c.warnOfUnknown(unknown, names)
		return d, append(wrong, more...), nil
	}
}

// fields returns the names of the fields of a request that stores a registry: in the metadata, or in the spec as its definition.
func (k registryKind) fields() fieldNames {
	all := fieldNames{"name": "metadata.name", "annotations": "metadata.annotations", "labels": "metadata.labels"}
	for _, name := range []string{"kind", "endpoint", "basePath", "baseContentPath", "references", "providerType", "auth", "scope",
		"registryUid", "isSyncSupported", "containsSpectroManifest", "isPrivate"} {
		all[name] = "spec." + name
	}
	for field, name := range k.names {
		all[field] = "spec." + name
	}
	return all
}

// audience returns how the texts of a kind name fields.
func (k registryKind) audience() regcheck.Audience {
	a := wording.Engine()
	a.Field = k.names.Path
	return a
}

// err returns an error with the names of a request, also in its texts.
func (k registryKind) err(names fieldNames, err error) error {
	err = names.Err(err)
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || k.names == nil {
		return err
	}
	for i, p := range f.Fields {
		if text, ok := p.Text.(regcheck.Text); ok {
			f.Fields[i].Problem = k.audience().Show(text)
		}
	}
	return err
}

// report returns a report with the names of the fields of the kind.
func (k registryKind) report(r *regcheck.Report) *regcheck.Report {
	if k.names == nil || r == nil {
		return r
	}
	shown := reports.Show(r, k.audience())
	shown.Field = k.names.Path(r.Field)
	for i, w := range shown.Warnings {
		shown.Warnings[i].Field = k.names.Path(w.Field)
	}
	return shown
}

// requireCharts returns the report of a chart repository of which a listed chart cannot be read.
func (h registryHandlers) requireCharts(c *call, sent sentRegistry) error {
	if len(sent.charts) == 0 {
		return nil
	}
	request := checks.Request{Action: audit.RegistryValidate, Undecoded: sent.Undecoded,
		Definition: registries.SentDefinition{Definition: sent.Definition, Scope: sent.Scope}}
	request.Definition.References = sent.charts
	origin := c.origin
	origin.AuditUID = "" // which is that of the creation
	report, auditUID, err := h.checks.Validate(c.Context(), c.principal, origin, request)
	if err == nil && !report.Valid {
		setAuditUID(c.w, auditUID)
		err = notValid{h.report(report)}
	}
	return err
}
