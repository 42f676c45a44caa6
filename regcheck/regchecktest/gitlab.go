package regchecktest

import (
	"encoding/json"
)

// gitLabDenial is what GitLab returns for any wrong password or token.
const gitLabDenial = "HTTP Basic: Access denied. If a password was provided for Git authentication, the password was incorrect or you're required " +
	"to use a token instead of a password. If a token was provided, it was either incorrect, expired, or improperly scoped."

// buildGitLab: the token service is the forge's host; missing rights are 403 there when no scope is
// left, and the catalog is an administrator's.
func buildGitLab(g *Registry, badStatus int, code, message string) error {
	body, err := json.Marshal(ociError(code, message))
	if err != nil {
		return err
	}
	if err := g.tokenHost(&tokenService{g: g, badStatus: badStatus, anonymous: publicTokens, badBody: string(body)}); err != nil {
		return err
	}
	return g.at(g.gitLab())
}

// buildGitLabGroup has rights per project: what is not one of them is refused.
func buildGitLabGroup(g *Registry) error {
	if err := g.tokenHost(&tokenService{g: g, anonymous: publicTokens}); err != nil {
		return err
	}
	s := g.gitLab()
	s.missing = s.catalog
	return g.at(s)
}

func (g *Registry) gitLab() *registry {
	s := g.tokenRegistry("https://auth.test/jwt/auth", "container_registry")
	s.catalog = func(v *visit) { v.challenge(bearerLine(v, "https://auth.test/jwt/auth", "container_registry")) }
	return s
}
