package auth

import (
	"database/sql"
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/changehistory"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// TestScanReadsAsJSON scans claims as sign writes them, and with a changed character: what is scanned is what json.Unmarshal returns.
func TestScanReadsAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, -1, -1)
		want := claims{Issuer: text.Draw(t, "iss"), Audience: tokenAudience, Subject: "u", Org: "o", Session: "s", ID: "j",
			IssuedAt:  rapid.Int64().Draw(t, "iat"),
			NotBefore: 1, Expires: rapid.Int64().Draw(t, "exp"), Email: text.Draw(t, "email"), Role: "member",
			OrgName: text.Draw(t, "org_name"), Position: "1f"}
		payload, err := json.Marshal(want)
		if err != nil {
			return // not UTF-8
		}
		var got claims
		if scanned := got.scan(string(payload)); scanned && got != want || !scanned && !strings.Contains(string(payload), `\`) {
			t.Fatalf("%s: scanned %t: %+v", payload, scanned, got)
		}
	})
	const whole = `{"iss":"i","aud":"a","sub":"u","org":"o","sid":"s","jti":"j","iat":10,` +
		`"nbf":-1,"exp":12,"email":"e","role":"r","org_name":"n","pos":"f"}`
	for i := range whole {
		for _, other := range []string{"", " ", `"`, `\`, ",", ":", "{", "}", "]", "x", "1", ".", "e", whole[:i], `","x":"`, whole[i:]} {
			checkScan(t, whole[:i]+other+whole[i+1:])
			checkScan(t, whole[:i]+other+whole[i:])
		}
		checkScan(t, whole[:i])
	}
}

// checkScan checks that what json.Unmarshal accepts is not scanned differently.
func checkScan(t *testing.T, text string) {
	t.Helper()
	var got, want claims
	if err := json.Unmarshal([]byte(text), &want); got.scan(text) && err == nil && got != want {
		t.Errorf("%s is scanned: %+v, want %+v", text, got, want)
	}
}

// TestTokensNeedNoQuery closes the store of a process that has seen none of the tokens of another one: it accepts them, and with the data
// of their users.
func TestTokensNeedNoQuery(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	tokens := w.mustLogin(t)
	refreshed := w.mustRefresh(t, tokens.Refresh)
	want := w.mustPrincipal(t, tokens)
	_ = second.db.Close()
	second.setLastPoll(-time.Hour)
	for what, token := range map[string]secret.String{"of a login": tokens.Authorization, "of a refresh": refreshed.Authorization} {
		for range 2 {
			got, err := second.Authenticate(t.Context(), Presented{Authorization: token})
			if err != nil || got != want {
				t.Errorf("%s: %+v, want %+v, %v", what, got, want, err)
			}
		}
		clearRecent(second)
		if got, err := second.Authenticate(t.Context(), Presented{Authorization: token}); err != nil || got != want {
			t.Errorf("%s, by its fingerprint: %+v, want %+v, %v", what, got, want, err)
		}
	}
}

// TestATokenFromBeforeTheStartNeedsNoQuery uses a token in a process that started after it was issued, and after another change.
func TestATokenFromBeforeTheStartNeedsNoQuery(t *testing.T) {
	w := mustWorld(t, nil)
	token := w.mustLogin(t).Authorization
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Changes.Note(t.Context(), "another") })
	later := w.mustSecond(t)
	_ = later.db.Close()
	later.setLastPoll(-time.Hour)
	if _, err := later.Authenticate(t.Context(), Presented{Authorization: token}); err != nil {
		t.Error(err)
	}
}

func clearRecent(s *service) {
	for i := range s.accepted.recent {
		s.accepted.recent[i].Store(nil)
	}
}

// TestClaimsAreCurrent changes each datum of a token's claims, and then uses the token: it has the new one, in both processes.
func TestClaimsAreCurrent(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	p := w.mustPrincipal(t, w.mustLogin(t))
	for what, change := range map[string]func(*store.Tx) error{
		"role": func(tx *store.Tx) error {
			return tx.Users.SetRole(t.Context(), p.OrgUID, p.UserUID, string(RoleAdmin), true)
		},
		"email": func(tx *store.Tx) error {
			return tx.Users.Update(t.Context(),
				store.User{OrgUID: p.OrgUID, UID: p.UserUID, Email: "new@example.com", Canonical: names.Canonical("new@example.com")})
		},
	} {
		tokens := w.mustLoginAs(t, p.UserUID)
		for _, s := range []*service{w.service, second} {
			if _, err := s.Authenticate(t.Context(), Presented{Authorization: tokens}); err != nil {
				t.Fatal(err)
			}
		}
		w.mustWrite(t, change)
		stored := w.mustUserOf(t, p)
		second.setLastPoll(staleAfter + 1)
		for _, s := range []*service{w.service, second} {
			got, err := s.Authenticate(t.Context(), Presented{Authorization: tokens})
			if err != nil || string(got.Role) != stored.Role || got.Email != stored.Email {
				t.Errorf("%s: %+v, stored %+v, %v", what, got, stored, err)
			}
		}
	}
}

