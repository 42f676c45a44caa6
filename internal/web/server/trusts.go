package server

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/web/metrics"
	"github.com/regwarden/regwarden/secret"
)

var trustFields = fieldNames{"name": "metadata.name", "issuer": "spec.issuer", "audience": "spec.audience", "claims": "spec.claims",
	"role": "spec.role", "projects": "spec.projects", "ca": "spec.ca", "keys": "spec.jwks"}

// trustHandlers handles the routes of trust rules, and the exchange of tokens that they accept.
type trustHandlers struct {
	directory  directory.Trusts
	federation *federation.Service
	devices    *federation.Devices
	metrics    *metrics.Metrics
}

// createTrust is POST /v1/trustRules.
func (h trustHandlers) createTrust(c *call) (response, error) {
	var body api.TrustRuleRequest
	var input directory.NewTrust
	err := c.read(&body, func() []fault.Field {
		spec := body.Spec
		input = directory.NewTrust{Name: body.Metadata.Name, Issuer: spec.Issuer, Audience: spec.Audience, Claims: spec.Claims,
			Role: auth.Role(spec.Role), Projects: spec.Projects, CA: spec.CA, Keys: spec.JWKS, Reusable: spec.Reusable}
		return trustFields.In(h.directory.Problems(input))
	})
	if err != nil {
		return response{}, err
	}
	created, err := h.directory.Create(c.Context(), c.principal, c.origin, input)
	return response{http.StatusCreated, api.Created{UID: created.UID}}, trustFields.Err(err)
}

// listTrusts is GET /v1/trustRules.
func (h trustHandlers) listTrusts(c *call) (response, error) {
	list, err := h.directory.List(c.Context(), c.principal)
	body := api.TrustRules{Items: make([]api.TrustRule, len(list))}
	for i, t := range list {
		body.Items[i] = trustRule(t)
	}
	return response{http.StatusOK, body}, err
}

// getTrust is GET /v1/trustRules/{uid}.
func (h trustHandlers) getTrust(c *call) (response, error) {
	found, err := h.directory.Get(c.Context(), c.principal, c.PathValue("uid"))
	return response{http.StatusOK, trustRule(found)}, err
}

// deleteTrust is DELETE /v1/trustRules/{uid}.
func (h trustHandlers) deleteTrust(c *call) (response, error) {
	return response{status: http.StatusNoContent}, h.directory.Delete(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

func trustRule(t directory.Trust) api.TrustRule {
	rule := api.TrustRule{Metadata: api.Metadata{UID: t.UID, Name: t.Name, CreationTimestamp: t.CreatedAt},
		Spec: api.TrustRuleSpec{Issuer: t.Issuer, Audience: t.Audience, Claims: t.Claims, Role: string(t.Role), CA: t.CA, JWKS: t.Keys,
			Reusable: t.Reusable},
		Status: api.TrustRuleStatus{LastUsed: t.LastUsedAt}}
	for _, project := range t.Projects {
		rule.Spec.Projects = append(rule.Spec.Projects, project.UID)
	}
	return rule
}

// exchangeToken is POST /v1/auth/token, which needs no other credentials than the token.
func (h trustHandlers) exchangeToken(c *call) (response, error) {
	form, err := c.form()
	if err != nil {
		return response{}, err
	}
	if form.Get(api.ParamGrantType) == api.GrantDeviceCode {
		return h.redeemDevice(c, form)
	}
	if err := fault.InvalidIfAny(exchangeProblems(form)); err != nil {
		return response{}, err
	}
	tokens, err := h.federation.Exchange(c.Context(), c.origin, federation.Exchange{Org: form.Get(api.ParamOrg),
		Rule: form.Get(api.ParamRule), Token: secret.String(form.Get(api.ParamSubjectToken))})
	if fault.KindOf(err) != fault.Invalid { // an invalid request is not counted as a login
		h.metrics.Login(err)
	}
	return response{http.StatusOK, issuedToken(tokens)}, err
}

func issuedToken(tokens auth.Tokens) api.IssuedToken {
	return api.IssuedToken{AccessToken: tokens.Authorization.Reveal(), IssuedTokenType: api.TokenTypeAccess, TokenType: "Bearer",
		ExpiresIn: int64(time.Until(tokens.ExpiresAt).Round(time.Second) / time.Second)}
}

func exchangeProblems(form url.Values) (problems []fault.Field) {
	if form.Get(api.ParamGrantType) != api.GrantTokenExchange {
		problems = fault.FieldProblem(api.ParamGrantType, "must be one of "+api.GrantTokenExchange+", "+api.GrantDeviceCode)
	}
	if !slices.Contains([]string{api.TokenTypeJWT, api.TokenTypeID}, form.Get(api.ParamSubjectTokenType)) {
		problems = append(problems, fault.Field{Field: api.ParamSubjectTokenType,
			Problem: "must be one of " + api.TokenTypeJWT + ", " + api.TokenTypeID})
	}
	for name, values := range form {
		if len(values) > 1 {
			problems = append(problems, fault.Field{Field: name, Problem: "must be sent only once"})
		}
	}
	slices.SortFunc(problems, func(a, b fault.Field) int { return strings.Compare(a.Field, b.Field) })
	return problems
}

// form reads the body as a form, as OAuth requires it.
func (c *call) form() (url.Values, error) {
	if err := c.checkEncoding(); err != nil {
		return nil, err
	}
	media, _, err := mime.ParseMediaType(strings.Join(c.Header.Values("Content-Type"), ", "))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return nil, &fault.Error{Kind: fault.Invalid, Code: fault.CodeUnsupportedMedia,
			Message: "The request body must be a form, with the header Content-Type: application/x-www-form-urlencoded."}
	}
	body, err := c.readBody(maxAnonymousBody)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fault.InvalidField("body", "must be a form")
	}
	return form, nil
}
