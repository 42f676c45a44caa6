package federation

import (
	"context"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// logoutWait is how long a logout waits for the configuration of a provider.
const logoutWait = 3 * time.Second

// LogoutAt returns where a browser logs out at the provider of its session (OpenID Connect RP-Initiated Logout 1.0), "" if it need not. It
// is called before the session ends.
func (s *SSO) LogoutAt(ctx context.Context, session string) string {
	var bound identities.Session
	var p identities.Provider
	err := s.service.db.View(ctx, func(tx *store.Tx) (err error) {
		if bound, err = tx.Identities.Session(ctx, session); err != nil {
			return err
		}
		identity, err := tx.Identities.OfSession(ctx, session)
		if err == nil {
			p, err = tx.Identities.Provider(ctx, identity.OrgUID)
		}
		if err == nil && p.Issuer != identity.Issuer { // replaced since: the ID token is of another provider
			err = store.ErrNotFound
		}
		return err
	})
	if err != nil {
		return "" // of a login with a password, or the session ends here alone
	}
	ctx, cancel := context.WithTimeout(ctx, logoutWait)
	defer cancel()
	config, err := s.service.issuers.configurationOf(ctx, s.issuerOf(p))
	if err != nil {
		return ""
	}
	to, err := url.Parse(config.Logout)
	if err != nil || to.Scheme != "https" || to.Host == "" {
		return ""
	}
	query := to.Query()
	query.Set("id_token_hint", bound.IDToken.Reveal())
	query.Set("client_id", p.Settings.ClientID)
	query.Set("post_logout_redirect_uri", s.LogoutURL())
	to.RawQuery = query.Encode()
	return to.String()
}
