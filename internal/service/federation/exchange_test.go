package federation

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/trustrule"
	"github.com/regwarden/regwarden/internal/storage/trusts"
	"github.com/regwarden/regwarden/secret"
)

func reasonOf(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Reason
	}
	return ""
}

// TestTokensOfPlatformsAreExchanged exchanges a token in the form of each platform and uses the issued one.
func TestTokensOfPlatformsAreExchanged(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	w.newRecords(t)
	for name, claims := range map[string]map[string]any{"github": githubClaims(), "gitlab": gitlabClaims(),
		"kubernetes": kubernetesClaims(), "other": otherClaims()} {
		tokens, err := w.exchange(t, sign(t, claims))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if tokens.Refresh != "" || !tokens.ExpiresAt.Equal(start.Add(15*time.Minute)) {
			t.Errorf("%s: refresh token %v, expires at %v", name, tokens.Refresh != "", tokens.ExpiresAt)
		}
		p, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: tokens.Authorization})
		if err != nil || p.Email != name || p.Role != access.Member || p.OrgUID != w.org.UID {
			t.Errorf("%s: the principal is %+v, %v", name, p, err)
		}
		records := w.newRecords(t)
		if last := records[0]; len(records) != 1 || last.Action != audit.Login ||
			last.Method != audit.MethodOIDC || last.ActorName != name || last.Target != claims["sub"] {
			t.Errorf("%s: recorded as %+v", name, records)
		}
	}
}

// TestIssuedTokensCannotBeRefreshed also tries the issued token itself at the refresh path.
func TestIssuedTokensCannotBeRefreshed(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	tokens, err := w.exchange(t, sign(t, githubClaims()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.auth.Sessions.Refresh(t.Context(), origin, tokens.Authorization); reasonOf(err) != auth.ReasonExpired {
		t.Errorf("refreshed: %v", err)
	}
}

// TestIssuedTokensEndWithTheirRule deletes the rule, and the login of a disabled user.
func TestIssuedTokensEndWithTheirRule(t *testing.T) {
	w := mustWorld(t)
	rule := w.trust(t, directory.NewTrust{Name: "github", Issuer: github, Claims: trustrule.Conditions{"repository": "acme/app"}})
	tokens, err := w.exchange(t, sign(t, githubClaims()))
	if err != nil {
		t.Fatal(err)
	}
	admin := auth.Principal{OrgUID: w.org.UID, Role: access.Admin}
	if err := w.Delete(t.Context(), admin, origin, rule.UID); err != nil {
		t.Fatal(err)
	}
	if p, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: tokens.Authorization}); err == nil {
		t.Errorf("still accepted: %+v", p)
	}
	claims := githubClaims()
	claims["jti"] = "another"
	if _, err := w.exchange(t, sign(t, claims)); reasonOf(err) != ReasonNotTrusted {
		t.Errorf("exchanged without a rule: %v", err)
	}
}

// TestWorkloadsHaveNoKeysAndAreNoUsers checks that who has a token for 15 minutes cannot make a longer-lived credential of it.
func TestWorkloadsHaveNoKeysAndAreNoUsers(t *testing.T) {
	w := mustWorld(t)
	rule := w.trust(t, directory.NewTrust{Name: "github", Issuer: github, Role: access.Admin,
		Claims: trustrule.Conditions{"repository": "acme/app"}})
	tokens, err := w.exchange(t, sign(t, githubClaims()))
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: tokens.Authorization})
	if err != nil {
		t.Fatal(err)
	}
	key := auth.NewAPIKey{Name: "key", ExpiresAt: start.Add(time.Hour)}
	if _, _, err := w.auth.APIKeys.Create(t.Context(), p, origin, key); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("an API key for itself: %v", err)
	}
	admin := auth.Principal{OrgUID: w.org.UID, OrgName: org, Role: access.Admin, Email: "ada@example.com", UserUID: "another"}
	key.User = rule.UID
	if _, _, err := w.auth.APIKeys.Create(t.Context(), admin, origin, key); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("an API key for a workload: %v", err)
	}
	ref := rule.UID
	if err := w.SetPassword(t.Context(), admin, origin, ref, "nine purple ducks on ice"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a password for a workload: %v", err)
	}
	if users, _, err := w.ListUsers(t.Context(), admin, directory.User{}); err != nil || len(users) != 0 {
		t.Errorf("listed as users: %+v, %v", users, err)
	}
	if own, err := w.User(t.Context(), p, p.UserUID); err != nil || own.Email != "github" {
		t.Errorf("itself: %+v, %v", own, err)
	}
}

