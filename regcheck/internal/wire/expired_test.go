package wire

import "testing"

func TestIsExpired(t *testing.T) {
	for text, want := range map[string]bool{
		`{"errors":[{"code":"DENIED","message":"Your authorization token has expired. Reauthenticate and try again."}]}`:            true,
		`{"errors":[{"code":"UNAUTHORIZED","message":"token is expired by 2h"}]}`:                                                   true,
		`{"errors":[{"status":401,"message":"Token failed verification: expired"}]}`:                                                true,
		`{"error":"invalid_token","error_description":"The access token expired"}`:                                                  true,
		"unauthorized: token has invalid claims: token is expired":                                                                  true,
		"Your personal access token has EXPIRED.":                                                                                   true,
		"HTTP Basic: Access denied. If a token was provided, it was either incorrect, expired, or improperly scoped. See the help.": false,
		"the password is wrong or has expired":                                                                                      false,
		"invalid credentials; your token may have expired":                                                                          false,
		"Bad credentials: expired, revoked":                                                                                         false,
		"check whether the password has expired":                                                                                    false,
		`{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`:                                                  false,
		"": false,
	} {
		if got := IsExpired(&Response{Status: 403, Body: []byte(text)}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
