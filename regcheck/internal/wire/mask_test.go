package wire

import (
	"encoding/base64"
	"net/url"
	"testing"
)

func TestCredentialsAreMasked(t *testing.T) {
	var sent sentCredentials
	sent.note(&Request{Authorization: "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:correct horse/battery"))})
	sent.note(&Request{Authorization: "Bearer abcdefghijklmnopqrstuvwxyz"})
	sent.note(&Request{Form: url.Values{"refresh_token": {"identity-token"}}})
	sent.note(&Request{Authorization: "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:short"))})
	basic := base64.StdEncoding.EncodeToString([]byte("ada:correct horse/battery"))
	for text, want := range map[string]string{
		"nothing": "nothing", "": "", "short": "short",
		"a correct horse/battery b":             "a ******** b",
		"correct+horse%2Fbattery":               "********",
		"Basic " + basic + " twice " + basic:    "Basic ********== twice ********==",
		"abcdefghijklmnopqrstuvwxyz":            "********",
		"cut off abcdefghijklmnopq…":            "cut off ********…",
		"abcdefghijk is another":                "abcdefghijk is another",
		"identity-token.":                       "********.",
		"correct hats, and no more":             "correct hats, and no more",
		"aWRlbnRpdHktdG9rZW4 is identity-token": "******** is ********",
	} {
		if got := sent.Masked(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
