package auth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// TestKeysRotateUnderARunningServer rotates from another process, like the command line. No token is refused on either
// side, and the old keys are removed when their last token has expired.
func TestKeysRotateUnderARunningServer(t *testing.T) {
	w := mustWorld(t, nil)
	cli, third := w.mustSecond(t), w.mustSecond(t)
	old := w.mustLogin(t)
	oldSet := w.keySet()
	if err := cli.Keys.Rotate(t.Context(), Operator(), origin); err != nil {
		t.Fatal(err)
	}
	w.wantAudit(t, audit.KeysRotate, audit.Succeeded, "", "")
	newest, err := cli.Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	// The other services do not know the new keys, since they have not polled.
	if err := w.authenticate(t, newest.Authorization); err != nil {
		t.Errorf("a token of the new key is refused: %v", err)
	}
	if _, err := third.Refresh(t.Context(), origin, newest.Refresh); err != nil {
		t.Errorf("a refresh token of the new key is refused: %v", err)
	}
	if err := w.authenticate(t, old.Authorization); err != nil {
		t.Errorf("a token of the old key is refused: %v", err)
	}
	for _, s := range []*service{w.service, cli} {
		if jwks := string(s.Keys.JWKS()); !strings.Contains(jwks, oldSet.signing.kid) || !strings.Contains(jwks, s.keySet().signing.kid) ||
			s.keySet().signing.kid == oldSet.signing.kid {
			t.Errorf("published: %s", jwks)
		}
	}
	next := w.mustRefresh(t, old.Refresh)
	if strings.HasPrefix(next.Authorization.Reveal(), strings.Split(old.Authorization.Reveal(), ".")[0]) {
		t.Error("the old key still signs")
	}
	w.clock.move(14 * time.Minute)
	if err := w.authenticate(t, old.Authorization); err != nil {
		t.Errorf("a token of the old key expired early: %v", err)
	}
	w.clock.move(24 * time.Minute)
	if jwks := string(w.Keys.JWKS()); strings.Contains(jwks, oldSet.signing.kid) {
		t.Errorf("the old key is still published: %s", jwks)
	}
	w.clock.move(defaultSessionIdle - time.Hour)
	w.mustRefresh(t, next.Refresh)
	if len(w.keySet().macs) != 2 {
		t.Error("the old MAC key was removed before its last session ended")
	}
	w.clock.move(defaultSessionMax)
	if len(w.keySet().macs) != 1 {
		t.Error("the old MAC key is still accepted")
	}
}

// TestRetiredKeysVerifyLongEnough: what they signed last is valid for its lifetime, may be exchanged as long after it, and some slack; a
// refresh token is valid as long as a session.
func TestRetiredKeysVerifyLongEnough(t *testing.T) {
	w := mustWorld(t, nil)
	if err := w.Keys.Rotate(t.Context(), Operator(), origin); err != nil {
		t.Fatal(err)
	}
	want := map[store.KeyPurpose]time.Duration{store.KeySign: 31*time.Minute + 30*time.Second,
		store.KeyMAC: defaultSessionMax + 90*time.Second}
	for _, key := range w.serviceKeys(t) {
		if !key.RetiredAt.IsZero() && !key.VerifyUntil.Equal(start.Add(want[key.Purpose])) {
			t.Errorf("%s verifies until %v", key.Purpose, key.VerifyUntil)
		}
	}
}

func TestOnlyTheOperatorRotates(t *testing.T) {
	w := mustWorld(t, nil)
	for _, role := range []Role{RoleAdmin, RoleMember, ""} {
		p := Principal{OrgUID: w.org.UID, UserUID: w.user.UID, Role: role}
		_, masterErr := w.Keys.RotateMaster(t.Context(), p, origin, seal.MasterKey{})
		for _, err := range []error{w.Keys.Rotate(t.Context(), p, origin), masterErr} {
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Forbidden {
				t.Errorf("%s: %v", role, err)
			}
		}
	}
	if len(w.serviceKeys(t)) != 2 {
		t.Error("keys were rotated anyway")
	}
}

func TestMasterKeyRotates(t *testing.T) {
	w := mustWorld(t, nil)
	file := filepath.Join(w.dir, "master.key")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tokens := w.mustLogin(t)
	if _, err := w.Keys.RotateMaster(t.Context(), Operator(), origin, seal.NewMasterKey()); !errors.Is(err, store.ErrKeySource) {
		t.Errorf("a key that is not in the file: %v", err)
	}
	former, err := w.Keys.RotateMaster(t.Context(), Operator(), origin, seal.MasterKey{})
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(former); err != nil || string(content) != string(before) {
		t.Errorf("%s does not contain the former key: %v", former, err)
	}
	w.wantAudit(t, audit.MasterRotate, audit.Succeeded, "", "")
	w.mustLogin(t) // the running server is not affected
	after, err := os.ReadFile(file)
	if err != nil || string(after) == string(before) {
		t.Errorf("the file has the old key: %v", err)
	}
	if _, err := os.Stat(file + ".next"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the file of the next key still exists")
	}
	second := w.mustSecond(t)
	if _, err := second.Refresh(t.Context(), origin, tokens.Refresh); err != nil {
		t.Error(err)
	}
	old, err := seal.ParseMasterKey(secretOf(before))
	if err != nil {
		t.Fatal(err)
	}
	withOld := storeIn(w.dir, nil)
	withOld.MasterKey = old
	if _, err := store.Open(t.Context(), withOld); !errors.Is(err, seal.ErrWrongKey) {
		t.Errorf("the old key opens the store: %v", err)
	}
}

func TestSweepAuditsKeepsNewRecords(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, nil)
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Audits.BeginChain(t.Context(), w.clock.now(), 0) })
	for range 103 { // more than the sweeper deletes in its first step
		w.mustWrite(t, func(tx *store.Tx) error {
			return tx.Audits.Append(t.Context(), Operator().Succeeded(origin, audit.Login, "", w.clock.now()))
		})
	}
	w.clock.move(time.Hour)
	w.mustLogin(t)
	before := w.clock.now().Add(-time.Minute)
	if err := w.sweeper().SweepAudits(t.Context(), w.clock.now(), time.Minute); err != nil {
		t.Fatal(err)
	}
	w.mustWrite(t, func(tx *store.Tx) error {
		chain, err := tx.Audits.Chain(t.Context())
		if !chain.SweptBefore.Equal(before) {
			t.Errorf("the chain does not have what was deleted: %+v", chain)
		}
		return err
	})
	if left := w.audits(t, 1000); len(left) != 1 || left[0].Object == "" {
		t.Errorf("%d records are left", len(left))
	}
}

// TestAPartitionThatStaysDoesNotStopTheSweep sweeps while another program's view of a partition does not let PostgreSQL drop that.
func TestAPartitionThatStaysDoesNotStopTheSweep(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, nil)
	w.mustLogin(t)
	shared := w.mustExec(t, "CREATE VIEW of_another_program AS SELECT uid FROM audits_first")
	if err := w.sweeper().SweepAudits(t.Context(), time.Now().AddDate(1, 0, 0), 0); (err != nil) != shared {
		t.Errorf("got %v", err)
	}
	if left := w.audits(t, 1000); len(left) != 0 {
		t.Errorf("%d records are left", len(left))
	}
}
