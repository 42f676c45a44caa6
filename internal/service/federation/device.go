package federation

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/service/perminute"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

const (
	// deviceTime is how long a program waits for a person.
	deviceTime = 10 * time.Minute
	// PollInterval is the shortest time between two requests of a program.
	PollInterval = 5 * time.Second

	devicesPerMinute = 10  // that a source begins, and codes that a user enters
	pollsPerMinute   = 300 // of a source, which may be that of a whole company

	// userCodeLetters form no words and are not confused with others (RFC 8628 section 6.1).
	userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLength  = 8

	deviceCodePrefix = "rwd_"
)

// CodeDevice is the code of the faults of Devices.Redeem; their reason is an error code of RFC 8628 section 3.5.
const (
	CodeDevice = "DeviceLoginNotCompleted"

	ReasonPending    = "authorization_pending"
	ReasonSlowDown   = "slow_down"
	ReasonDenied     = "access_denied"
	ReasonDeviceGone = "expired_token"
)

var deviceMessages = map[string]string{
	ReasonPending:    "The login is not confirmed yet. Ask again after the interval.",
	ReasonSlowDown:   "Ask again after 5 seconds.",
	ReasonDenied:     "The login was refused in the browser.",
	ReasonDeviceGone: "The login has expired. Begin another one.",
}

func deviceFault(reason string) *fault.Error {
	return &fault.Error{Kind: fault.Invalid, Code: CodeDevice, Reason: reason, Message: deviceMessages[reason]}
}

// Devices logs in programs without a browser of their own, such as the command line: the person confirms the login in a browser, where it
// is logged in by password or identity provider (RFC 8628). It is safe for concurrent use.
type Devices struct {
	service   *Service
	publicURL string
	limit     *perminute.Limiter
	polls     *perminute.Limiter
}

// NewDevices returns the device logins of a service that browsers reach at publicURL.
func NewDevices(service *Service, publicURL string) *Devices {
	return &Devices{service: service, publicURL: strings.TrimSuffix(publicURL, "/"), limit: perminute.New(devicesPerMinute),
		polls: perminute.New(pollsPerMinute)}
}

// Device is a login that a program has begun.
type Device struct {
	Code     secret.String // of the program
	UserCode string        // that the person compares or enters
	URL      string        // where
	Lifetime time.Duration
}

func (d *Devices) reserve(limit *perminute.Limiter, holder, message string) error {
	if wait, reserved := limit.Reserve(holder, 0, d.service.config.WaitNow()); !reserved {
		return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait, Message: message}
	}
	return nil
}

// Begin begins a login.
//
// Faults: Limited; Unavailable.
func (d *Devices) Begin(ctx context.Context, origin audit.Origin) (Device, error) {
	if err := d.reserve(d.limit, "source "+origin.Source(), "Too many logins were begun in the last minute. Try again later."); err != nil {
		return Device{}, err
	}
	now := d.service.config.Now()
	code, hash := randomkey.New(deviceCodePrefix)
	device := Device{Code: code, UserCode: newUserCode(), URL: d.publicURL + "/console/device", Lifetime: deviceTime}
	err := d.service.db.InTx(ctx, func(tx *store.Tx) error {
		return tx.Identities.InsertDevice(ctx, identities.Device{Hash: hash, UserCode: device.UserCode, Address: origin.Address,
			CreatedAt: now, ExpiresAt: now.Add(deviceTime)})
	})
	return device, fault.Wrap("begin a login", err)
}

// newUserCode returns a random code, without modulo bias since 240 is a multiple of 20.
func newUserCode() string {
	var code []byte
	for b := make([]byte, 1); len(code) < userCodeLength; {
		_, _ = rand.Read(b)
		if b[0] < 240 {
			code = append(code, userCodeLetters[int(b[0])%len(userCodeLetters)])
		}
	}
	return string(code[:userCodeLength/2]) + "-" + string(code[userCodeLength/2:])
}

// readUserCode returns a code as it is stored, however a person enters it.
func readUserCode(text string) string {
	letters := strings.Map(func(r rune) rune {
		if strings.ContainsRune(userCodeLetters, r) {
			return r
		}
		return -1
	}, strings.ToUpper(text))
	if len(letters) != userCodeLength {
		return ""
	}
	return letters[:userCodeLength/2] + "-" + letters[userCodeLength/2:]
}

// PendingDevice is a login that a person may confirm.
type PendingDevice struct {
	UserCode, Address string
	CreatedAt         time.Time
}

// errNoDevice is the fault of a code that is unknown, expired or was confirmed before.
func errNoDevice() error {
	return fault.InvalidField("code", "is not the code of a login that waits, or has expired")
}

// Find returns the login with the code that a person enters. A person may try few codes.
//
// Faults: Invalid with field code; Forbidden for a caller without a session; Limited.
func (d *Devices) Find(ctx context.Context, p auth.Principal, code string) (PendingDevice, error) {
	if err := d.check(p); err != nil {
		return PendingDevice{}, err
	}
	found, err := store.Read(ctx, d.service.db, func(tx *store.Tx) (identities.Device, error) {
		return tx.Identities.PendingDevice(ctx, readUserCode(code), d.service.config.Now())
	})
	if errors.Is(err, store.ErrNotFound) {
		return PendingDevice{}, errNoDevice()
	}
	return PendingDevice{found.UserCode, found.Address, found.CreatedAt}, fault.Wrap("look up a login", err)
}