// TestRefusedTokens has the reason in the response, and that in the record of the organization: "-" for no record.
func TestRefusedTokens(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	const none = "-"
	with := func(claims map[string]any, name string, value any) map[string]any {
		claims = maps.Clone(claims)
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
		return claims
	}
	git := func(name string, value any) string { return sign(t, with(githubClaims(), name, value)) }
	lab := func(name string, value any) string { return sign(t, with(gitlabClaims(), name, value)) }
	kube := func(name string, value any) string { return sign(t, with(kubernetesClaims(), name, value)) }
	otherAlgorithm := signWith(t, keys()[github], jose.PS256, "key-1", githubClaims())
	grouped := func(value any) string { return sign(t, with(otherClaims(), "groups", value)) }
	good := sign(t, githubClaims())
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	unsigned := encode([]byte(`{"alg":"none","kid":"key-1"}`)) + "."
	changed := encode([]byte(`{"iss":"` + github + `","sub":"repo:acme/app:x","exp":1795262700}`))
	headed := func(header string) string { return encode([]byte(header)) + "." + parts[1] + "." + parts[2] }
	at := func(d time.Duration) int64 { return start.Add(d).Unix() }
	hmacKey := keys()[github].N.Bytes()
	of := func(key string, kid string, claims any) string {
		return signWith(t, keys()[key], jose.RS256, kid, claims)
	}
	iss := func(issuer any) string { return of(github, "key-1", with(githubClaims(), "iss", issuer)) }
	text := func(payload string) string { return signText(t, keys()[github], jose.RS256, "key-1", []byte(payload)) }
	claims, err := json.Marshal(githubClaims())
	if err != nil {
		t.Fatal(err)
	}
	otherAudience, err := json.Marshal(with(githubClaims(), "aud", "https://github.com/acme"))
	if err != nil {
		t.Fatal(err)
	}
	alsoOurs := strings.TrimSuffix(string(otherAudience), "}") + `,"AUD":"` + audience + `"}`
	critical := signHeaded(t, keys()[github], jose.RS256, "key-1", claims, map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1})
	for name, row := range map[string]struct{ token, response, record string }{
		"empty parts":                    {"..", ReasonMalformed, none},
		"no JWT":                         {"ghs_16C7e42F292c6912E7710c838347Ae178B4a", ReasonMalformed, none},
		"an API key":                     {"rwk_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ReasonMalformed, none},
		"two parts":                      {parts[0] + "." + parts[1], ReasonMalformed, none},
		"encrypted":                      {good + ".x.y", ReasonMalformed, none},
		"too long":                       {git("actor", strings.Repeat("a", maxToken)), ReasonMalformed, none},
		"alg none":                       {unsigned + parts[1] + ".", ReasonMalformed, none},
		"alg None":                       {headed(`{"alg":"None","kid":"key-1"}`), ReasonMalformed, none},
		"alg missing":                    {headed(`{"kid":"key-1"}`), ReasonMalformed, none},
		"alg HS256 with the public key":  {signWith(t, hmacKey, jose.HS256, "key-1", githubClaims()), ReasonMalformed, none},
		"alg of another key type":        {headed(`{"alg":"ES256","kid":"key-1"}`), ReasonNotTrusted, reasonSignature},
		"alg PS256, key of RS256":        {otherAlgorithm, ReasonNotTrusted, reasonSignature},
		"unknown critical header":        {critical, ReasonNotTrusted, reasonSignature},
		"changed header":                 {headed(`{"alg":"RS256","kid":"key-1","typ":"jwt"}`), ReasonNotTrusted, reasonSignature},
		"changed payload":                {parts[0] + "." + changed + "." + parts[2], ReasonNotTrusted, reasonSignature},
		"signature cut":                  {good[:len(good)-4], ReasonNotTrusted, reasonSignature},
		"key of another issuer":          {of(gitlab, "key-1", githubClaims()), ReasonNotTrusted, reasonSignature},
		"key of no issuer":               {of("new", "key-1", githubClaims()), ReasonNotTrusted, reasonSignature},
		"unknown key ID":                 {of(github, "key-9", githubClaims()), ReasonNotTrusted, reasonSignature},
		"key ID as a path":               {of(github, "../../jwks", githubClaims()), ReasonNotTrusted, reasonSignature},
		"key in the header":              {embedded(t, githubClaims()), ReasonNotTrusted, reasonSignature},
		"not an object":                  {text(`["iss"]`), ReasonMalformed, none},
		"a claim twice":                  {text(`{"iss":"x","iss":"` + github + `","sub":"a","exp":1}`), ReasonMalformed, none},
		"invalid UTF-8":                  {text("{\"iss\":\"\xff\",\"sub\":\"a\",\"exp\":1}"), ReasonMalformed, none},
		"iss missing":                    {iss(nil), ReasonMalformed, none},
		"iss a list":                     {iss([]string{github}), ReasonMalformed, none},
		"iss with a slash":               {iss(github + "/"), ReasonNotTrusted, none},
		"iss in upper case":              {iss(strings.ToUpper(github)), ReasonNotTrusted, none},
		"iss that is not trusted":        {iss("https://evil.example.com"), ReasonNotTrusted, none},
		"sub missing":                    {git("sub", nil), ReasonMalformed, none},
		"sub a number":                   {git("sub", 7), ReasonMalformed, none},
		"sub of another repository":      {git("sub", "repo:acme/other:ref:refs/heads/main"), ReasonNotTrusted, reasonClaim + "sub"},
		"sub that begins alike":          {git("sub", "repo:acme/app-evil:ref:refs/heads/main"), ReasonNotTrusted, reasonClaim + "sub"},
		"sub in upper case":              {git("sub", "REPO:acme/app:ref:refs/heads/main"), ReasonNotTrusted, reasonClaim + "sub"},
		"sub that ends at the separator": {git("sub", "repo:acme/app:"), ReasonNotTrusted, reasonClaim + "sub"},
		"exp missing":                    {git("exp", nil), ReasonMalformed, none},
		"exp a text":                     {git("exp", "1795262700"), ReasonMalformed, none},
		"exp beyond all times":           {git("exp", 1e300), ReasonMalformed, none},
		"expired":                        {git("exp", at(-clockSkew)), ReasonExpired, none},
		"not yet valid":                  {git("nbf", at(clockSkew+time.Second)), ReasonExpired, none},
		"issued in the future":           {git("iat", at(clockSkew+time.Second)), ReasonExpired, none},
		"nbf a text":                     {git("nbf", "now"), ReasonExpired, none},
		"aud missing":                    {git("aud", nil), ReasonNotTrusted, reasonAudience},
		"aud of another service":         {git("aud", "https://github.com/acme"), ReasonNotTrusted, reasonAudience},
		"aud that begins alike":          {git("aud", audience+".evil.example"), ReasonNotTrusted, reasonAudience},
		"aud also in another case":       {text(alsoOurs), ReasonMalformed, none},
		"aud of a cloud":                 {git("aud", []string{"sts.amazonaws.com"}), ReasonNotTrusted, reasonAudience},
		"aud of the API server":          {kube("aud", []string{kubernetes}), ReasonNotTrusted, reasonAudience},
		"repository of another owner":    {git("repository", "evil/app"), ReasonNotTrusted, reasonClaim + "repository"},
		"repository in upper case":       {git("repository", "Acme/App"), ReasonNotTrusted, reasonClaim + "repository"},
		"repository with a space":        {git("repository", "acme/app "), ReasonNotTrusted, reasonClaim + "repository"},
		"repository missing":             {git("repository", nil), ReasonNotTrusted, reasonClaim + "repository"},
		"repository an object":           {git("repository", map[string]any{"x": 1}), ReasonNotTrusted, reasonClaim + "repository"},
		"ref of a tag":                   {git("ref", "refs/tags/v1"), ReasonNotTrusted, reasonClaim + "ref"},
		"ref empty, of a pull request":   {git("ref", "refs/pull/7/merge"), ReasonNotTrusted, reasonClaim + "ref"},
		"gitlab, not protected":          {lab("ref_protected", "false"), ReasonNotTrusted, reasonClaim + "ref_protected"},
		"gitlab, another project":        {lab("project_path", "acme/app/sub"), ReasonNotTrusted, reasonClaim + "project_path"},
		"kubernetes, another namespace":  {kube("sub", "system:serviceaccount:default:checks"), ReasonNotTrusted, reasonClaim + "sub"},
		"group in part of a name":        {grouped([]string{"ci-guests"}), ReasonNotTrusted, reasonClaim + "groups"},
		"group of another form":          {grouped("CI"), ReasonNotTrusted, reasonClaim + "groups"},
	} {
		w.newRecords(t)
		from := audit.Origin{Address: name} // refusals of one source for one reason share a record
		tokens, err := w.Exchange(t.Context(), from, Exchange{Org: org, Token: secret.String(row.token)})
		if fault.KindOf(err) != fault.Unauthenticated || reasonOf(err) != row.response || tokens.Authorization != "" {
			t.Errorf("%s: the response is %v %q, want %q", name, err, reasonOf(err), row.response)
		}
		if strings.Contains(err.Error(), "acme") {
			t.Errorf("%s: the response names what the rule requires: %v", name, err)
		}
		recorded := none
		if records := w.newRecords(t); len(records) == 1 {
			recorded = records[0].Reason
		}
		if recorded != row.record {
			t.Errorf("%s: the record has %q, want %q", name, recorded, row.record)
		}
	}
	if _, err := w.exchange(t, good); err != nil {
		t.Errorf("the unchanged token: %v", err)
	}
}

