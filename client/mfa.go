package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/secret"
)

// ErrSecondFactor is the error of a login whose password is right, if the Config has no SecondFactor.
var ErrSecondFactor = errors.New("the user has to log in with a second factor: programs use an API key; " +
	"people log in with 'regwarden login' or in the console")

// Challenge is what a login asks a person for.
type Challenge struct {
	// Enrollment is what an app has to get first, if the organization requires a second factor and the user has none yet; else nil.
	Enrollment *api.MFAEnrollment
	// Refused is why the server asks again; nil at first.
	Refused error
}

// MFA has the operations on second factors: own ones, that of another user, and what the organization requires.
type MFA struct{ c *Client }

// Status returns the state of the caller's second factor.
func (m MFA) Status(ctx context.Context) (*api.MFAStatus, error) {
	return fetch[api.MFAStatus](ctx, m.c, request{path: api.PathMyMFA})
}

// Enroll begins a second factor of the caller. It counts after Confirm.
func (m MFA) Enroll(ctx context.Context, password secret.String) (*api.MFAEnrollment, error) {
	return fetch[api.MFAEnrollment](ctx, m.c, request{method: http.MethodPost, path: api.PathMyMFA,
		in: api.MFAPassword{CurrentPassword: password}})
}

// Confirm makes logins ask for a code from then on, and returns the recovery codes, this one time.
func (m MFA) Confirm(ctx context.Context, code secret.String) ([]string, error) {
	return m.codes(ctx, api.PathMyMFAConfirm, api.MFACode{Code: code})
}

// Remove removes the second factor of the caller. The code may be a recovery code.
func (m MFA) Remove(ctx context.Context, password, code secret.String) error {
	return m.c.do(ctx, request{method: http.MethodPost, path: api.PathMyMFARemove, creates: true,
		in: api.MFAProof{CurrentPassword: password, Code: code}}, nil)
}

// RenewCodes replaces the recovery codes of the caller, and returns the new ones, this one time.
func (m MFA) RenewCodes(ctx context.Context, password, code secret.String) ([]string, error) {
	return m.codes(ctx, api.PathMyMFACodes, api.MFAProof{CurrentPassword: password, Code: code})
}

func (m MFA) codes(ctx context.Context, path string, in any) ([]string, error) {
	found, err := read[api.MFARecoveryCodes](ctx, m.c, request{method: http.MethodPost, path: path, in: in, creates: true})
	return found.RecoveryCodes, err
}

// Reset removes the second factor of another user. Its sessions and password stay.
func (m MFA) Reset(ctx context.Context, user string) error {
	return m.c.delete(ctx, api.PathUserMFA, user)
}

// Required reports whether the organization requires a second factor of users who log in with a password.
func (m MFA) Required(ctx context.Context, org string) (bool, error) {
	found, err := setting[api.TenantMFA](ctx, Tenants(m), api.PathTenantMFA, org)
	if err != nil {
		return false, err
	}
	return found.IsRequired, nil
}

// Require sets whether the organization requires a second factor. Sessions stay.
func (m MFA) Require(ctx context.Context, org string, required bool) error {
	return Tenants(m).set(ctx, http.MethodPut, api.PathTenantMFA, org, api.TenantMFARequest{IsRequired: &required})
}

// completeLogin asks for a code until the server accepts one, or the person gives up.
func (a *authorizer) completeLogin(ctx context.Context, pending api.AuthenticateResponse) (tokens api.AuthenticateResponse, err error) {
	if a.secondFactor == nil {
		return tokens, ErrSecondFactor
	}
	token, challenge := secret.String(pending.Authorization), Challenge{}
	if pending.MFAAction == api.MFAEnroll {
		challenge.Enrollment = new(api.MFAEnrollment)
		if err := a.client.send(ctx, request{method: http.MethodPost, path: api.PathMFAEnroll}, token, challenge.Enrollment); err != nil {
			return tokens, err
		}
	}
	for {
		code, err := a.secondFactor(ctx, challenge)
		if err != nil {
			return tokens, err
		}
		r := request{method: http.MethodPost, path: api.PathMFAVerify, in: api.MFACode{Code: code}, creates: true}
		err = a.client.send(ctx, r, token, &tokens)
		refused, ok := errors.AsType[*api.Error](err)
		if !ok || refused.Code != codeAuthenticationFailed {
			return tokens, err
		}
		challenge.Refused = err
	}
}
