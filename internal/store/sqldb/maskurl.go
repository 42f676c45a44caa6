package sqldb

import (
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/secret"
)

// MaskURL returns the URL with a masked password, or only a mask if the position of the password is unclear.
func MaskURL(address secret.String) string {
	scheme, rest, found := strings.Cut(address.Reveal(), "://")
	authority, query, asked := strings.Cut(rest, "?")
	if !found || strings.Count(authority, "@") > 1 || strings.Contains(authority, "#") {
		return address.String()
	}
	if user, hosts, has := strings.Cut(authority, "@"); has {
		name, _, password := strings.Cut(user, ":")
		if strings.Contains(user, "/") {
			return address.String()
		}
		if password {
			name += ":" + secret.Mask
		}
		authority = name + "@" + hosts
	}
	shown := scheme + "://" + authority
	if asked {
		shown += "?" + maskQuery(query)
	}
	return shown
}

// maskQuery masks the parameters for passwords: password, sslpassword.
func maskQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err != nil || strings.Contains(strings.ToLower(plain), "password") {
			parts[i] = name + "=" + secret.Mask
		}
	}
	return strings.Join(parts, "&")
}