// TestEnvironmentsOfGitHub has a rule for jobs that GitHub lets deploy to an environment, which its reviewers approve.
func TestEnvironmentsOfGitHub(t *testing.T) {
	w := mustWorld(t)
	w.trust(t, directory.NewTrust{Name: "deploy", Issuer: github, Claims: trustrule.Conditions{"repository": "acme/app",
		"environment": "production"}})
	token := func(environment any) string {
		claims := githubClaims()
		if claims["environment"] = environment; environment == nil {
			delete(claims, "environment")
		}
		claims["sub"] = fmt.Sprintf("repo:acme/app:environment:%v", environment)
		return sign(t, claims)
	}
	w.newRecords(t)
	for i, environment := range []any{nil, "", "staging", "Production", "production-2", "production ", "production/*"} {
		from := audit.Origin{Address: fmt.Sprint(i)}
		_, err := w.Exchange(t.Context(), from, Exchange{Org: org, Token: secret.String(token(environment))})
		if reasonOf(err) != ReasonNotTrusted {
			t.Errorf("environment %v: %v", environment, err)
		}
		if records := w.newRecords(t); len(records) != 1 || records[0].Reason != reasonClaim+"environment" {
			t.Errorf("environment %v: recorded as %+v", environment, records)
		}
	}
	if _, err := w.exchange(t, token("production")); err != nil {
		t.Errorf("the environment of the rule: %v", err)
	}
}

