package cloudtest

import (
	"crypto/rsa"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Cluster issues tokens of service accounts, as Kubernetes does, to which clouds give an identity.
type Cluster struct {
	Issuer string
	Key    *rsa.PrivateKey
}

// Trust is what a cloud knows of a cluster.
type Trust struct {
	Issuer   string
	Key      *rsa.PublicKey
	Audience string
}

// Token returns a token.
func (c Cluster) Token(subject, audience string, until time.Time) string {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: c.Key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		panic(err)
	}
	text, err := jwt.Signed(s).Claims(jwt.Claims{Issuer: c.Issuer, Subject: subject, Audience: jwt.Audience{audience},
		IssuedAt: jwt.NewNumericDate(until.Add(-time.Hour)), Expiry: jwt.NewNumericDate(until)}).Serialize()
	if err != nil {
		panic(err)
	}
	return text
}

type tokenProblem string

const (
	wrongIssuer    tokenProblem = "issuer"
	wrongSignature tokenProblem = "signature"
	wrongAudience  tokenProblem = "audience"
	expired        tokenProblem = "expired"
)

// verify returns the subject of a token, or what is wrong with it. trusted is by issuer.
func verify(text string, trusted map[string]Trust, now time.Time) (subject string, problem tokenProblem) {
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return "", wrongSignature
	}
	var claims jwt.Claims
	_ = token.UnsafeClaimsWithoutVerification(&claims)
	trust, known := trusted[claims.Issuer]
	switch {
	case !known:
		return "", wrongIssuer
	case token.Claims(trust.Key, &claims) != nil:
		return "", wrongSignature
	case !slices.Contains(claims.Audience, trust.Audience):
		return "", wrongAudience
	case claims.Expiry == nil || !now.Before(claims.Expiry.Time()):
		return "", expired
	}
	return claims.Subject, ""
}
