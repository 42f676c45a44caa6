package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/secret"
)

// Devices logs in a program after a person confirms it in a browser (RFC 8628).
type Devices struct{ c *Client }

// Begin begins a login. The program shows the person UserCode and VerificationURI, and calls Await then.
func (d Devices) Begin(ctx context.Context) (*api.DeviceLogin, error) {
	return fetch[api.DeviceLogin](ctx, d.c, request{method: http.MethodPost, path: api.PathDevice, anonymous: true,
		form: url.Values{api.ParamClientID: {"regwarden"}}})
}

// Await waits until the person confirms a login, and returns its tokens, for Config.Token and Config.RefreshToken of another client. It
// goes on while the server cannot be reached, until the login expires. An error that the server returns is an *api.Error, whose OAuthError
// says why there are none.
func (d Devices) Await(ctx context.Context, login *api.DeviceLogin) (token, refresh secret.String, err error) {
	interval := time.Duration(min(max(login.Interval, 1), 60)) * time.Second
	r := request{method: http.MethodPost, path: api.PathToken, anonymous: true, form: url.Values{api.ParamClientID: {"regwarden"},
		api.ParamGrantType: {api.GrantDeviceCode}, api.ParamDeviceCode: {login.DeviceCode}}}
	expires := time.Now().Add(time.Duration(login.ExpiresIn) * time.Second)
	for {
		select {
		case <-ctx.Done():
			return "", "", ctx.Err()
		case <-time.After(interval):
		}
		issued, err := fetch[api.IssuedToken](ctx, d.c, r)
		refused, ok := errors.AsType[*api.Error](err)
		switch {
		case ok && refused.OAuthError == api.ErrorAuthorizationPending:
		case ok && refused.OAuthError == api.ErrorSlowDown:
			interval += 5 * time.Second // RFC 8628 section 3.5
		case temporary(err) && time.Now().Before(expires):
			interval = min(2*interval, time.Minute) // RFC 8628 section 3.5
		case err != nil:
			return "", "", err
		case issued.AccessToken == "":
			return "", "", fmt.Errorf("%s: the response has no token", d.c.name(r))
		default:
			return secret.String(issued.AccessToken), secret.String(issued.RefreshToken), nil
		}
	}
}
