package federation

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

const (
	clientID     = "regwarden-client"
	clientSecret = "the secret of our client"
)

// identityProvider is a world whose issuer other logs people in.
type identityProvider struct {
	*world
	sso      *SSO
	settings directory.Provider
	// The next response of the token endpoint, guarded by world.mu.
	sign      func(claims map[string]any) string
	change    map[string]any // claims of the ID token that differ; nil removes one
	noRefresh bool
	status    int    // if not 200
	failure   string // error code
	form      url.Values
	nonce     string
	challenge string
	refreshes int
	valid     map[string]bool // refresh tokens, each of which is accepted once
}

func mustProvider(t *testing.T, change func(*directory.Provider)) *identityProvider {
	t.Helper()
	p := &identityProvider{world: mustWorld(t), valid: map[string]bool{}}
	p.sso = NewSSO(p.Service, audience+"/", 0)
	p.auth.AskProvider(p.sso.Recheck)
	p.sign = func(claims map[string]any) string { return sign(t, claims) }
	p.settings = directory.Provider{Issuer: other, Secret: clientSecret, Settings: identities.Settings{ClientID: clientID}}
	if change != nil {
		change(&p.settings)
	}
	p.configure(t)
	p.serve = p.token
	return p
}

func (p *identityProvider) configure(t *testing.T) {
	t.Helper()
	if err := (directory.Providers{Directory: p.Directory}).Set(t.Context(), p.operator(), origin, p.settings); err != nil {
		t.Fatal(err)
	}
}

// token is the token endpoint. It is called with world.mu locked.
func (p *identityProvider) token(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/token") {
		return false
	}
	id, password, _ := r.BasicAuth()
	_ = r.ParseForm()
	p.form = r.PostForm
	switch sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier"))); {
	case p.failure != "" || p.status != 0:
	case id != clientID || password != url.QueryEscape(clientSecret):
		p.status, p.failure = http.StatusUnauthorized, "invalid_client"
	case r.PostForm.Get("grant_type") == "refresh_token":
		if p.refreshes++; !p.valid[r.PostForm.Get("refresh_token")] {
			p.failure = "invalid_grant"
		}
		delete(p.valid, r.PostForm.Get("refresh_token"))
	case base64.RawURLEncoding.EncodeToString(sum[:]) != p.challenge:
		p.failure = "invalid_grant"
	}
	if p.failure != "" || p.status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(max(p.status, http.StatusBadRequest))
		_, _ = w.Write([]byte(`{"error":"` + p.failure + `","error_description":"of ` + clientSecret + `"}`))
		return true
	}
	claims := map[string]any{"iss": other, "sub": "ada-7", "aud": clientID, "exp": p.at.Add(5 * time.Minute).Unix(), "iat": p.at.Unix(),
		"nonce": p.nonce, "email": "ada@example.com", "email_verified": true, "given_name": "Ada", "family_name": "Lovelace"}
	for name, value := range p.change {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	body := map[string]any{"access_token": "opaque", "token_type": "Bearer", "id_token": p.sign(claims)}
	if !p.noRefresh {
		refresh := "refresh token " + rand.Text()
		body["refresh_token"], p.valid[refresh] = refresh, true
	}
	write(w, body)
	return true
}

// begin begins a login and returns it with the query of a good response.
func (p *identityProvider) begin(t *testing.T) (Begun, url.Values) {
	t.Helper()
	begun, err := p.sso.Begin(t.Context(), origin, org, "/console/registries")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(begun.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.nonce, p.challenge = u.Query().Get("nonce"), u.Query().Get("code_challenge") })
	return begun, url.Values{"code": {"good"}, "state": {u.Query().Get("state")}, "iss": {other}}
}

// login logs in, and changes the query first.
func (p *identityProvider) login(t *testing.T, change func(url.Values)) (Completed, error) {
	t.Helper()
	begun, query := p.begin(t)
	if change != nil {
		change(query)
	}
	return p.sso.Complete(t.Context(), origin, p.org.UID, query, begun.Cookie)
}

func (p *identityProvider) principal(t *testing.T, done Completed) (auth.Principal, error) {
	t.Helper()
	return p.auth.Authenticator.AuthenticateConsole(t.Context(), done.Reference)
}

