package federation

import (
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// TestDeviceLogin lets a program log in as the person who confirms its code: once, and until the provider does not vouch for the person.
func TestDeviceLogin(t *testing.T) {
	p := mustProvider(t, nil)
	devices := NewDevices(p.Service, audience)
	person := p.mustLogin(t)
	program := audit.Origin{Address: "192.0.2.7"}
	device, err := devices.Begin(t.Context(), program)
	if err != nil || device.URL != audience+"/console/device" {
		t.Fatalf("%+v, %v", device, err)
	}
	redeem := func(want string) auth.Tokens {
		t.Helper()
		tokens, err := devices.Redeem(t.Context(), program, device.Code)
		if reasonOf(err) != want || (err == nil) != (want == "") {
			t.Errorf("%v, want %q", err, want)
		}
		return tokens
	}
	redeem(ReasonPending)
	p.move(PollInterval)
	redeem(ReasonPending)
	redeem(ReasonSlowDown)
	p.move(PollInterval - 2*time.Second)
	redeem(ReasonSlowDown)
	p.move(2 * time.Second)
	redeem(ReasonPending) // requests that came too early wrote nothing
	entered := " " + strings.ToLower(strings.ReplaceAll(device.UserCode, "-", " "))
	pending, err := devices.Find(t.Context(), person, entered)
	if err != nil || pending.Address != program.Address || pending.UserCode != device.UserCode {
		t.Errorf("%+v, %v", pending, err)
	}
	if err := devices.Confirm(t.Context(), person, entered, true); err != nil {
		t.Fatal(err)
	}
	if err := devices.Confirm(t.Context(), person, entered, true); fault.KindOf(err) != fault.Invalid {
		t.Errorf("confirmed twice: %v", err)
	}
	p.newRecords(t)
	tokens := redeem("")
	redeem(ReasonDeviceGone)
	who, err := p.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: tokens.Authorization})
	if err != nil || who.UserUID != person.UserUID || tokens.Refresh == "" {
		t.Errorf("%+v, %v", who, err)
	}
	if records := p.newRecords(t); len(records) != 1 || records[0].Action != audit.Login || records[0].Method != audit.MethodConsole ||
		records[0].Object != who.SessionUID || records[0].Target != program.Address {
		t.Errorf("recorded as %+v", records)
	}
	p.move(time.Hour)
	if tokens, err = p.auth.Sessions.Refresh(t.Context(), program, tokens.Refresh); err != nil || p.refreshes != 1 {
		t.Errorf("asked %d times: %v", p.refreshes, err)
	}
	p.set(func() { p.failure = "invalid_grant" })
	p.move(time.Hour + time.Minute)
	if _, err := p.auth.Sessions.Refresh(t.Context(), program, tokens.Refresh); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("the person is gone: %v", err)
	}
}

// TestRefusedDeviceLogins ends each login in another way before the program asks.
func TestRefusedDeviceLogins(t *testing.T) {
	p := mustProvider(t, nil)
	for name, row := range map[string]struct {
		do   func(devices *Devices, person auth.Principal, code string) error
		want string
	}{
		"refused": {func(d *Devices, person auth.Principal, code string) error {
			return d.Confirm(t.Context(), person, code, false)
		}, ReasonDenied},
		"expired": {func(d *Devices, person auth.Principal, code string) error {
			err := d.Confirm(t.Context(), person, code, true)
			p.move(deviceTime)
			return err
		}, ReasonDeviceGone},
		"logged out": {func(d *Devices, person auth.Principal, code string) error {
			if err := d.Confirm(t.Context(), person, code, true); err != nil {
				return err
			}
			return p.auth.Sessions.Logout(t.Context(), person, origin)
		}, ReasonDenied},
		"unlinked": {func(d *Devices, person auth.Principal, code string) error {
			if err := d.Confirm(t.Context(), person, code, true); err != nil {
				return err
			}
			return directory.Providers{Directory: p.Directory}.Link(t.Context(), p.operator(), origin, person.UserUID, "")
		}, ReasonDenied},
		"disabled": {func(d *Devices, person auth.Principal, code string) error {
			if err := d.Confirm(t.Context(), person, code, true); err != nil {
				return err
			}
			return p.db.InTx(t.Context(), func(tx *store.Tx) error {
				return tx.Users.Disable(t.Context(), p.org.UID, person.UserUID, p.now())
			})
		}, ReasonDenied},
	} {
		p.set(func() {
			p.change = map[string]any{"sub": name, "email": strings.ReplaceAll(name, " ", "-") + "@example.com"}
		})
		devices := NewDevices(p.Service, audience)
		person := p.mustLogin(t)
		device, err := devices.Begin(t.Context(), origin)
		if err == nil {
			err = row.do(devices, person, device.UserCode)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if tokens, err := devices.Redeem(t.Context(), origin, device.Code); reasonOf(err) != row.want || tokens.Authorization != "" {
			t.Errorf("%s: %v, want %s", name, err, row.want)
		}
	}
	devices := NewDevices(p.Service, audience)
	for range pollsPerMinute {
		if _, err := devices.Redeem(t.Context(), origin, "rwd_abc"); reasonOf(err) != ReasonDeviceGone {
			t.Fatalf("an unknown code: %v", err)
		}
	}
	if _, err := devices.Redeem(t.Context(), origin, "rwd_abc"); fault.KindOf(err) != fault.Limited {
		t.Errorf("many requests: %v", err)
	}
	if _, err := p.exchange(t, "x"); fault.KindOf(err) == fault.Limited {
		t.Error("requests for the tokens of a login use up those of pipelines")
	}
	keyed := auth.Principal{UserUID: "a", APIKeyUID: "b"}
	if _, err := devices.Find(t.Context(), keyed, "BCDF-GHJK"); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("by an API key: %v", err)
	}
	person := auth.Principal{UserUID: "a", SessionUID: "b"}
	for range devicesPerMinute {
		if _, err := devices.Find(t.Context(), person, "BCDF-GHJK"); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a wrong code: %v", err)
		}
	}
	if _, err := devices.Find(t.Context(), person, "BCDF-GHJK"); fault.KindOf(err) != fault.Limited {
		t.Errorf("many codes: %v", err)
	}
}

// A logout at the provider ends the session of a program too, of which the provider knows the session of the browser.
func TestBackChannelLogoutOfADevice(t *testing.T) {
	p := mustProvider(t, nil)
	p.set(func() { p.change = map[string]any{"sid": "session-1"} })
	devices := NewDevices(p.Service, audience)
	person := p.mustLogin(t)
	device, err := devices.Begin(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	if err := devices.Confirm(t.Context(), person, device.UserCode, true); err != nil {
		t.Fatal(err)
	}
	tokens, err := devices.Redeem(t.Context(), origin, device.Code)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.sso.BackChannelLogout(t.Context(), origin, p.org.UID, p.logoutToken(nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.auth.Sessions.Refresh(t.Context(), origin, tokens.Refresh); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("the session of the program goes on: %v", err)
	}
}
