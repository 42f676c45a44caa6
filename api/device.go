package api

// Parameters of POST PathDevice and of POST PathToken for a device, which are forms (RFC 8628).
const (
	ParamClientID   = "client_id" // any; shown to no one
	ParamDeviceCode = "device_code"

	GrantDeviceCode = "urn:ietf:params:oauth:grant-type:device_code"
)

// Error codes of POST PathToken for a device, in the member error of the body.
const (
	ErrorAuthorizationPending = "authorization_pending"
	ErrorSlowDown             = "slow_down"
	ErrorAccessDenied         = "access_denied"
	ErrorExpiredToken         = "expired_token"
)

// DeviceLogin is the response of POST PathDevice (RFC 8628 section 3.2). The code of the device is not masked, since the client needs it.
type DeviceLogin struct {
	DeviceCode              string `json:"device_code"`
	UserCode                string `json:"user_code"`
	VerificationURI         string `json:"verification_uri"`
	VerificationURIComplete string `json:"verification_uri_complete"`
	ExpiresIn               int64  `json:"expires_in"` // seconds
	Interval                int64  `json:"interval"`   // seconds between two requests for the token
}
