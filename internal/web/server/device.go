package server

import (
	"net/http"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/secret"
)

// beginDevice is POST /v1/auth/device, which needs no credentials.
func (h trustHandlers) beginDevice(c *call) (response, error) {
	if _, err := c.form(); err != nil {
		return response{}, err
	}
	d, err := h.devices.Begin(c.Context(), c.origin)
	return response{http.StatusOK, api.DeviceLogin{DeviceCode: d.Code.Reveal(), UserCode: d.UserCode, VerificationURI: d.URL,
		VerificationURIComplete: d.URL + "?" + url.Values{"code": {d.UserCode}}.Encode(), ExpiresIn: int64(d.Lifetime / time.Second),
		Interval: int64(federation.PollInterval / time.Second)}}, err
}

// redeemDevice is POST /v1/auth/token with the code of a device.
func (h trustHandlers) redeemDevice(c *call, form url.Values) (response, error) {
	if form.Get(api.ParamDeviceCode) == "" {
		return response{}, fault.InvalidField(api.ParamDeviceCode, "is required")
	}
	tokens, err := h.devices.Redeem(c.Context(), c.origin, secret.String(form.Get(api.ParamDeviceCode)))
	if fault.KindOf(err) != fault.Invalid { // a login that is not confirmed yet is not counted
		h.metrics.Login(err)
	}
	issued := issuedToken(tokens)
	issued.RefreshToken = tokens.Refresh.Reveal()
	return response{http.StatusOK, issued}, err
}
