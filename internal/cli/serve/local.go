package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// localService runs the API on the store of the settings, in this process.
type localService struct {
	*settings.Settings
	version string
}

// Local returns the service without a server, on the store that the settings name. version is that of the program.
func Local(s *settings.Settings, version string) manage.Local { return localService{s, version} }

// AddFlags adds the settings that name a store.
func (l localService) AddFlags(flags *pflag.FlagSet) { l.AddTo(flags, settings.StoreFlags...) }

// Source returns where the store is named: "flag", "environment", or "default".
func (l localService) Source() string {
	source := "default"
	for _, name := range []string{"data-dir", "database-url", "database-url-file", "config"} {
		if l.Flags.Changed(name) {
			return "flag"
		}
		if os.Getenv(settings.EnvName(name)) != "" {
			source = "environment"
		}
	}
	return source
}

// Where names the store in messages.
func (l localService) Where() string {
	if l.DatabaseURL != "" {
		return "PostgreSQL"
	}
	return l.DataDir
}

// Open opens the store as an administrator of the named organization, of the only one if org is empty, or of none if anyOrg is true.
// Users who may read the data directory are trusted. The audit log has their operations with the origin "cli".
func (l localService) Open(ctx context.Context, org string, anyOrg bool) (http.RoundTripper, func(), error) {
	if err := l.Load(os.Getenv); err != nil {
		return nil, nil, err
	}
	db, err := l.OpenExisting(ctx)
	if errors.Is(err, sqldb.ErrEmpty) && l.Source() == "default" {
		err = fmt.Errorf("%w\nTo use a server: regwarden login URL", err)
	}
	if err != nil {
		return nil, nil, err
	}
	transport, err := l.connect(ctx, db, org, anyOrg)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return transport, func() { _ = db.Close() }, nil // every change is committed
}

// connect creates the parts of the service that need no listener.
func (l localService) connect(ctx context.Context, db *store.DB, org string, anyOrg bool) (http.RoundTripper, error) {
	authService, err := NewAuth(ctx, db, &l.Config, nil, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	checker, err := NewChecker(&l.Config)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	s, err := newServer(db, authService, checker, &l.Config, l.version, log)
	if err != nil {
		return nil, err
	}
	s.Invitations = newInvitations(s, invitationLinks(&l.Config, ""))
	s.SSO, s.Devices = federation.NewSSO(s.Federation, l.PublicURL, 0), federation.NewDevices(s.Federation, l.PublicURL)
	p, err := localPrincipal(ctx, db, org, anyOrg)
	return explained{s.Local(p), db.Ready}, err
}

// explained is the API of a local store, whose user may know why the store cannot be used.
type explained struct {
	http.RoundTripper
	ready func(context.Context) error
}

// RoundTrip returns the error of the store in place of a response that only says that it is unavailable.
func (e explained) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.RoundTripper.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		return resp, err
	}
	failed := e.ready(r.Context())
	if reason, _ := sqldb.Reason(failed); reason == "" {
		return resp, nil
	}
	return nil, errors.Join(failed, resp.Body.Close())
}

// localPrincipal returns the administrator of the named organization, without a name of the only one, or of none if anyOrg is true.
func localPrincipal(ctx context.Context, db *store.DB, name string, anyOrg bool) (auth.Principal, error) {
	if name == "" && anyOrg {
		return auth.Operator(), nil
	}
	return auth.OperatorOf(ctx, db, name)
}