// mustLogin logs in, and returns the user.
func (p *identityProvider) mustLogin(t *testing.T) auth.Principal {
	t.Helper()
	done, err := p.login(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	who, err := p.principal(t, done)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// TestLoginByProvider logs the same person in twice, who is created at the first time.
func TestLoginByProvider(t *testing.T) {
	p := mustProvider(t, nil)
	begun, query := p.begin(t)
	u, _ := url.Parse(begun.URL)
	sent := u.Query()
	for name, want := range map[string]string{"response_type": "code", "client_id": clientID, "code_challenge_method": "S256",
		"redirect_uri": audience + "/console/sso/" + p.org.UID + "/callback", "scope": "openid profile email offline_access"} {
		if sent.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, sent.Get(name), want)
		}
	}
	if !strings.HasPrefix(begun.URL, other+"/authorize?") || strings.Contains(begun.URL, clientSecret) || len(sent.Get("state")) < 26 {
		t.Errorf("the browser is sent to %s", begun.URL)
	}
	p.newRecords(t)
	done, err := p.sso.Complete(t.Context(), origin, p.org.UID, query, begun.Cookie)
	if err != nil || done.Next != "/console/registries" {
		t.Fatalf("%+v, %v", done, err)
	}
	first, err := p.principal(t, done)
	if err != nil || first.Email != "ada@example.com" || first.Role != access.Member || first.OrgUID != p.org.UID {
		t.Errorf("%+v, %v", first, err)
	}
	records := p.newRecords(t)
	if len(records) != 2 || records[0].Action != audit.Login || records[0].Method != audit.MethodOIDC || records[0].Target != "ada-7" ||
		records[1].Action != audit.UserCreate || records[1].ActorName != "ada@example.com" {
		t.Errorf("recorded as %+v", records)
	}
	p.set(func() { p.change = map[string]any{"email": "countess@example.com"} }) // the subject counts
	if done, err = p.login(t, nil); err != nil {
		t.Fatal(err)
	}
	if second, err := p.principal(t, done); err != nil || second.UserUID != first.UserUID || second.SessionUID == first.SessionUID {
		t.Errorf("%+v, %v", second, err)
	}
	password := auth.Credentials{Email: "ada@example.com", Org: org, Password: "any password"}
	if _, err := p.auth.Logins.Login(t.Context(), origin, password); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("a password of a user without one: %v", err)
	}
}

