package shapes

import (
	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/regcheck"
)

// ECRNames are the fields of a definition in the shape of ECR. Fields that it does not have are those of the credentials.
var ECRNames = map[string]string{"auth": "credentials", "auth.type": "credentials.credentialType", "auth.tls": "tls",
	"auth.aws": "credentials", "auth.aws.accessKey": "credentials.accessKey", "auth.aws.secretKey": "credentials.secretKey",
	"auth.aws.ambient": "credentials.credentialType", "auth.aws.roleArn": "credentials.sts.arn",
	"auth.aws.externalId": "credentials.sts.externalId"}

// ECRInput returns what a request stores.
func ECRInput(sent *api.ECRRegistryRequest) registries.RegistryInput {
	s := &sent.Spec
	definition, problems := ECRDefinition(s)
	return registries.RegistryInput{
		Kind: registries.ECRKind, Name: sent.Metadata.Name, Annotations: sent.Metadata.Annotations, Labels: sent.Metadata.Labels,
		Definition: definition.Definition, Scope: s.Scope, SyncSupported: s.IsSyncSupported, SpectroManifest: s.ContainsSpectroManifest,
		Private: s.IsPrivate != nil && *s.IsPrivate, Undecoded: problems,
		Over: func(stored regcheck.Definition) regcheck.Definition { return overECR(definition.Definition, stored) },
	}
}

// overECR returns the definition that was sent, with what this shape does not have from a stored one. A session token belongs to its
// access key.
func overECR(d, stored regcheck.Definition) regcheck.Definition {
	d.BasePath, d.References, d.Auth = stored.BasePath, stored.References, d.Auth.Clone()
	if k, old := d.Auth.AWS, stored.Auth.AWS; k != nil && old != nil && k.AccessKey != "" && old.AccessKey != "" {
		k.RoleARN, k.ExternalID = old.RoleARN, old.ExternalID
		if k.AccessKey == old.AccessKey {
			k.SessionToken = old.SessionToken
		}
	}
	return d
}

// ECRDefinition returns the definition that a spec describes, and the problems that it has only in this shape, by the names of the domain.
func ECRDefinition(s *api.ECRRegistrySpec) (registries.SentDefinition, []fault.Field) {
	var problems []fault.Field
	note := func(field, problem string) { problems = append(problems, fault.Field{Field: field, Problem: problem}) }
	if s.IsPrivate == nil {
		note("isPrivate", "is required")
	}
	credentials := ecrAuth(s, note)
	d := regcheck.Definition{Endpoint: s.Endpoint, ProviderType: regcheck.ProviderType(s.ProviderType), BaseContentPath: s.BaseContentPath,
		Auth: &credentials}
	if s.TLS != nil {
		d.Auth.TLS = regcheck.TLS{CA: s.TLS.CA, Certificate: s.TLS.Certificate, Enabled: s.TLS.Enabled,
			InsecureSkipVerify: s.TLS.InsecureSkipVerify, Key: s.TLS.Key}
	}
	if d.Auth.Type == regcheck.NoAuth && d.Registry() != "" && regcheck.ObtainedBy(d.Endpoint) != regcheck.ECR {
		note("endpoint", "must be a registry of ECR, such as 123456789012.dkr.ecr.eu-west-1.amazonaws.com or public.ecr.aws")
	}
	return registries.SentDefinition{Definition: d, RegistryUID: s.RegistryUID, Scope: s.Scope}, problems
}

// ecrAuth returns the credentials of a spec. One that is not private and has none is used without: clients cannot leave them out.
func ecrAuth(s *api.ECRRegistrySpec, note func(field, problem string)) regcheck.Auth {
	c := s.Credentials
	if c == nil {
		c = &api.ECRCredentials{}
	}
	open := s.IsPrivate != nil && !*s.IsPrivate && c.AccessKey == "" && c.SecretKey == ""
	role := c.CredentialType == api.CredentialTypeSTS
	switch {
	case c.CredentialType != "" && c.CredentialType != api.CredentialTypeSecret && !role:
		note("auth.type", "must be one of secret, sts")
	case role && (c.STS == nil || c.STS.ARN == ""):
		note("auth.aws.roleArn", "is required for credentialType sts")
	case role:
		return regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{Ambient: true, RoleARN: c.STS.ARN, ExternalID: c.STS.ExternalID}}
	case !open:
		return regcheck.Auth{Type: regcheck.ECR, AWS: &regcheck.AWSKey{AccessKey: c.AccessKey, SecretKey: c.SecretKey}}
	}
	return regcheck.Auth{Type: regcheck.NoAuth}
}

// ECR returns a stored registry of Amazon.
func ECR(r registries.Registry) api.ECRRegistry {
	d := r.Definition
	return api.ECRRegistry{Metadata: metadata(r), Status: status(r), Spec: api.ECRRegistrySpec{
		Endpoint: d.Endpoint, IsPrivate: &r.Private, ProviderType: providerType(d.ProviderType), BaseContentPath: d.BaseContentPath,
		DefaultRegion: region(r.Kind, d.Endpoint), IsSyncSupported: r.SyncSupported, ContainsSpectroManifest: r.SpectroManifest,
		Scope: Scope(r.Scope), Credentials: ecrCredentials(d.Auth.AWS), TLS: ecrTLS(d.Auth.TLS),
	}}
}

// ecrCredentials always have a type, and a role if it is that of roles: clients dereference both.
func ecrCredentials(k *regcheck.AWSKey) *api.ECRCredentials {
	switch {
	case k == nil:
		return &api.ECRCredentials{CredentialType: api.CredentialTypeSecret}
	case k.AccessKey == "" && k.RoleARN != "":
		return &api.ECRCredentials{CredentialType: api.CredentialTypeSTS, STS: &api.ECRRole{ARN: k.RoleARN, ExternalID: k.ExternalID}}
	}
	return &api.ECRCredentials{CredentialType: api.CredentialTypeSecret, AccessKey: k.AccessKey, SecretKey: k.SecretKey}
}

// ecrTLS returns nil for settings that change nothing. Clients send them for a configuration that has none.
func ecrTLS(t regcheck.TLS) *api.OCIRegistryTLS {
	if t == (regcheck.TLS{Enabled: t.Enabled}) {
		return nil
	}
	return tls(t)
}
