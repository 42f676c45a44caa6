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
		if got := sent.inText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A mask must not disclose a secret: what stands in a text anyway is not masked.
func TestExpectedWordsAreNotMasked(t *testing.T) {
	for _, password := range []string{"password", "Registry", "harbor", "username", "registry.acme.example", "acme.example", "team-a"} {
		sent := sentCredentials{visible: "https://registry.acme.example/v2/\ncharts/team-a"}
		sent.Add("Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+password)))
		const text = "https://registry.acme.example/charts/team-a: incorrect username or password for the registry harbor, Registry"
		if got := sent.inText(text); got != text {
			t.Errorf("%q: %s", password, got)
		}
	}
	sent := sentCredentials{visible: "https://registry.acme.example/v2/\n"}
	sent.Add("Basic " + base64.StdEncoding.EncodeToString([]byte("ada:registry.acme-secret")))
	if got := sent.inText("registry.acme.example has registry.acme-secret"); got != "registry.acme.example has ********" {
		t.Error(got)
	}
}

func TestLinesOfPasswordAreMasked(t *testing.T) {
	var sent sentCredentials
	sent.Add("Basic " + base64.StdEncoding.EncodeToString([]byte("_json_key:{\n  \"private_key\": \"MIIE\"\n}")))
	if got := sent.inText(CleanText("got {\n  \"private_key\": \"MIIE\"\n} from you")); got != "got ******** from you" {
		t.Error(got)
	}
}

// Names are masked only for long credentials, as a whole.
func TestNamesAreMasked(t *testing.T) {
	var sent sentCredentials
	sent.Add("Basic " + base64.StdEncoding.EncodeToString([]byte("ada:hunter22")))
	sent.Add("Bearer 0123456789abcdef0123")
	for name, want := range map[string]string{
		"charts/hunter22":                 "charts/hunter22",
		"charts/0123456789abcdef":         "charts/0123456789abcdef",
		"charts/x-0123456789abcdef0123/y": "charts/x-********/y",
		"charts/0123456789abcdef01230123": "charts/********0123",
	} {
		if got := sent.inName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