// TestRefusedLogins changes one thing each of a good login. reason is that of the audit record; "-": none.
func TestRefusedLogins(t *testing.T) {
	const none = "-"
	with := func(name string, value any) func(*identityProvider) {
		return func(p *identityProvider) { p.change = map[string]any{name: value} }
	}
	unknown := func(subject string) func(*identityProvider) {
		return func(p *identityProvider) { p.change = map[string]any{"sub": subject, "email": nil} }
	}
	signed := func(by func(t *testing.T, claims map[string]any) string) func(*identityProvider) {
		return func(p *identityProvider) { p.sign = func(claims map[string]any) string { return by(t, claims) } }
	}
	query := func(name string, values ...string) func(url.Values) { return func(q url.Values) { q[name] = values } }
	encode := base64.RawURLEncoding.EncodeToString
	p := mustProvider(t, func(s *directory.Provider) { s.EmailDomains = []string{"Example.com"} })
	for name, row := range map[string]struct {
		query  func(url.Values)
		token  func(*identityProvider)
		reason string
	}{
		"state of another login":  {query("state", "another"), nil, none},
		"state missing":           {query("state"), nil, none},
		"state twice":             {func(q url.Values) { q.Add("state", q.Get("state")) }, nil, none},
		"iss of another provider": {query("iss", gitlab), nil, reasonIssuer},
		"iss with a slash":        {query("iss", other+"/"), nil, reasonIssuer},
		"iss empty":               {query("iss", ""), nil, reasonIssuer},
		"iss twice":               {query("iss", other, other), nil, reasonIssuer},
		"refused by the provider": {func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }, nil, ReasonRefusedThere},
		"code twice":              {query("code", "good", "evil"), nil, ReasonRefusedThere},
		"code that was used":      {nil, func(p *identityProvider) { p.failure = "invalid_grant" }, reasonCodeNotUsable},
		"code of another login":   {nil, func(p *identityProvider) { p.challenge = "another" }, reasonCodeNotUsable},
		"no ID token":             {nil, signed(func(*testing.T, map[string]any) string { return "" }), ReasonMalformed},
		"not a JWT":               {nil, signed(func(*testing.T, map[string]any) string { return "a.b.c" }), ReasonMalformed},
		"nonce of another login":  {nil, with("nonce", "another"), reasonNonce},
		"nonce missing":           {nil, with("nonce", nil), reasonNonce},
		"nonce a list":            {nil, with("nonce", []string{"x"}), reasonAudience}, // go-oidc cannot read the token
		"iss in the token":        {nil, with("iss", gitlab), reasonIssuer},
		"iss in the token, longer": {nil, signed(func(t *testing.T, claims map[string]any) string {
			claims["iss"] = other + "/x"
			return signWith(t, keys()[other], jose.RS256, "key-1", claims)
		}), reasonIssuer},
		"aud of another client":     {nil, with("aud", "another"), reasonAudience},
		"aud missing":               {nil, with("aud", nil), reasonAudience},
		"aud of several":            {nil, with("aud", []string{clientID, "another"}), reasonAudience},
		"azp of another client":     {nil, with("azp", "another"), reasonAudience},
		"expired":                   {nil, with("exp", start.Add(-clockSkew).Unix()), ReasonExpired},
		"exp missing":               {nil, with("exp", nil), ReasonMalformed},
		"sub missing":               {nil, with("sub", nil), ReasonMalformed},
		"issued in the future":      {nil, with("iat", start.Add(clockSkew+time.Second).Unix()), ReasonExpired},
		"not yet valid":             {nil, with("nbf", start.Add(clockSkew+time.Second).Unix()), ReasonExpired},
		"email missing":             {nil, with("email", nil), reasonNoEmail},
		"email that is not one":     {nil, with("email", "ada"), reasonNoEmail},
		"email invisible":           {nil, with("email", "ada\u200b@example.com"), reasonNoEmail},
		"email not verified":        {nil, with("email_verified", false), reasonUnverified},
		"email not verified, text":  {nil, with("email_verified", "false"), reasonUnverified},
		"email perhaps verified":    {nil, with("email_verified", nil), reasonUnverified}, // with a restriction of domains
		"email of another domain":   {nil, with("email", "ada@evil.example"), reasonEmailDomain},
		"email of a longer domain":  {nil, with("email", "ada@example.com.evil.example"), reasonEmailDomain},
		"email of a subdomain":      {nil, with("email", "ada@sub.example.com"), reasonEmailDomain},
		"email of a local account":  {nil, with("email", "local@example.com"), reasonEmailTaken},
		"email in another case":     {nil, with("email", "LOCAL@EXAMPLE.COM"), reasonEmailTaken},
		"email in another form":     {nil, with("email", "ｌocal@example.com"), reasonEmailTaken},
		"subject in another case":   {nil, unknown("LOCAL-1"), reasonNoEmail},
		"subject of another issuer": {nil, unknown("gitlab-1"), reasonNoEmail},
		"disabled user":             {nil, with("sub", "disabled-1"), reasonUserDisabled},
		"alg none": {nil, signed(func(t *testing.T, claims map[string]any) string {
			return encode([]byte(`{"alg":"none"}`)) + "." + strings.Split(sign(t, claims), ".")[1] + "."
		}), ReasonMalformed},
		"alg HS256 with the client secret": {nil, signed(func(t *testing.T, claims map[string]any) string {
			return signWith(t, []byte(clientSecret+clientSecret), jose.HS256, "key-1", claims)
		}), ReasonMalformed},
		"alg HS256 with the public key": {nil, signed(func(t *testing.T, claims map[string]any) string {
			return signWith(t, keys()[other].N.Bytes(), jose.HS256, "key-1", claims)
		}), ReasonMalformed},
		"key of another issuer": {nil, signed(func(t *testing.T, claims map[string]any) string {
			return signWith(t, keys()[gitlab], jose.RS256, "key-1", claims)
		}), reasonSignature},
		"key in the header": {nil, signed(func(t *testing.T, claims map[string]any) string {
			signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: keys()["new"], KeyID: "key-1"}},
				&jose.SignerOptions{EmbedJWK: true})
			if err != nil {
				t.Fatal(err)
			}
			return mustSerialize(t, signer, claims)
		}), reasonSignature},
		"a claim twice": {nil, signed(func(t *testing.T, claims map[string]any) string {
			return signText(t, keys()[other], jose.RS256, "key-1", []byte(`{"iss":"x","iss":"`+other+`","sub":"a","exp":1}`))
		}), ReasonMalformed},
	} {
		p.prepare(t)
		p.newRecords(t)
		p.set(func() {
			if row.token != nil {
				row.token(p)
			}
		})
		begun, q := p.begin(t)
		if row.query != nil {
			row.query(q)
		}
		if name == "code of another login" {
			p.set(func() { p.challenge = "another" })
		}
		done, err := p.sso.Complete(t.Context(), audit.Origin{Address: name}, p.org.UID, q, begun.Cookie)
		if fault.KindOf(err) != fault.Unauthenticated || done.Reference != "" {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		recorded := none
		if records := p.newRecords(t); len(records) == 1 {
			recorded = records[0].Reason
		}
		if recorded != row.reason {
			t.Errorf("%s: the record has %q, want %q (%v)", name, recorded, row.reason, err)
		}
	}
	p.prepare(t)
	if _, err := p.login(t, nil); err != nil {
		t.Errorf("the unchanged login: %v", err)
	}
}