// mustLoginAs issues a token of a new session of a user.
func (w *world) mustLoginAs(t *testing.T, userUID string) secret.String {
	t.Helper()
	user := w.mustUserOf(t, Principal{OrgUID: w.org.UID, UserUID: userUID})
	tokens, err := w.Login(t.Context(), origin, Credentials{Email: user.Email, Org: goodOrg, Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	return tokens.Authorization
}

func (w *world) mustUserOf(t *testing.T, p Principal) store.User {
	t.Helper()
	user, err := store.Read(t.Context(), w.db,
		func(tx *store.Tx) (store.User, error) { return tx.Users.Get(t.Context(), p.OrgUID, p.UserUID) })
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// TestFingerprintsAreOfWholeTokens changes each character of a token that was accepted before: none is accepted.
func TestFingerprintsAreOfWholeTokens(t *testing.T) {
	w := mustWorld(t, nil)
	token := w.mustLogin(t).Authorization
	if err := w.authenticate(t, token); err != nil {
		t.Fatal(err)
	}
	for i := range token {
		changed := []byte(token)
		if changed[i]++; changed[i] == '{' { // 'z'
			changed[i] = 'A'
		}
		wantFault(t, w.authenticate(t, secret.String(changed)), fault.CodeUnauthorizedAccess, ReasonMalformed)
	}
	if len(token) >= 1024 {
		t.Errorf("a token has %d bytes", len(token))
	}
}

// TestLongNamesAreNotInTokens issues a token for a user whose names would make it too long: it is looked up.
func TestLongNamesAreNotInTokens(t *testing.T) {
	w := mustWorld(t, nil)
	session := w.sessionOf(t, w.mustLogin(t))
	session.Email = strings.Repeat("a", 500) + "@example.com"
	token, _, err := w.sign(w.keySet().signing, session, "j", start, w.cache.Position())
	if err != nil || len(token) >= 1024 {
		t.Errorf("%d bytes, %v", len(token), err)
	}
	if p, err := w.Authenticate(t.Context(), Presented{Authorization: token}); err != nil || p.Email != goodEmail {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestRestoredStoreRefusesNewerSessions restores a backup that ends with the same change as the store does: a token of a session that the
// backup does not have is refused, one of an older session is accepted.
func TestRestoredStoreRefusesNewerSessions(t *testing.T) {
	w := mustWorld(t, nil)
	if w.db.Shared() {
		return // only a database file is restored by this program
	}
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Changes.Note(t.Context(), "something") })
	older, err := mustPolled(t, w.service).Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	backup, dir := filepath.Join(t.TempDir(), "backup.db"), t.TempDir()
	if _, err := w.db.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	newer := w.mustLogin(t)
	o := store.Options{DataDir: dir, MasterKeyFile: filepath.Join(w.dir, "master.key"), Now: w.clock.now}
	if _, err := store.Restore(t.Context(), o, backup, store.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	restored, err := newService(t.Context(), db, Config{Now: w.clock.now, hashCost: cheap})
	if err != nil {
		t.Fatal(err)
	}
	_, err = restored.Authenticate(t.Context(), Presented{Authorization: newer.Authorization})
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonUnknown)
	if _, err := restored.Authenticate(t.Context(), Presented{Authorization: older.Authorization}); err != nil {
		t.Error(err)
	}
}

// mustPolled has a service know all changes.
func mustPolled(t *testing.T, s *service) *service {
	t.Helper()
	if err := s.Service.changes.poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestExchangeIsTheSameEverywhere exchanges a token and sends it again after changes that another server may not know: both get one token.
func TestExchangeIsTheSameEverywhere(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	exchanged := w.mustRefresh(t, tokens.Authorization)
	if c, err := w.verify(exchanged.Authorization, w.clock.now()); err != nil || c.position() != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Changes.Note(t.Context(), w.sessionOf(t, tokens).UserUID) })
	mustPolled(t, w.service)
	if again := w.mustRefresh(t, tokens.Authorization); again.Authorization != exchanged.Authorization {
		t.Error("a retry gets another token")
	}
	if err := w.authenticate(t, exchanged.Authorization); err != nil {
		t.Error(err)
	}
}

// TestTokensOfACopiedStore makes a copy of the store, as for a test environment, and adds an administrator there: the original store
// refuses its tokens, although it has the same keys and changes.
func TestTokensOfACopiedStore(t *testing.T) {
	w := mustWorld(t, nil)
	if w.db.Shared() {
		return // the code is the same
	}
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Changes.Note(t.Context(), "something") })
	mustPolled(t, w.service)
	raw, err := sql.Open("sqlite", filepath.Join(w.dir, "regwarden.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	dir := t.TempDir()
	if _, err := raw.ExecContext(t.Context(), "VACUUM INTO $1", filepath.Join(dir, "regwarden.db")); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.Options{DataDir: dir, MasterKeyFile: filepath.Join(w.dir, "master.key"), Now: w.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	service, err := newService(t.Context(), db, Config{Now: w.clock.now, hashCost: cheap})
	if err != nil {
		t.Fatal(err)
	}
	copied := &world{service: service, clock: w.clock, dir: dir, org: w.org}
	eve := copied.mustLoginAs(t, copied.mustUser(t, w.org, "eve@example.com", RoleAdmin).UID)
	if p, err := copied.Authenticate(t.Context(), Presented{Authorization: eve}); err != nil || p.Role != RoleAdmin {
		t.Errorf("%+v, %v", p, err)
	}
	wantFault(t, w.authenticate(t, eve), fault.CodeUnauthorizedAccess, ReasonUnknown)
}

// TestOnlyTokensWithAllDataAreStored: roles in projects and those of the organization are not in a token, so its user is looked up.
func TestOnlyTokensWithAllDataAreStored(t *testing.T) {
	for _, tt := range []struct {
		position, role string
		stored         bool
	}{
		{"1f", "member", true},
		{"1f", "viewer auditor", true},
		{"", "member", false},
		{"1f", "member +", false},
		{"1f", "none +", false},
		{"1f", uuid.NewString(), false},
		{"1f", "viewer " + uuid.NewString(), false},
	} {
		token := newAcceptedToken(credentialID{}, claims{Position: tt.position, Role: tt.role, Expires: 1})
		if got := token != nil; got != tt.stored {
			t.Errorf("position %q, role %q: stored %t", tt.position, tt.role, got)
		}
	}
}

// TestClaimsOfAVerifiedToken reads them again, of tokens up to the size that this service issues.
func TestClaimsOfAVerifiedToken(t *testing.T) {
	whole := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"i"}`))
	long := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"i"` + strings.Repeat(" ", 768-11) + `}`))
	for _, tt := range []struct {
		token string
		ok    bool
	}{{"h." + whole + ".s", true}, {"h." + long + ".s", true}, {"h." + long + "IC" + ".s", false}, {"h.?.s", false}} {
		c, err := verifiedClaims(secret.String(tt.token))
		if (err == nil) != tt.ok || tt.ok && c.Issuer != "i" {
			t.Errorf("a payload of %d bytes: %+v, %v", len(tt.token)-4, c, err)
		}
	}
	if len(long) != 1024 {
		t.Errorf("the longest payload has %d bytes", len(long))
	}
}

