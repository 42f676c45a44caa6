package registries

import (
	"strings"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// What stands between a definition as it was sent and as it is kept: its problems, and its shape in the store.

const (
	inMetadata = "metadata."
	inSpec     = "spec."
)

// problems lists everything that keeps the definition from being kept. Of a secret that could not be filled in,
// unfilled says why; that it is missing too would mislead.
func (w Wanted) problems(unfilled []fault.Field) []fault.Field {
	var found []fault.Field
	if problem := auth.NameProblem(w.Name); problem != "" {
		found = append(found, fault.Field{Field: inMetadata + "name", Problem: problem})
	}
	found = append(found, pairProblems("annotations", w.Annotations)...)
	found = append(found, pairProblems("labels", w.Labels)...)
	inDocument := prefixed(fault.Join(unfilled, append(textProblems(w.Definition), Sent{Definition: w.Definition, Scope: w.Scope}.Problems()...)))
	return fault.Join(w.Undecoded, append(found, inDocument...))
}

func pairProblems(field string, pairs map[string]string) []fault.Field {
	if problem := auth.PairsProblem(pairs); problem != "" {
		return []fault.Field{{Field: inMetadata + field, Problem: problem}}
	}
	return nil
}

// textProblems finds what one of the databases cannot keep, in the fields that the engine does not read closely.
func textProblems(d regcheck.Definition) (found []fault.Field) {
	if d.Auth == nil {
		return nil
	}
	for _, pem := range []struct{ field, text string }{{"auth.tls.ca", d.Auth.TLS.CA}, {"auth.tls.certificate", d.Auth.TLS.Certificate}} {
		if strings.Contains(pem.text, "\x00") {
			found = append(found, fault.Field{Field: pem.field, Problem: "contains a NUL character"})
		}
	}
	return found
}

func fields(problems []regcheck.Problem) []fault.Field {
	list := make([]fault.Field, len(problems))
	for i, p := range problems {
		list[i] = fault.Field{Field: p.Field, Problem: p.Problem}
	}
	return list
}

func prefixed(list []fault.Field) []fault.Field {
	for i := range list {
		list[i].Field = inSpec + list[i].Field
	}
	return list
}

// record is the definition as the store keeps it. It has no problems, and so it has an Auth.
func (w Wanted) record() store.Registry {
	d, a := w.Definition, w.Definition.Auth
	return store.Registry{
		Name: w.Name, Canonical: auth.Canonical(w.Name), Annotations: w.Annotations, Labels: w.Labels,
		Endpoint: d.Endpoint, ProviderType: string(d.ProviderType), Scope: w.Scope, BasePath: d.BasePath, BaseContentPath: d.BaseContentPath,
		SyncSupported: w.SyncSupported, SpectroManifest: w.SpectroManifest, Private: w.Private,
		AuthType: string(a.Type), Username: a.Username,
		TLSEnabled: a.TLS.Enabled, TLSSkipVerify: a.TLS.InsecureSkipVerify, CA: a.TLS.CA, Certificate: a.TLS.Certificate,
		Secrets: store.RegistrySecrets{Password: a.Password, Token: a.Token, Key: a.TLS.Key},
	}
}

// visible is a kept record with masks for the secrets it has.
func visible(r store.Registry) Registry {
	return Registry{
		UID: r.UID, OrgUID: r.OrgUID, Name: r.Name, Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Annotations: r.Annotations, Labels: r.Labels, Definition: masked(r), Scope: r.Scope,
		SyncSupported: r.SyncSupported, SpectroManifest: r.SpectroManifest, Private: r.Private,
	}
}

// masked is the definition of a record with masks for the secrets that are stored, whether they were read or not.
func masked(r store.Registry) regcheck.Definition {
	r.Secrets = store.RegistrySecrets{Password: maskIf(r.HasPassword), Token: maskIf(r.HasToken), Key: maskIf(r.HasKey)}
	return definitionOf(r)
}

func maskIf(has bool) secret.String {
	if has {
		return mask
	}
	return ""
}
