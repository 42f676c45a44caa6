package federation

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"

	"github.com/regwarden/regwarden/internal/service/trustrule"
	"github.com/regwarden/regwarden/internal/storage/trusts"
	"github.com/regwarden/regwarden/secret"
)

const (
	maxToken = 16 << 10
	// clockSkew is how far the clocks of an issuer and of this service may differ.
	clockSkew = 5 * time.Minute
	// maxVerified is how many keys a token is verified with, one for each rule that an organization may have and some more. A verification
	// takes up to 2 ms, and an organization chooses the keys and the rules.
	maxVerified = 128
)

// Reasons for a refused token. A response has one of the first three, of which the first two depend on the token alone. Audit records of
// refused tokens have the others; those of logins by an identity provider also the first two.
const (
	ReasonMalformed  = "malformed"  // not a signed JWT with an issuer and an expiry, or of an algorithm that is not accepted
	ReasonExpired    = "expired"    // or not yet valid
	ReasonNotTrusted = "notTrusted" // in responses, for any other: the response is the same for an unknown organization and a wrong claim
	reasonAudience   = "wrongAudience"
	reasonSignature  = "wrongSignature"
	reasonClaim      = "claim " // and the name of the first claim that does not meet its condition
	reasonUsed       = "alreadyUsed"
)

// presented is a token whose signature is not verified yet.
type presented struct {
	raw     string
	issuer  string
	subject string
	kid     string
	kind    string // header typ; empty if it is not given
	id      string // empty if the issuer gives none
	expires time.Time
	claims  map[string]any

	verified *int // keys that were tried
}

var errMalformed = errors.New("not a signed JWT")

// parse reads a token about a subject.
func parse(token secret.String) (p presented, err error) {
	if p, err = parseClaims(token); err == nil && p.subject == "" {
		err = errMalformed
	}
	return p, err
}

// parseClaims reads a token. Duplicate members and invalid UTF-8 are refused, since the issuer may have read them in another way.
func parseClaims(token secret.String) (p presented, err error) {
	p.raw, p.verified = token.Reveal(), new(int)
	if len(p.raw) > maxToken || strings.Count(p.raw, ".") != 2 {
		return p, errMalformed
	}
	signed, err := jose.ParseSignedCompact(p.raw, trustrule.Algorithms)
	if err != nil || len(signed.Signatures) != 1 {
		return p, errMalformed
	}
	p.kid = signed.Signatures[0].Header.KeyID
	p.kind, _ = signed.Signatures[0].Header.ExtraHeaders[jose.HeaderType].(string)
	if err := json.Unmarshal(signed.UnsafePayloadWithoutVerification(), &p.claims); err != nil {
		return p, errMalformed
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(p.claims)), resembles) {
		return p, errMalformed
	}
	p.issuer, _ = p.claims["iss"].(string)
	p.subject, _ = p.claims["sub"].(string)
	p.id, _ = p.claims["jti"].(string)
	seconds, ok := p.claims["exp"].(float64)
	if p.issuer == "" || !ok || math.Abs(seconds) > 1<<40 {
		return p, errMalformed
	}
	p.expires = time.Unix(int64(seconds), 0)
	return p, nil
}

// resembles reports whether the name of a claim differs in case alone from one that decides. The OpenID Connect library takes both for the
// same, so that a claim AUD that a person chose would replace the audience.
func resembles(name string) bool {
	return slices.ContainsFunc([]string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "nonce", "azp"}, func(decides string) bool {
		return name != decides && strings.EqualFold(name, decides)
	})
}

// valid reports whether a token is valid at that time by its own claims.
func (p presented) valid(now time.Time) bool {
	for _, name := range []string{"nbf", "iat"} {
		claim, given := p.claims[name]
		seconds, ok := claim.(float64)
		if given && (!ok || seconds > float64(now.Add(clockSkew).Unix())) {
			return false
		}
	}
	return now.Before(p.expires.Add(clockSkew))
}

// check returns why a rule does not accept a token, "" if it does. The error means that this cannot be known now.
func (s *Service) check(ctx context.Context, rule trusts.Rule, p presented) (reason string, err error) {
	keys := &keySet{ctx: ctx, service: s, rule: rule, kid: p.kid, tried: p.verified}
	verifier := oidc.NewVerifier(rule.Issuer, keys, &oidc.Config{ClientID: rule.Audience, SkipExpiryCheck: true,
		SupportedSigningAlgs: algorithms()})
	if _, err := verifier.Verify(ctx, p.raw); err != nil {
		switch {
		case keys.err != nil:
			return "", keys.err
		case !keys.verified:
			return reasonSignature, nil
		}
		return reasonAudience, nil
	}
	if claim := trustrule.Conditions(rule.Claims).Unmet(p.claims); claim != "" {
		return reasonClaim + claim, nil
	}
	return "", nil
}

func algorithms() (names []string) {
	for _, a := range trustrule.Algorithms {
		names = append(names, string(a))
	}
	return names
}

// keySet has the keys of a rule: those that are stored with it, else those of its issuer. It implements oidc.KeySet for one token.
type keySet struct {
	ctx      context.Context
	service  *Service
	rule     trusts.Rule
	kid      string
	tried    *int  // keys, of all rules
	verified bool  // by one of the keys
	err      error // the keys cannot be read
}

var errNoKey = errors.New("no key of the issuer verifies the token")

// VerifySignature implements oidc.KeySet.
func (k *keySet) VerifySignature(_ context.Context, raw string) ([]byte, error) {
	var keys []jose.JSONWebKey
	if keys, k.err = k.read(); k.err != nil {
		return nil, k.err
	}
	signed, err := jose.ParseSignedCompact(raw, trustrule.Algorithms)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if key.Algorithm != "" && key.Algorithm != signed.Signatures[0].Header.Algorithm {
			continue
		}
		if *k.tried++; *k.tried > maxVerified {
			return nil, errNoKey
		}
		if payload, err := signed.Verify(key); err == nil {
			k.verified = true
			return payload, nil
		}
	}
	return nil, errNoKey
}

func (k *keySet) read() ([]jose.JSONWebKey, error) {
	if k.rule.Keys == "" {
		return k.service.issuers.keysFor(k.ctx, issuer{k.rule.Issuer, k.rule.CA}, k.kid)
	}
	set, err := trustrule.ReadKeys([]byte(k.rule.Keys))
	return withID(set.Keys, k.kid), err
}
