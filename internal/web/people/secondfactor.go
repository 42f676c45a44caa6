package people

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/secret"
)

// factorHandlers handles the routes of second factors. Those below /v1/auth have the token of a login that waits as their credential.
type factorHandlers struct {
	*secondfactor.Service
	directory *directory.Directory
	count     func(error) // the outcome of a login
}

func (h factorHandlers) operations() []Operation {
	return []Operation{
		{Method: "POST", Path: api.PathMFAVerify, Handle: h.verify, Public: true},
		{Method: "POST", Path: api.PathMFAEnroll, Handle: h.enrollPending, Public: true},
		{Method: "GET", Path: api.PathMyMFA, Handle: h.status, Own: true},
		{Method: "POST", Path: api.PathMyMFA, Handle: h.enroll, Own: true, Announced: true},
		{Method: "POST", Path: api.PathMyMFAConfirm, Handle: h.confirm, Own: true, Announced: true},
		{Method: "POST", Path: api.PathMyMFARemove, Handle: h.remove, Own: true, Announced: true},
		{Method: "POST", Path: api.PathMyMFACodes, Handle: h.renewCodes, Own: true, Announced: true},
		{Method: "DELETE", Path: api.PathUserMFA, Handle: h.reset, Announced: true},
		{Method: "GET", Path: api.PathTenantMFA, Handle: shows(h.required)},
		{Method: "PUT", Path: api.PathTenantMFA, Handle: sets(requireProblems, h.require), Announced: true},
	}
}

func noProblems() []fault.Field { return nil }

// pendingToken returns the token of a login that waits. The header must be sent once, as for other operations.
func pendingToken(c Call) (secret.String, error) {
	values := c.Request.Header.Values(api.HeaderAuthorization)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return secret.String(values[0]), nil
	}
	return "", fault.InvalidField(api.HeaderAuthorization, "must be sent only once")
}

func revealed(codes []secret.String) []string {
	var texts []string
	for _, code := range codes {
		texts = append(texts, code.Reveal())
	}
	return texts
}

// LoginResponse returns the response of a login, and its error, which a login that waits for a code is not.
func LoginResponse(tokens auth.Tokens, err error) (api.AuthenticateResponse, error) {
	if pending := auth.AsCodeRequired(err); pending != nil {
		action := api.MFAVerify
		if pending.Add {
			action = api.MFAEnroll
		}
		return api.AuthenticateResponse{Authorization: pending.Token.Reveal(), IsMFA: true, MFAAction: action}, nil
	}
	return api.AuthenticateResponse{Authorization: tokens.Authorization.Reveal(), RefreshToken: tokens.Refresh.Reveal()}, err
}

// verify is POST /v1/auth/mfa/verify.
func (h factorHandlers) verify(c Call) (int, any, error) {
	var body api.MFACode
	if err := c.Read(&body, noProblems); err != nil {
		return 0, nil, err
	}
	token, err := pendingToken(c)
	if err != nil {
		return 0, nil, err
	}
	done, err := h.Complete(c.Context(), c.Origin, token, body.Code)
	if fault.KindOf(err) != fault.Invalid {
		h.count(err)
	}
	shown, err := LoginResponse(done.Tokens, err)
	shown.RecoveryCodes = revealed(done.Codes)
	return http.StatusOK, shown, err
}

func shownEnrollment(e secondfactor.Enrollment, err error) (int, any, error) {
	return http.StatusOK, api.MFAEnrollment{Secret: e.Secret.Reveal(), URI: e.URI.Reveal()}, err
}

// enrollPending is POST /v1/auth/mfa/enroll.
func (h factorHandlers) enrollPending(c Call) (int, any, error) {
	token, err := pendingToken(c)
	if err != nil {
		return 0, nil, err
	}
	return shownEnrollment(h.EnrollPending(c.Context(), c.Origin, token))
}

// status is GET /v1/users/me/mfa.
func (h factorHandlers) status(c Call) (int, any, error) {
	s, err := h.Status(c.Context(), c.Principal)
	return http.StatusOK, api.MFAStatus{IsActive: s.Active, IsRequired: s.Required, ActiveSince: s.ConfirmedAt,
		RecoveryCodesLeft: s.Codes}, err
}

// enroll is POST /v1/users/me/mfa.
func (h factorHandlers) enroll(c Call) (int, any, error) {
	var body api.MFAPassword
	if err := c.Read(&body, noProblems); err != nil {
		return 0, nil, err
	}
	return shownEnrollment(h.Enroll(c.Context(), c.Principal, c.Origin, body.CurrentPassword))
}

// confirm is POST /v1/users/me/mfa/confirm.
func (h factorHandlers) confirm(c Call) (int, any, error) {
	var body api.MFACode
	if err := c.Read(&body, noProblems); err != nil {
		return 0, nil, err
	}
	codes, err := h.Confirm(c.Context(), c.Principal, c.Origin, body.Code)
	return http.StatusOK, api.MFARecoveryCodes{RecoveryCodes: revealed(codes)}, err
}

// remove is POST /v1/users/me/mfa/remove.
func (h factorHandlers) remove(c Call) (int, any, error) {
	var body api.MFAProof
	if err := c.Read(&body, noProblems); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, h.Remove(c.Context(), c.Principal, c.Origin, body.CurrentPassword, body.Code)
}

// renewCodes is POST /v1/users/me/mfa/recoveryCodes.
func (h factorHandlers) renewCodes(c Call) (int, any, error) {
	var body api.MFAProof
	if err := c.Read(&body, noProblems); err != nil {
		return 0, nil, err
	}
	codes, err := h.RenewCodes(c.Context(), c.Principal, c.Origin, body.CurrentPassword, body.Code)
	return http.StatusOK, api.MFARecoveryCodes{RecoveryCodes: revealed(codes)}, err
}

// reset is DELETE /v1/users/{uid}/mfa.
func (h factorHandlers) reset(c Call) (int, any, error) {
	return http.StatusNoContent, nil, directory.Factors{Directory: h.directory}.Reset(c.Context(), c.Principal, c.Origin,
		c.PathValue("uid"))
}

// required is GET /v1/tenants/{uid}/mfa.
func (h factorHandlers) required(c Call) (any, error) {
	required, err := h.Required(c.Context(), c.Principal)
	return api.TenantMFA{IsRequired: required}, err
}

// require is PUT /v1/tenants/{uid}/mfa.
func (h factorHandlers) require(c Call, body api.TenantMFARequest) error {
	return h.Require(c.Context(), c.Principal, c.Origin, *body.IsRequired)
}

func requireProblems(body *api.TenantMFARequest) (problems []fault.Field) {
	if body.IsRequired == nil {
		problems = fault.FieldProblem("isRequired", "is required")
	}
	return problems
}
