package registries

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Change replaces a stored registry by itself with the changes of change, which gets masks instead of secrets.
//
// Faults: as Replace.
func (s *Service) Change(ctx context.Context, p auth.Principal, origin audit.Origin, uid string, change func(*RegistryInput)) error {
	if err := s.allowedOn(ctx, p, origin, access.ChangeRegistries, audit.RegistryUpdate, uid); err != nil {
		return err
	}
	found, err := s.Get(ctx, p, uid)
	if err != nil {
		return err
	}
	input := RegistryInput{Name: found.Name, Annotations: found.Annotations, Labels: maps.Clone(found.Labels), Definition: found.Definition,
		Scope: found.Scope, SyncSupported: found.SyncSupported, SpectroManifest: found.SpectroManifest, Private: found.Private,
		Version: found.Version}
	change(&input)
	return s.Replace(ctx, p, origin, uid, input)
}

// differingPerMinute is how many registries whose secrets differ a user may compare per minute with another one. Without this limit, a
// user could store guesses of a password and have them compared with the stored one, faster than by checks of the registry.
const differingPerMinute = 100

// maxSame bounds the registries that are compared, each of which is decrypted.
const maxSame = 1000

// SameCredentials lists the uids of the registries, by name, that the caller may change and that have the same credentials as one of them,
// which is the last: while it has the old credentials, repeating a replacement that was interrupted finds the others that still have them.
//
// Faults: Forbidden; NotFound; Invalid for a registry without credentials, or with more than maxSame to compare; Conflict with
// CodeSecretUnreadable; Limited.
func (s *Service) SameCredentials(ctx context.Context, p auth.Principal, uid string) ([]string, error) {
	found, err := s.Get(ctx, p, uid)
	if err == nil {
		err = p.MayIn(access.ChangeRegistries, found.ProjectUID)
	}
	if err == nil && found.Definition.Auth.Kind() == regcheck.NoAuth {
		err = fault.InvalidField("sameCredentialsAs", "must have credentials")
	}
	if err != nil {
		return nil, err
	}
	one, err := s.read(ctx, p.OrgUID, uid)
	if err == nil && one.damage != nil {
		err = SecretUnreadable(one.damage)
	}
	if err != nil {
		return nil, err
	}
	others, err := store.Read(ctx, s.db, func(tx *store.Tx) ([]store.Registry, error) { return sameIdentities(ctx, tx, p, one.Registry) })
	if err != nil {
		return nil, fault.Wrap("compare credentials", err)
	}
	var same []string
	differing := 0
	for _, other := range others {
		if credentialsOf(other) == credentialsOf(one.Registry) {
			same = append(same, other.UID)
		} else {
			differing++
		}
	}
	return append(same, uid), s.reserveComparisons(p, differing)
}

// sameIdentities reads the other registries that the caller may change and that have the kind of credentials, username and settings of one.
func sameIdentities(ctx context.Context, tx *store.Tx, p auth.Principal, one store.Registry) (list []store.Registry, err error) {
	kind := string(definitionOf(one).Auth.Kind())
	uids, err := tx.Registries.OfUsername(ctx, one.OrgUID, one.Username, kind, maxSame+1)
	if err == nil && len(uids) > maxSame {
		err = fault.InvalidField("sameCredentialsAs",
			fmt.Sprintf("must share auth.type and username with fewer than %d other registries", maxSame))
	}
	if err != nil {
		return nil, err
	}
	for _, uid := range uids {
		r, err := tx.Registries.Get(ctx, one.OrgUID, uid)
		switch {
		case errors.Is(err, seal.ErrDamaged) || uid == one.UID:
		case err != nil:
			return nil, err
		case p.CanIn(access.ChangeRegistries, r.ProjectUID) && identityText(r) == identityText(one):
			list = append(list, r)
		}
	}
	return list, nil
}

// reserveComparisons counts comparisons with other secrets.
func (s *Service) reserveComparisons(p auth.Principal, n int) error {
	for range n {
		if wait, reserved := s.comparisons.Reserve(p.UserUID, 0, s.now()); !reserved && p.UserUID != "" {
			return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait, Message: "Too many registries " +
				"have other secrets for the same username. Choose the registries whose credentials to replace."}
		}
	}
	return nil
}

// identityText returns what is shown of the credentials of a definition as one text, to be compared only. Whether other hosts get them is
// not a part of them.
func identityText(r store.Registry) string {
	a := definitionOf(r).Auth
	settings, _ := settingsOf(a)
	delete(settings, "passCredentials")
	return textOf([]any{a.Kind(), a.Username, settings})
}

// credentialsOf returns the secrets of a definition as one text, to be compared only.
func credentialsOf(r store.Registry) string {
	return textOf([]any{r.Secrets.Password.Reveal(), r.Secrets.Token.Reveal()})
}

// ReplaceCredentials changes the credentials of an input. How they are used, and TLS, stay.
func ReplaceCredentials(input *RegistryInput, credentials *regcheck.Auth) {
	before := input.Definition.Auth
	input.Definition.Auth = credentials.Clone()
	input.Definition.Auth.TLS, input.Definition.Auth.PassCredentials = before.TLS, before.PassCredentials
}

// CredentialProblems reports secrets that are missing or masked: the stored ones of each registry would be used instead.
func CredentialProblems(a *regcheck.Auth) []fault.Field {
	switch {
	case a == nil:
		return fault.FieldProblem("auth", "is required")
	case a.Kind() == regcheck.NoAuth:
		return fault.FieldProblem("auth", "must have credentials")
	case a.Kind() == regcheck.Basic && a.Password == "":
		return fault.FieldProblem("auth.password", "is required")
	case a.Kind() == regcheck.Token && a.Token == "":
		return fault.FieldProblem("auth.token", "is required")
	}
	return maskProblems(regcheck.Definition{Auth: a})
}

// Allowed returns why the caller may not change, delete or check a registry that it may read.
func Allowed(p auth.Principal, r Registry, permission access.Permission) error {
	err := p.MayIn(permission, r.ProjectUID)
	if err != nil || permission == access.ValidateRegistries || permission == access.DeleteRegistries && !r.ClusterRead {
		return err
	}
	return readOnly(r.Origin)
}
