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

// Expiry is something that ends: a certificate or the credentials of a stored registry, or an API key. Owner is the endpoint of the
// registry, or the email of the user of the key.
type Expiry struct {
	Kind     string    `json:"kind"` // certificate, credentials, apiKey or password
	UID      string    `json:"uid"`
	Name     string    `json:"name"`
	Owner    string    `json:"owner"`
	NotAfter time.Time `json:"notAfter"`
}

// ExpiryCalendar returns the path of PathExpiryCalendar with the key of a calendar: an API key with the scope calendar.
func ExpiryCalendar(key string) string {
	return strings.Replace(PathExpiryCalendar, "{key}", url.PathEscape(key), 1)
}
