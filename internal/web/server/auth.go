package server

import (
	"encoding/json"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/web/metrics"
	"github.com/regwarden/regwarden/internal/web/people"
	"github.com/regwarden/regwarden/secret"
)

func presented(authorization, key string) auth.Presented {
	return auth.Presented{Authorization: secret.String(authorization), APIKey: secret.String(key)}
}

// loginHandlers handles the routes of logins and refreshes.
type loginHandlers struct {
	auth    *auth.Service
	metrics *metrics.Metrics
}

// authenticate is POST /v1/auth/authenticate and POST /v1/auth.
func (h loginHandlers) authenticate(c *call) (response, error) {
	var body api.AuthenticateRequest
	wrong, err := c.decode(&body)
	if err != nil {
		return response{}, err
	}
	tokens, err := h.auth.Logins.Login(c.Context(), c.origin, auth.Credentials{
		Email: body.EmailID, Org: body.Org, Password: body.Password, NewPassword: body.NewPassword, Undecoded: wrong})
	if fault.KindOf(err) != fault.Invalid && auth.AsCodeRequired(err) == nil { // an invalid request is not counted as a login
		h.metrics.Login(err)
	}
	shown, err := people.LoginResponse(tokens, err)
	return response{http.StatusOK, shown}, err
}

// refresh is GET /v1/auth/refresh/{token}.
func (h loginHandlers) refresh(c *call) (response, error) {
	// A browser's prefetch must not consume the token.
	for _, header := range []string{"Sec-Purpose", "Purpose"} {
		if c.Header.Get(header) != "" {
			return response{}, fault.InvalidField(header, "must not be sent: a prefetch cannot refresh a token")
		}
	}
	tokens, err := h.auth.Sessions.Refresh(c.Context(), c.origin, secret.String(c.PathValue("token")))
	return tokenResponse(tokens), err
}

func tokenResponse(tokens auth.Tokens) response {
	return response{http.StatusOK, api.AuthenticateResponse{
		Authorization: tokens.Authorization.Reveal(),
		RefreshToken:  tokens.Refresh.Reveal(),
	}}
}

// logout is POST /v1/auth/logout.
func (h loginHandlers) logout(c *call) (response, error) {
	return response{status: http.StatusNoContent}, h.auth.Sessions.Logout(c.Context(), c.principal, c.origin)
}

// jwks is GET /.well-known/jwks.json.
func (h loginHandlers) jwks(*call) (response, error) {
	return response{http.StatusOK, json.RawMessage(h.auth.Keys.JWKS())}, nil
}
