package scan

import (
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// Shown returns what JSON and YAML show of a result. Secrets are masked unless secrets is true.
func Shown(result model.Result, secrets bool) any {
	if secrets {
		return reveal(result)
	}
	return result
}

// revealed is a Result with its secrets.
type revealed struct {
	model.Result
	Registries []revealedRegistry `json:"registries"`
}

type revealedRegistry struct {
	model.Registry
	Definition revealedDefinition `json:"definition"`
}

type revealedDefinition struct {
	regcheck.Definition
	Auth revealedAuth `json:"auth"`
}

type revealedAuth struct {
	regcheck.Auth
	Password string      `json:"password,omitempty"`
	Token    string      `json:"token,omitempty"`
	TLS      revealedTLS `json:"tls,omitzero"`
}

type revealedTLS struct {
	regcheck.TLS
	Key string `json:"key,omitempty"`
}

func reveal(result model.Result) revealed {
	shown := revealed{Result: result, Registries: make([]revealedRegistry, len(result.Registries))}
	for i, r := range result.Registries {
		a := *r.Definition.Auth
		shown.Registries[i] = revealedRegistry{r, revealedDefinition{r.Definition,
			revealedAuth{a, a.Password.Reveal(), a.Token.Reveal(), revealedTLS{a.TLS, a.TLS.Key.Reveal()}}}}
	}
	return shown
}
