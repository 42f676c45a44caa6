// Package expiries lists certificates and credentials of registries, API keys, and the password of the caller, by their expiry.
package expiries

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/passwordpolicy"
	"github.com/regwarden/regwarden/internal/service/perminute"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Kind is what expires.
type Kind string

// Kinds.
const (
	Certificate Kind = "certificate" // that a registry needs
	Credentials Kind = "credentials"
	APIKey      Kind = "apiKey"
	Password    Kind = "password" // of the caller
)

const (
	ahead = 400 * 24 * time.Hour // longer than certificates of public CAs are valid
	most  = 500                  // registries, and API keys
)

// Expiry is when something expires.
type Expiry struct {
	Kind      Kind
	UID, Name string // of the registry, key or user
	Owner     string // of a key or password: the email of its user; of a registry: its endpoint
	At        time.Time

	// Of a Certificate. Role and the other two are empty if only the time is known.
	Role, Subject, Fingerprint string
	Registries                 int // that need it; UID, Name and Owner are those of one of them
}

// Service lists what expires. It is safe for concurrent use.
type Service struct {
	Registries *registries.Service
	Keys       *auth.APIKeys
	DB         *store.DB
	Now        func() time.Time

	Authenticator *auth.Authenticator
	Limiter       *perminute.Limiter // see NewLimiter
}

// List lists what has expired, or expires within 400 days, of what the caller may see, the first to expire first. At most 500 registries
// and 500 API keys are read, the first to expire first. A certificate that several registries need is listed once. The password of a
// caller who logged in is listed from the day on that the policy of its organization says.
func (s Service) List(ctx context.Context, p auth.Principal) (list []Expiry, err error) {
	if p.CanAnywhere(access.ReadRegistries) {
		if list, err = s.ofRegistries(ctx, p); err != nil {
			return nil, err
		}
	}
	if p.Limit.Allows(access.ReadAllAPIKeys, "") { // a limited key need not see other keys
		keys, err := s.Keys.Expiring(ctx, p, ahead, most)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			list = append(list, Expiry{Kind: APIKey, UID: k.UID, Name: k.Name, Owner: k.Email, At: k.ExpiresAt})
		}
	}
	own, err := s.password(ctx, p)
	if err != nil {
		return nil, err
	}
	list = append(list, own...)
	slices.SortFunc(list, func(a, b Expiry) int {
		if a.At.Equal(b.At) {
			return strings.Compare(a.Name+string(a.Kind)+a.Role, b.Name+string(b.Kind)+b.Role)
		}
		return a.At.Compare(b.At)
	})
	return list, nil
}

// password lists the password of a caller who logged in, if it expires and its user is to see that.
func (s Service) password(ctx context.Context, p auth.Principal) (list []Expiry, err error) {
	if p.SessionUID == "" { // an API key outlives the password
		return nil, nil
	}
	err = s.DB.View(ctx, func(tx *store.Tx) error {
		org, err := tx.Orgs.Get(ctx, p.OrgUID)
		if err != nil || org.PasswordPolicy == "" {
			return err
		}
		policy, err := passwordpolicy.Of(org.PasswordPolicy)
		if err != nil {
			return err
		}
		user, err := tx.Users.Get(ctx, p.OrgUID, p.UserUID)
		at := policy.Expiry(user.PasswordChangedAt)
		if err == nil && user.PasswordHash != "" && policy.Reminds(at, s.Now()) {
			list = []Expiry{{Kind: Password, UID: user.UID, Name: user.Email, Owner: user.Email, At: at}}
		}
		return err
	})
	return list, err
}
