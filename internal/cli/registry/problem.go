package registry

import (
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// phrases say in few words why a check failed, by its code.
var phrases = map[string]string{
	"RegistryCredentialSourceFailed": "credentials not obtained",
	"RegistryHostNotFound":           "host not found",
	"RegistryAddressForbidden":       "address not allowed",
	"RegistryUnreachable":            "no connection",
	"RegistryTLSFailed":              "TLS failed",
	"RegistryNotOCI":                 "not an OCI registry",
	"RegistryNotChartRepository":     "not a chart repository",
	"RegistryUnavailable":            "registry unavailable",
	"RegistryRedirected":             "redirected to another host",
	"RegistryAuthRequired":           "credentials required",
	"RegistryAuthFailed":             "credentials rejected",
	"RegistryTokenServiceFailed":     "token service failed",
	"RegistryAccessDenied":           "access denied",
	"RegistryContentNotFound":        "content not found",
	"RegistryContentDamaged":         "content damaged",
}

// problemOf says in few words what is wrong with a registry, "" if nothing is.
func problemOf(h api.RegistryHealth, now time.Time) string {
	text, code := "", known(h.Code)
	switch {
	case code != "":
		text = phrases[code]
		if text == "" {
			text = code
		}
		if reason := known(h.Reason); reason != "" {
			text += " (" + reason + ")"
		}
	case h.CredentialsExpireSoon && h.CredentialsNotAfter != nil:
		text = "credentials expire " + output.Age(*h.CredentialsNotAfter, now)
	case h.CertificateExpiresSoon && h.CertificateNotAfter != nil:
		text = "certificate expires " + output.Age(*h.CertificateNotAfter, now)
	case h.Unconfirmed:
		text = "the last check failed"
	}
	return text
}