// TestVerificationsAreLimited has a token without key ID, and rules with many keys. An organization chooses both, and a verification with a
// long key takes 2 ms.
func TestVerificationsAreLimited(t *testing.T) {
	w := mustWorld(t)
	token, err := parse(secret.String(signWith(t, keys()["new"], jose.RS256, "", githubClaims())))
	if err != nil {
		t.Fatal(err)
	}
	rule := trusts.Rule{Issuer: github, Audience: audience, Keys: manyKeys(t, maxKeys)}
	for range 3 {
		if reason, err := w.check(t.Context(), rule, token); reason != reasonSignature || err != nil {
			t.Errorf("%q, %v", reason, err)
		}
	}
	if n := *token.verified; n < maxVerified || n > maxVerified+3 {
		t.Errorf("%d keys were tried, want %d", n, maxVerified)
	}
}

// embedded returns a token with its own key in the header.
func embedded(t *testing.T, claims map[string]any) string {
	t.Helper()
	key := jose.JSONWebKey{Key: keys()["new"], KeyID: "key-1"}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	return mustSerialize(t, signer, claims)
}

// TestUnknownOrganizationHasTheSameResponse compares the response with that to a wrong claim.
func TestUnknownOrganizationHasTheSameResponse(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	claims := githubClaims()
	claims["repository"] = "evil/app"
	_, wrong := w.exchange(t, sign(t, claims))
	_, unknown := w.Exchange(t.Context(), origin, Exchange{Org: "unknown", Token: secret.String(sign(t, githubClaims()))})
	if wrong == nil || unknown == nil || wrong.Error() != unknown.Error() || reasonOf(wrong) != reasonOf(unknown) {
		t.Errorf("a wrong claim is %v, an unknown organization %v", wrong, unknown)
	}
}

