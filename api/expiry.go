package api

import (
	"net/url"
	"strings"
	"time"
)

// Expiries is the response of PathExpiry: what has ended or ends within 400 days, the first to end first.
type Expiries struct {
	Items []Expiry `json:"items"`
}

// Expiry is something that ends: a certificate that registries need, the credentials of a registry, an API key, or the password of the
// caller. Owner is the endpoint of the registry, or the email of the user of the key or password.
type Expiry struct {
	Kind        string             `json:"kind"` // certificate, credentials, apiKey or password
	UID         string             `json:"uid"`  // of the registry, key or user
	Name        string             `json:"name"`
	Owner       string             `json:"owner"`
	NotAfter    time.Time          `json:"notAfter"`
	Certificate *ExpiryCertificate `json:"certificate,omitzero"` // of a certificate that a check has seen
}

// ExpiryCertificate is a certificate that one or more registries need. UID, Name and Owner of its Expiry are those of one of them.
type ExpiryCertificate struct {
	Role        string `json:"role"`        // server; ca: it issued that of the server, directly or not; client: of the definition
	Subject     string `json:"subject"`     // the common name, or else the first alternative name, or the whole name
	Fingerprint string `json:"fingerprint"` // SHA-256, as openssl writes it
	Registries  int    `json:"registries"`  // how many need it
}

// ExpiryCalendar returns the path of PathExpiryCalendar with the key of a calendar: an API key with the scope calendar.
func ExpiryCalendar(key string) string {
	return strings.Replace(PathExpiryCalendar, "{key}", url.PathEscape(key), 1)
}