func (d *Devices) check(p auth.Principal) error {
	if p.SessionUID == "" || p.UserUID == "" {
		return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden,
			Message: "Only a person who is logged in can do this."}
	}
	return d.reserve(d.limit, "user "+p.UserUID, "Too many codes were entered in the last minute. Try again later.")
}

// Confirm lets the program of a code log in as the caller, or refuses that.
//
// Faults: as of Find.
func (d *Devices) Confirm(ctx context.Context, p auth.Principal, code string, allow bool) error {
	if err := d.check(p); err != nil {
		return err
	}
	err := d.service.db.InTx(ctx, func(tx *store.Tx) error {
		return tx.Identities.ConfirmDevice(ctx, readUserCode(code), p.SessionUID, allow, d.service.config.Now())
	})
	if errors.Is(err, store.ErrNotFound) {
		return errNoDevice()
	}
	return fault.Wrap("confirm a login", err)
}

// Redeem returns the tokens of a login that a person confirmed, once. The session ends with the identity that the person logged in by, if
// any.
//
// Faults: Invalid with CodeDevice; Limited.
func (d *Devices) Redeem(ctx context.Context, origin audit.Origin, code secret.String) (auth.Tokens, error) {
	const message = "Too many programs asked for the tokens of a login in the last minute. Retry after the time in Retry-After."
	if err := d.reserve(d.polls, origin.Source(), message); err != nil {
		return auth.Tokens{}, err
	}
	hash, ok := randomkey.Hash(deviceCodePrefix, code)
	if !ok {
		return auth.Tokens{}, deviceFault(ReasonDeviceGone)
	}
	now := d.service.config.Now()
	device, reason, err := d.poll(ctx, hash, now)
	if err != nil {
		return auth.Tokens{}, fault.Wrap("look up a login", err)
	}
	if reason != "" {
		return auth.Tokens{}, deviceFault(reason)
	}
	v, err := d.vouched(ctx, device)
	if err == nil {
		var tokens auth.Tokens
		if tokens, err = d.service.logins.LoginVouched(ctx, origin, v); err == nil {
			return tokens, nil
		}
	}
	if errors.Is(err, auth.ErrNoLogin) || errors.Is(err, store.ErrNotFound) { // what the person used has ended since
		return auth.Tokens{}, deviceFault(ReasonDenied)
	}
	return auth.Tokens{}, fault.Wrap("log in a device", err)
}

// poll returns a login that is confirmed, or why there are no tokens. It writes only for a program that keeps the interval: a client that
// asks without a pause, or with a code that is unknown, must not occupy the writers of the store.
func (d *Devices) poll(ctx context.Context, hash []byte, now time.Time) (device identities.Device, reason string, err error) {
	device, err = store.Read(ctx, d.service.db, func(tx *store.Tx) (identities.Device, error) {
		return tx.Identities.Device(ctx, hash)
	})
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && !now.Before(device.ExpiresAt):
		return device, ReasonDeviceGone, nil
	case err != nil:
		return device, "", err
	case device.Denied:
		return device, ReasonDenied, nil
	case device.SessionUID != "":
		return device, "", nil
	case now.Sub(device.PolledAt) < PollInterval-time.Second: // requests of a busy machine may come a little early
		return device, ReasonSlowDown, nil
	}
	err = d.service.db.InTx(ctx, func(tx *store.Tx) error { return tx.Identities.PollDevice(ctx, hash, now) })
	if errors.Is(err, store.ErrNotFound) {
		return device, ReasonDeviceGone, nil
	}
	return device, ReasonPending, err
}

// vouched returns the login of a device by the session in which it was confirmed. That session must live at the time of the login.
func (d *Devices) vouched(ctx context.Context, device identities.Device) (v auth.Vouched, err error) {
	var bound identities.Session
	var session store.Session
	err = d.service.db.View(ctx, func(tx *store.Tx) error {
		if session, err = tx.Sessions.Get(ctx, device.SessionUID); err != nil {
			return err
		}
		v = auth.Vouched{OrgUID: session.OrgUID, Method: audit.MethodConsole, Target: device.Address,
			RecheckAt: session.RecheckAt}
		bound, err = tx.Identities.Session(ctx, device.SessionUID)
		if err == nil && session.RecheckAt.IsZero() {
			v.Until = session.MaxUntil // the provider cannot be asked
		}
		if errors.Is(err, store.ErrNotFound) {
			err = nil // a login by password
		}
		return err
	})
	v.User = func(tx *store.Tx) (store.User, error) {
		user, err := tx.Users.Get(ctx, session.OrgUID, session.UserUID) // first: if a password is set after this read, the login fails
		if err == nil {
			session, err = tx.Sessions.Get(ctx, device.SessionUID)
		}
		if err == nil && (!session.EndedAt.IsZero() || !d.service.config.Now().Before(session.MaxUntil)) {
			err = auth.ErrNoLogin
		}
		if err == nil {
			err = tx.Identities.DeleteDevice(ctx, device.Hash)
		}
		return user, err
	}
	if bound.IdentityUID != "" {
		v.Stored = func(tx *store.Tx, session string) error {
			return tx.Identities.Bind(ctx, identities.Session{SessionUID: session, IdentityUID: bound.IdentityUID, SID: bound.SID})
		}
	}
	return v, err
}