// TestATokenIsFoundByItsFingerprint reads the claims of a token whose place among the recent ones another one has.
func TestATokenIsFoundByItsFingerprint(t *testing.T) {
	w := mustWorld(t, nil)
	token := w.mustLogin(t).Authorization
	want := w.mustPrincipal(t, Tokens{Authorization: token})
	clearRecent(w.service)
	for range 2 { // then it is among them again
		found := w.accepted.find(w.accepted.idOf(token), token)
		if found == nil || found.principal != want {
			t.Fatalf("found %+v, want %+v", found, want)
		}
	}
}

// TestAnOutdatedTokenStaysOutdated uses a token, and then changes its user after none to three changes of others.
func TestAnOutdatedTokenStaysOutdated(t *testing.T) {
	for others := range 4 {
		h := changehistory.New(10)
		h.Settle(h.Epoch(), nil, store.Change{Seq: 1})
		token := &acceptedToken{at: h.Position(), cacheEntry: cacheEntry{principal: Principal{UserUID: "u"}}}
		for seq := range int64(others) {
			if !token.upToDate(h) {
				t.Fatal("out of date by the change of another user")
			}
			h.AddNumbered([]store.Change{{Seq: seq + 2, Subject: "another"}}, func(store.Change) bool { return true })
		}
		h.AddNumbered([]store.Change{{Seq: 9, Subject: "u"}}, func(store.Change) bool { return true })
		if first, again := token.upToDate(h), token.upToDate(h); first || again {
			t.Errorf("up to date after %d changes of another user and one of its own", others)
		}
	}
}
