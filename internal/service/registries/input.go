package registries

import (
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Conversions between registries as clients send them, as they are stored and as they are shown.

// definitionProblems lists the problems of the definition. unfilled has those of secrets that could not be filled in; such secrets are
// not reported as missing as well.
func (input RegistryInput) definitionProblems(unfilled []fault.Field) []fault.Field {
	_, found := SentDefinition{Definition: input.Definition, Scope: input.Scope}.parse()
	return fault.Join(unfilled, append(append(textProblems(input.Definition), unused(input.Definition)...), found...))
}

// unused reports a field that has no effect: a check only warns of it.
func unused(d regcheck.Definition) []fault.Field {
	if d.Auth == nil || !d.Auth.PassCredentials || d.Kind == regcheck.KindChartRepository {
		return nil
	}
	return []fault.Field{{Field: "auth.passCredentials", Problem: "is only for chart repositories"}}
}

// problems lists all problems of the input, of which those of the definition are known.
func (input RegistryInput) problems(ofDefinition []fault.Field) []fault.Field {
	var found []fault.Field
	if problem := names.NameProblem(input.Name); problem != "" {
		found = append(found, fault.Field{Field: "name", Problem: problem})
	}
	found = append(found, pairProblems("annotations", input.Annotations)...)
	found = append(found, pairProblems("labels", input.Labels)...)
	return fault.Join(input.Undecoded, append(found, ofDefinition...))
}

func pairProblems(field string, pairs map[string]string) []fault.Field {
	if problem := names.PairsProblem(pairs); problem != "" {
		return []fault.Field{{Field: field, Problem: problem}}
	}
	return nil
}

// textProblems reports text that PostgreSQL cannot store, in the fields that the engine does not check.
func textProblems(d regcheck.Definition) (found []fault.Field) {
	if d.Auth == nil {
		return nil
	}
	for _, pem := range []struct{ field, text string }{{"auth.tls.ca", d.Auth.TLS.CA}, {"auth.tls.certificate", d.Auth.TLS.Certificate}} {
		if strings.Contains(pem.text, "\x00") {
			found = append(found, fault.Field{Field: pem.field, Problem: "must not contain a NUL character"})
		}
	}
	return found
}

// faultFields returns the engine's problems as fields of a fault.
func faultFields(problems []regcheck.Problem) []fault.Field {
	list := make([]fault.Field, len(problems))
	for i, p := range problems {
		list[i] = fault.Field{Field: p.Field, Problem: p.Problem}
		if p.Text != "" {
			list[i].Text = p.Text
		}
	}
	return list
}

// row returns the input as it is stored. The input must have no problems, so its Auth is set.
func (input RegistryInput) row() store.Registry {
	d, a := input.Definition, input.Definition.Auth
	settings, encrypted := settingsOf(a)
	return store.Registry{
		Name: input.Name, Canonical: names.Canonical(input.Name), Kind: string(kindOf(d, input.Kind)),
		Annotations: input.Annotations, Labels: input.Labels,
		Endpoint: d.Endpoint, ProviderType: string(d.ProviderType), Scope: input.Scope, BasePath: d.BasePath,
		BaseContentPath: d.BaseContentPath,
		References:      d.References,
		SyncSupported:   input.SyncSupported, SpectroManifest: input.SpectroManifest, Private: input.Private,
		AuthType: string(a.Type), Username: a.Username, AuthSettings: settings,
		TLSEnabled: a.TLS.Enabled, TLSSkipVerify: a.TLS.InsecureSkipVerify, CA: a.TLS.CA, Certificate: a.TLS.Certificate,
		Secrets:  store.RegistrySecrets{Password: valueOf(encrypted.first), Token: valueOf(encrypted.second), Key: a.TLS.Key},
		Identity: identityOf(d),
	}
}

// visible returns a stored registry with masked secrets.
func visible(r store.Registry) Registry {
	return Registry{
		UID: r.UID, OrgUID: r.OrgUID, Name: r.Name, ProjectUID: r.ProjectUID, Origin: r.Origin, Kind: Kind(r.Kind),
		Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Annotations: r.Annotations, Labels: r.Labels, Definition: masked(r), Scope: r.Scope,
		SyncSupported: r.SyncSupported, SpectroManifest: r.SpectroManifest, Private: r.Private,
	}
}

// masked returns a stored definition with masked secrets, whether they were read or not.
func masked(r store.Registry) regcheck.Definition {
	r.Secrets = store.RegistrySecrets{Password: maskIf(r.HasPassword), Token: maskIf(r.HasToken), Key: maskIf(r.HasKey)}
	return definitionOf(r)
}

// definitionOf returns a stored definition for the engine, with the secrets that were read.
func definitionOf(r store.Registry) regcheck.Definition {
	a := &regcheck.Auth{Type: regcheck.AuthType(r.AuthType), Username: r.Username, TLS: regcheck.TLS{CA: r.CA, Certificate: r.Certificate,
		Enabled: r.TLSEnabled, InsecureSkipVerify: r.TLSSkipVerify, Key: r.Secrets.Key}}
	restore(a, r.AuthSettings, r.Secrets.Password, r.Secrets.Token)
	kind := regcheck.Kind("")
	if Kind(r.Kind) == HelmKind {
		kind = regcheck.KindChartRepository
	}
	return regcheck.Definition{
		Kind: kind, Endpoint: r.Endpoint, BasePath: r.BasePath, BaseContentPath: r.BaseContentPath, References: r.References,
		ProviderType: regcheck.ProviderType(r.ProviderType),
		Auth:         a,
	}
}

func maskIf(has bool) secret.String {
	if has {
		return mask
	}
	return ""
}
