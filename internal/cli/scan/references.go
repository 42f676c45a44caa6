package scan

import (
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// CheckReferences makes references definitions that are checked: with the credentials that the files have for their program and registry,
// and without any if there are none, or several.
func CheckReferences(result *model.Result) {
	logins := map[login]*model.Registry{}
	for i := range result.Registries {
		r := &result.Registries[i]
		if r.Resolution != model.Resolved || r.Definition.BaseContentPath != "" || r.Definition.Auth.Kind() == regcheck.NoAuth {
			continue
		}
		of := login{r.Consumer, r.Definition.Endpoint}
		if known, found := logins[of]; found && (known == nil || !sameAuth(known, r)) {
			r = nil // which of them is used is not known
		}
		logins[of] = r
	}
	for _, r := range result.References {
		if found := logins[login{r.Consumer, r.Definition.Endpoint}]; found != nil {
			auth := *found.Definition.Auth
			r.Definition.Auth = &auth
			r.Secret = &found.Sources[0]
		}
		result.Registries = append(result.Registries, r)
	}
	result.References = nil
	result.Validate()
}

// login is what credentials are for.
type login struct {
	consumer model.Consumer
	endpoint string
}

func sameAuth(a, b *model.Registry) bool {
	return model.Key(regcheck.Definition{Auth: a.Definition.Auth}) == model.Key(regcheck.Definition{Auth: b.Definition.Auth})
}