// TestTokensAreAcceptedOnce presents one token to several calls at once, which several servers do with one store.
func TestTokensAreAcceptedOnce(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	withoutID := otherClaims()
	for name, token := range map[string]string{"with an ID": sign(t, githubClaims()), "without one": sign(t, withoutID)} {
		var mu sync.Mutex
		var wg sync.WaitGroup
		outcomes := map[string]int{}
		for range 4 {
			wg.Go(func() {
				_, err := w.exchange(t, token)
				mu.Lock()
				defer mu.Unlock()
				outcomes[reasonOf(err)]++
			})
		}
		wg.Wait()
		if outcomes[""] != 1 || outcomes[ReasonNotTrusted] != 3 {
			t.Errorf("%s: %v", name, outcomes)
		}
	}
	token := sign(t, kubernetesClaims())
	for range 2 {
		if _, err := w.exchange(t, token); err != nil {
			t.Errorf("a reusable token: %v", err)
		}
	}
}

// TestClocksMayDiffer checks both ends of a token's validity.
func TestClocksMayDiffer(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	for name, at := range map[string]time.Duration{"ahead": 10*time.Minute - time.Second, "behind": -clockSkew} {
		w.move(at)
		claims := githubClaims()
		claims["jti"] = name
		if _, err := w.exchange(t, sign(t, claims)); err != nil {
			t.Errorf("a clock that is %s: %v", name, err)
		}
		w.move(-at)
	}
}

// TestSeveralRulesMustBeNamed has two rules that accept one token.
func TestSeveralRulesMustBeNamed(t *testing.T) {
	w := mustWorld(t)
	w.trust(t, directory.NewTrust{Name: "one", Issuer: github, Claims: trustrule.Conditions{"repository": "acme/app"}})
	w.trust(t, directory.NewTrust{Name: "two", Issuer: github, Claims: trustrule.Conditions{"repository": "acme/*"}, Role: access.Admin})
	token := secret.String(sign(t, githubClaims()))
	_, err := w.Exchange(t.Context(), origin, Exchange{Org: org, Token: token})
	if f, ok := errors.AsType[*fault.Error](err); !ok || len(f.Fields) != 1 || f.Fields[0].Field != "rule" {
		t.Errorf("without a name: %v", err)
	}
	tokens, err := w.Exchange(t.Context(), origin, Exchange{Org: org, Token: token, Rule: "Two"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: tokens.Authorization})
	if p.Role != access.Admin {
		t.Errorf("the role is %v, %v", p.Role, err)
	}
}

func TestExchangesAreLimited(t *testing.T) {
	w := mustWorld(t)
	for range exchangesPerMinute {
		if _, err := w.exchange(t, "x"); fault.KindOf(err) != fault.Unauthenticated {
			t.Fatal(err)
		}
	}
	if _, err := w.exchange(t, "x"); fault.KindOf(err) != fault.Limited {
		t.Errorf("one more: %v", err)
	}
}