// prepare resets the provider, and creates a local account, a disabled user and identities once.
func (p *identityProvider) prepare(t *testing.T) {
	t.Helper()
	p.set(func() {
		p.change, p.failure, p.status = nil, "", 0
		p.sign = func(claims map[string]any) string { return sign(t, claims) }
	})
	for email, identity := range map[string]identities.Identity{"local@example.com": {Issuer: other, Subject: "local-1"},
		"gitlab@example.com": {Issuer: gitlab, Subject: "gitlab-1"}, "disabled@example.com": {Issuer: other, Subject: "disabled-1"}} {
		user, err := p.CreateUser(t.Context(), p.operator(), origin,
			directory.NewUser{Email: email, WithoutPassword: true})
		if fault.KindOf(err) == fault.Conflict {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.db.InTx(t.Context(), func(tx *store.Tx) error {
			identity.UID, identity.OrgUID, identity.UserUID, identity.CreatedAt = user.UID, p.org.UID, user.UID, start
			err := tx.Identities.Insert(t.Context(), identity)
			if email == "disabled@example.com" {
				err = errors.Join(err, tx.Users.Disable(t.Context(), p.org.UID, user.UID, start))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCookieOfALogin uses the cookie of a login in ways that it is not for.
func TestCookieOfALogin(t *testing.T) {
	p := mustProvider(t, nil)
	second, err := p.CreateOrg(t.Context(), auth.Operator(), origin, "Second")
	if err != nil {
		t.Fatal(err)
	}
	settings, of := p.settings, auth.Operator()
	settings.Issuer, of.OrgUID = gitlab, second.UID
	if err := (directory.Providers{Directory: p.Directory}).Set(t.Context(), of, origin, settings); err != nil {
		t.Fatal(err)
	}
	complete := func(orgUID string, query url.Values, cookie secret.String) error {
		t.Helper()
		_, err := p.sso.Complete(t.Context(), origin, orgUID, query, cookie)
		return err
	}
	begun, query := p.begin(t)
	another, _ := p.begin(t)
	middle, other := len(begun.Cookie)/2, secret.String("A")
	if begun.Cookie[middle] == 'A' {
		other = "B"
	}
	for name, row := range map[string]struct {
		org    string
		cookie secret.String
	}{"none": {p.org.UID, ""}, "of another login": {p.org.UID, another.Cookie},
		"changed":  {p.org.UID, begun.Cookie[:middle] + other + begun.Cookie[middle+1:]},
		"not ours": {p.org.UID, "abc"}, "at the callback of another organization": {second.UID, begun.Cookie},
		"at that of none": {"unknown", begun.Cookie}} {
		if err := complete(row.org, query, row.cookie); reasonOf(err) != ReasonExpiredLogin {
			t.Errorf("a cookie %s: %v", name, err)
		}
	}
	begun, query = p.begin(t)
	p.move(loginTime)
	if err := complete(p.org.UID, query, begun.Cookie); reasonOf(err) != ReasonExpiredLogin {
		t.Errorf("an expired login: %v", err)
	}
	for name, change := range map[string]func(*directory.Provider){
		"another issuer": func(s *directory.Provider) { s.Issuer = github },
		"another client": func(s *directory.Provider) { s.ClientID = "x" },
		"disabled":       func(s *directory.Provider) { s.Disabled = true }} {
		begun, query := p.begin(t)
		former := p.settings
		change(&p.settings)
		p.configure(t)
		if err := complete(p.org.UID, query, begun.Cookie); reasonOf(err) != ReasonExpiredLogin {
			t.Errorf("%s since: %v", name, err)
		}
		p.settings = former
		p.configure(t)
	}
	if strings.Contains(begun.Cookie.Reveal(), query.Get("state")) {
		t.Error("the cookie shows the state")
	}
}

// TestLoginsAreCompletedOnce uses a cookie that was retained again, at a provider that accepts a code twice.
func TestLoginsAreCompletedOnce(t *testing.T) {
	p := mustProvider(t, nil)
	begun, query := p.begin(t)
	if _, err := p.sso.Complete(t.Context(), origin, p.org.UID, query, begun.Cookie); err != nil {
		t.Fatal(err)
	}
	p.newRecords(t)
	done, err := p.sso.Complete(t.Context(), origin, p.org.UID, query, begun.Cookie)
	if reasonOf(err) != ReasonNotTrusted || done.Reference != "" {
		t.Errorf("the same response again: %+v, %v", done, err)
	}
	if records := p.newRecords(t); len(records) != 1 || records[0].Reason != reasonUsed {
		t.Errorf("recorded as %+v", records)
	}
	if _, err := p.login(t, nil); err != nil {
		t.Errorf("another login: %v", err)
	}
}

// TestVerifiedIsOneClaim has emails of other claims than the one that email_verified is about.
func TestVerifiedIsOneClaim(t *testing.T) {
	p := mustProvider(t, nil)
	for name, row := range map[string]struct {
		settings identities.Settings
		verified any
		reason   string
	}{
		"email":                           {identities.Settings{}, true, ""},
		"email, not verified":             {identities.Settings{}, false, reasonUnverified},
		"email, said by the organization": {identities.Settings{EmailsVerified: true}, nil, ""},
		"another":                         {identities.Settings{Claims: map[string]string{"email": "login"}}, true, reasonUnverified},
		"another, said by the organization": {identities.Settings{Claims: map[string]string{"email": "login"}, EmailsVerified: true}, nil,
			""},
		"another, not verified": {identities.Settings{Claims: map[string]string{"email": "login"}, EmailsVerified: true}, false,
			reasonUnverified},
		"another at the userinfo endpoint": {identities.Settings{UserInfo: map[string]string{"email": "login"}}, true, reasonUnverified},
	} {
		row.settings.EmailDomains = []string{"example.com"}
		claims := map[string]any{"email": "ada@example.com", "login": "boss@example.com", "email_verified": row.verified}
		if row.verified == nil {
			delete(claims, "email_verified")
		}
		user, reason := p.sso.newUser(&provider{Provider: identities.Provider{Settings: row.settings}}, presented{claims: claims})
		if reason != row.reason || reason == "" && user.Email != claims[row.settings.Claim("email")] {
			t.Errorf("%s: %q %+v", name, reason, user)
		}
	}
}

// TestUserInfoHasWhatTheTokenLacks has the email at the userinfo endpoint, of the same person and of another.
func TestUserInfoHasWhatTheTokenLacks(t *testing.T) {
	for name, row := range map[string]struct {
		info   string
		status int
		kind   fault.Kind
		reason string
	}{"same person": {info: `{"sub":"ada-7","email":"info@example.com","nonce":"x","iss":"y"}`},
		"another person": {info: `{"sub":"eve-1","email":"info@example.com"}`, kind: fault.Unauthenticated, reason: ReasonNotTrusted},
		"no person":      {info: `{"email":"info@example.com"}`, kind: fault.Unauthenticated, reason: ReasonNotTrusted},
		"no email":       {info: `{"sub":"ada-7"}`, kind: fault.Unauthenticated, reason: reasonNoEmail},
		"not verified": {info: `{"sub":"ada-7","email":"info@example.com","email_verified":false}`, kind: fault.Unauthenticated,
			reason: reasonUnverified},
		"twice":    {info: `{"sub":"eve-1","sub":"ada-7","email":"info@example.com"}`, kind: fault.Unavailable},
		"not JSON": {info: `eyJ`, kind: fault.Unavailable},
		"large":    {info: `{"sub":"ada-7","x":"` + strings.Repeat("x", maxDocument) + `"}`, kind: fault.Unavailable},
		"status":   {info: `{}`, status: http.StatusInternalServerError, kind: fault.Unavailable},
	} {
		p := mustProvider(t, nil)
		p.set(func() {
			p.change = map[string]any{"email": nil, "email_verified": nil}
			p.serve = func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
					write(w, map[string]any{"issuer": other, "jwks_uri": other + "/jwks", "authorization_endpoint": other + "/authorize",
						"token_endpoint": other + "/token", "userinfo_endpoint": other + "/userinfo"})
				case strings.HasSuffix(r.URL.Path, "/userinfo"):
					if r.Header.Get("Authorization") != "Bearer opaque" {
						t.Errorf("the userinfo endpoint gets %q", r.Header.Get("Authorization"))
					}
					w.WriteHeader(max(row.status, http.StatusOK))
					_, _ = w.Write([]byte(row.info))
				default:
					return p.token(w, r)
				}
				return true
			}
		})
		done, err := p.login(t, nil)
		if row.kind == 0 {
			if who, errP := p.principal(t, done); err != nil || errP != nil || who.Email != "info@example.com" {
				t.Errorf("%s: %+v, %v, %v", name, who, err, errP)
			}
		} else if fault.KindOf(err) != row.kind || row.reason != "" && reasonOf(err) != row.reason {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Claims that the organization reads from the userinfo endpoint first are those, and an address from there is not verified by the token.
func TestUserInfoFirst(t *testing.T) {
	s := identities.Settings{Claims: map[string]string{identities.ClaimGroups: "roles"},
		UserInfo: map[string]string{identities.ClaimEmail: "mail", identities.ClaimGroups: "memberOf", identities.ClaimLastName: "sn"}}
	claims := map[string]any{"email": "a@x.example", "email_verified": true, "roles": "a", "family_name": "Lovelace"}
	preferUserInfo(s, claims, map[string]any{"mail": "b@x.example", "memberOf": []any{"b"}})
	want := map[string]any{"email": "b@x.example", "roles": []any{"b"}, "family_name": "Lovelace"}
	if !reflect.DeepEqual(claims, want) {
		t.Errorf("%v", claims)
	}
}

// TestSendersOfIssuerMustSendIt has a provider that announces RFC 9207.
func TestSendersOfIssuerMustSendIt(t *testing.T) {
	p := mustProvider(t, nil)
	p.set(func() {
		p.serve = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/openid-configuration") {
				write(w, map[string]any{"issuer": other, "jwks_uri": other + "/jwks", "authorization_endpoint": other + "/authorize",
					"token_endpoint": other + "/token", "authorization_response_iss_parameter_supported": true})
				return true
			}
			return p.token(w, r)
		}
	})
	without := func(q url.Values) { q.Del("iss") }
	if _, err := p.login(t, without); reasonOf(err) != ReasonNotTrusted {
		t.Errorf("without iss: %v", err)
	}
	if _, err := p.login(t, nil); err != nil {
		t.Errorf("with iss: %v", err)
	}
	q := mustProvider(t, nil)
	if _, err := q.login(t, without); err != nil {
		t.Errorf("a provider that does not send iss: %v", err)
	}
}

// TestAdministratorsLinkUsers links a user who has a password to a subject, and unlinks it.
func TestAdministratorsLinkUsers(t *testing.T) {
	p := mustProvider(t, nil)
	providers := directory.Providers{Directory: p.Directory}
	user, err := p.CreateUser(t.Context(), p.operator(), origin, directory.NewUser{Email: "ada@example.com",
		Role: access.Admin, Password: "nine purple ducks on ice"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.login(t, nil); reasonOf(err) != reasonEmailTaken {
		t.Fatalf("not linked: %v", err)
	}
	ref := "ada@example.com"
	member := auth.Principal{OrgUID: p.org.UID, UserUID: "another", Role: access.Member}
	err = providers.Link(t.Context(), member, origin, user.UID, "ada-7")
	if fault.KindOf(err) != fault.Forbidden {
		t.Errorf("linked by a member: %v", err)
	}
	if err := providers.Link(t.Context(), p.operator(), origin, ref, "ada-7"); err != nil {
		t.Fatal(err)
	}
	done, err := p.login(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if linked, err := p.principal(t, done); err != nil || linked.UserUID != user.UID || linked.Role != access.Admin {
		t.Errorf("%+v, %v", linked, err)
	}
	p.newRecords(t)
	if err := providers.Link(t.Context(), p.operator(), origin, ref, ""); err != nil {
		t.Fatal(err)
	}
	ended := 0
	for _, r := range p.newRecords(t) {
		if r.Action == audit.SessionEnd && r.OrgUID == p.org.UID && r.Target == "ada-7" && r.Reason == "unlinked" {
			ended++
		}
	}
	if ended != 1 {
		t.Errorf("%d sessions ended", ended)
	}
	if _, err := p.login(t, nil); reasonOf(err) != reasonEmailTaken {
		t.Errorf("unlinked: %v", err)
	}
	if _, err := p.principal(t, done); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("the session of a user who was unlinked: %v", err)
	}
}

// TestProviderIsAskedEachHour renews sessions while the provider vouches for the person, does not respond, and does so no longer.
func TestProviderIsAskedEachHour(t *testing.T) {
	p := mustProvider(t, nil)
	done, err := p.login(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	use := func(after time.Duration, refreshes int, live bool) {
		t.Helper()
		p.move(after)
		_, err := p.principal(t, done)
		p.set(func() {
			if p.refreshes != refreshes || (err == nil) != live {
				t.Errorf("after %v: asked %d times, want %d; %v", p.at.Sub(start), p.refreshes, refreshes, err)
			}
		})
	}
	use(50*time.Minute, 0, true)
	use(11*time.Minute, 1, true)
	use(50*time.Minute, 1, true)
	p.set(func() { p.status = http.StatusServiceUnavailable })
	use(11*time.Minute, 1, true)
	p.set(func() { p.status, p.failure = http.StatusUnauthorized, "invalid_client" })
	use(recheckPause, 1, true)
	p.set(func() { p.status, p.failure = 0, "" })
	use(recheckPause, 2, true)
	p.newRecords(t)
	p.set(func() { p.failure = "invalid_grant" })
	use(30*time.Minute, 2, true)
	use(31*time.Minute, 2, false)
	p.wantEnd(t)
}

// TestRefusedSubjectsAreRecorded has two people from one address within a minute: an administrator needs the subject of each to link them.
// Tokens that are not verified share a record, whatever they say.
func TestRefusedSubjectsAreRecorded(t *testing.T) {
	p := mustProvider(t, nil)
	for _, subject := range []string{"ada-7", "ben-8"} {
		email := subject + "@example.com"
		if _, err := p.CreateUser(t.Context(), p.operator(), origin, directory.NewUser{Email: email, WithoutPassword: true}); err != nil {
			t.Fatal(err)
		}
		p.set(func() { p.change = map[string]any{"sub": subject, "email": email} })
		if _, err := p.login(t, nil); reasonOf(err) != reasonEmailTaken {
			t.Fatal(err)
		}
		p.set(func() { p.change["aud"] = "another" })
		if _, err := p.login(t, nil); reasonOf(err) != ReasonNotTrusted {
			t.Fatal(err)
		}
	}
	var subjects []string
	for _, r := range p.newRecords(t) {
		if r.Outcome == audit.Refused {
			subjects = append(subjects, r.Object+" by "+r.ActorName)
		}
	}
	slices.Sort(subjects)
	if !slices.Equal(subjects, []string{" by ada-7", "ada-7 by ada-7", "ben-8 by ben-8"}) {
		t.Errorf("%q", subjects)
	}
}

// wantEnd expects the end of one session as the only new record.
func (p *identityProvider) wantEnd(t *testing.T) {
	t.Helper()
	records := p.newRecords(t)
	if len(records) != 1 || records[0].Action != audit.SessionEnd || records[0].Reason != endedByProvider || records[0].ActorUID == "" ||
		records[0].ActorName != "ada@example.com" || records[0].OrgUID != p.org.UID {
		t.Errorf("recorded as %+v", records)
	}
}

// TestSessionWithoutIdentityEnds removes the identity of a session and leaves the session, as versions before did.
func TestSessionWithoutIdentityEnds(t *testing.T) {
	p := mustProvider(t, nil)
	done, err := p.login(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := p.principal(t, done)
	if err == nil {
		err = p.db.InTx(t.Context(), func(tx *store.Tx) error { return tx.Identities.DeleteOfUser(t.Context(), p.org.UID, caller.UserUID) })
	}
	if err != nil {
		t.Fatal(err)
	}
	p.newRecords(t)
	p.move(time.Hour + time.Minute)
	if _, err := p.principal(t, done); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("the session goes on: %v", err)
	}
	p.wantEnd(t)
}

// TestEndOfRefresh has the errors that end sessions when the provider is asked again, and others.
func TestEndOfRefresh(t *testing.T) {
	for failure, live := range map[string]bool{"invalid_grant": false, "invalid_request": false, "interaction_required": false,
		"invalid_client": true, "unauthorized_client": true, "server_error": true, "temporarily_unavailable": true} {
		t.Run(failure, func(t *testing.T) {
			p := mustProvider(t, nil)
			done, err := p.login(t, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.set(func() { p.status, p.failure = http.StatusBadRequest, failure })
			p.move(61 * time.Minute)
			if _, err := p.principal(t, done); (err == nil) != live {
				t.Errorf("the session is live: %t, %v", err == nil, err)
			}
		})
	}
}

// TestRefreshTokenOfTheProviderIsNotLost has a browser leave while the provider responds, and then a provider whose keys cannot be read:
// it has accepted the former refresh token, and gave another one.
func TestRefreshTokenOfTheProviderIsNotLost(t *testing.T) {
	p := mustProvider(t, nil)
	done, err := p.login(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	p.set(func() {
		p.serve = func(w http.ResponseWriter, r *http.Request) bool {
			leave()
			return p.token(w, r)
		}
	})
	p.move(61 * time.Minute)
	_, _ = p.auth.Authenticator.AuthenticateConsole(ctx, done.Reference) // the browser has left
	p.set(func() { p.serve = p.token })
	p.move(61 * time.Minute)
	if _, err := p.principal(t, done); err != nil || p.refreshes != 2 {
		t.Errorf("asked %d times, want 2; %v", p.refreshes, err)
	}
	p.set(func() {
		p.sign = func(claims map[string]any) string { return signWith(t, keys()["new"], jose.RS256, "key-9", claims) }
		p.serve = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/jwks") {
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}
			return p.token(w, r)
		}
	})
	p.move(61 * time.Minute)
	_, _ = p.principal(t, done) // whether it is refused or not
	p.set(func() {
		p.sign, p.serve = func(claims map[string]any) string { return sign(t, claims) }, p.token
	})
	p.move(recheckPause)
	if _, err := p.principal(t, done); err != nil {
		t.Errorf("after %d refreshes: %v", p.refreshes, err)
	}
}

// TestRefreshTokensAskTheProvider renews a session of tokens that the provider vouches for.
func TestRefreshTokensAskTheProvider(t *testing.T) {
	p := mustProvider(t, nil)
	first, err := p.login(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	who, err := p.principal(t, first)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := p.auth.Logins.LoginVouched(t.Context(), origin, auth.Vouched{OrgUID: p.org.UID,
		Method: audit.MethodOIDC, RecheckAt: start.Add(time.Hour),
		User: func(tx *store.Tx) (store.User, error) { return tx.Users.Get(t.Context(), p.org.UID, who.UserUID) },
		Stored: func(tx *store.Tx, session string) error {
			identity, err := tx.Identities.OfSession(t.Context(), who.SessionUID)
			if err != nil {
				return err
			}
			return tx.Identities.Bind(t.Context(), identities.Session{SessionUID: session, IdentityUID: identity.UID})
		}})
	if err != nil {
		t.Fatal(err)
	}
	p.move(61 * time.Minute)
	if tokens, err = p.auth.Sessions.Refresh(t.Context(), origin, tokens.Refresh); err != nil || p.refreshes != 1 {
		t.Fatalf("asked %d times: %v", p.refreshes, err)
	}
	exchanged, err := p.auth.Sessions.Refresh(t.Context(), origin, tokens.Authorization)
	if err != nil || p.refreshes != 1 {
		t.Fatalf("asked %d times: %v", p.refreshes, err)
	}
	p.set(func() { p.change = map[string]any{"sub": "another"} })
	p.move(55 * time.Minute)
	if tokens, err = p.auth.Sessions.Refresh(t.Context(), origin, tokens.Refresh); err != nil || p.refreshes != 1 {
		t.Fatalf("asked %d times: %v", p.refreshes, err)
	}
	p.move(6 * time.Minute)
	if _, err := p.auth.Sessions.Refresh(t.Context(), origin, tokens.Authorization); reasonOf(err) != "revoked" {
		t.Errorf("another person: %v", err)
	}
	for _, authorization := range []secret.String{tokens.Authorization, exchanged.Authorization} {
		if _, err := p.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: authorization}); err == nil {
			t.Error("an authorization token of an ended session is accepted")
		}
	}
	if _, err := p.principal(t, first); err == nil {
		t.Error("the session of the browser goes on")
	}
}

// TestSessionsWithoutRefreshTokenEnd has a provider that cannot be asked, and one that was deleted.
func TestSessionsWithoutRefreshTokenEnd(t *testing.T) {
	p := mustProvider(t, nil)
	p.set(func() { p.noRefresh = true })
	done, err := p.login(t, nil)
	if err != nil || !done.Ends.Equal(start.Add(time.Hour)) {
		t.Fatalf("ends at %v: %v", done.Ends, err)
	}
	p.set(func() { p.noRefresh = false })
	if done, err = p.login(t, nil); err != nil {
		t.Fatal(err)
	}
	if err := (directory.Providers{Directory: p.Directory}).Delete(t.Context(), p.operator(), origin); err != nil {
		t.Fatal(err)
	}
	if _, err := p.principal(t, done); err != nil {
		t.Errorf("within the hour: %v", err)
	}
	p.move(61 * time.Minute)
	if _, err := p.principal(t, done); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("the provider was deleted: %v", err)
	}
}

// TestProvidersThatDoNotRespond have a response that names no secret, and the log neither.
func TestProvidersThatDoNotRespond(t *testing.T) {
	for name, change := range map[string]func(*identityProvider){
		"unknown client": func(p *identityProvider) { p.status, p.failure = http.StatusUnauthorized, "invalid_client" },
		"status 500":     func(p *identityProvider) { p.status = http.StatusInternalServerError },
		"odd error":      func(p *identityProvider) { p.failure = clientSecret },
	} {
		p := mustProvider(t, nil)
		p.set(func() { change(p) })
		_, err := p.login(t, nil)
		if fault.KindOf(err) != fault.Unavailable || strings.Contains(err.Error(), clientSecret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := mustProvider(t, nil)
	for name, at := range map[string]string{"over HTTP": "http://login.example.com/token", "relative": "/token"} {
		p.set(func() {
			clear(p.issuers.known)
			p.serve = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/openid-configuration") {
					return false
				}
				write(w, map[string]any{"issuer": other, "jwks_uri": other + "/jwks", "authorization_endpoint": other + "/authorize",
					"token_endpoint": at})
				return true
			}
		})
		if _, err := p.sso.Begin(t.Context(), origin, org, ""); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a token endpoint %s: %v", name, err)
		}
	}
}

// TestOffer is the same for an unknown organization and one without a provider.
func TestOffer(t *testing.T) {
	p := mustProvider(t, func(s *directory.Provider) { s.Name = "Acme" })
	if _, err := p.CreateOrg(t.Context(), auth.Operator(), origin, "Without"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Offer{strings.ToUpper(org): {org, "Acme"}, "Without": {}, "unknown": {}, "": {}} {
		ok := want != Offer{}
		offer, some, err := p.sso.Offer(t.Context(), name)
		if err != nil || offer != want || !some {
			t.Errorf("%q: %+v, %v, %v", name, offer, some, err)
		}
		if _, err := p.sso.Begin(t.Context(), origin, name, ""); (fault.KindOf(err) == fault.NotFound) == ok {
			t.Errorf("%q begins: %v", name, err)
		}
	}
}

// TestSecretStaysWithItsIssuer replaces the provider with a masked secret.
func TestSecretStaysWithItsIssuer(t *testing.T) {
	p := mustProvider(t, nil)
	providers := directory.Providers{Directory: p.Directory}
	shown, err := providers.Provider(t.Context(), p.operator())
	if err != nil || shown.Secret.Reveal() != secret.Mask {
		t.Fatalf("%+v, %v", shown, err)
	}
	shown.Name = "Renamed"
	p.settings = shown
	p.configure(t)
	if _, err := p.login(t, nil); err != nil {
		t.Errorf("the masked secret is not the stored one: %v", err)
	}
	masked := shown.Secret
	for _, row := range []struct {
		ca     string
		secret secret.String
		ok     bool
	}{
		{p.ca, masked, false}, // the owner of its key could pose as the issuer
		{p.ca, "entered again", true},
		{strings.ReplaceAll(p.ca, "\n", "\r\n"), masked, true}, // as a browser sends it
		{"", masked, true},
	} {
		shown.CA, shown.Secret = row.ca, row.secret
		err := providers.Set(t.Context(), p.operator(), origin, shown)
		if (err == nil) != row.ok || err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q with %q: %v", row.secret.Reveal(), row.ca, err)
		}
	}
	shown.Issuer = gitlab
	if err := providers.Set(t.Context(), p.operator(), origin, shown); fault.KindOf(err) != fault.Invalid {
		t.Errorf("the secret goes to another issuer: %v", err)
	}
	bad := directory.Provider{Issuer: "http://x.example.com", Settings: identities.Settings{CA: "x", Scopes: []string{"a b"},
		EmailDomains: []string{"@"}, Claims: map[string]string{"x": "y"}}}
	err = providers.Set(t.Context(), p.operator(), origin, bad)
	if f, ok := errors.AsType[*fault.Error](err); !ok || len(f.Fields) != 6 {
		t.Errorf("all problems: %v", err)
	}
}

// A logout leads to the provider of the session only, to which the ID token belongs.
func TestLogoutAtItsProvider(t *testing.T) {
	p := mustProvider(t, nil)
	person := p.mustLogin(t)
	if got := p.sso.LogoutAt(t.Context(), person.SessionUID); !strings.HasPrefix(got, other+"/logout?") {
		t.Errorf("the logout leads to %q", got)
	}
	p.settings.Issuer = gitlab
	p.configure(t)
	if got := p.sso.LogoutAt(t.Context(), person.SessionUID); got != "" {
		t.Errorf("the logout leads to another provider: %q", got)
	}
}
