package scan

import (
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// Ambient gives credentials of the environment to the definitions whose program has an identity at the cloud of the registry. use sets
// them, and returns what is missing; nil only names the flag. A file that trusts other certificates gets none: it could be a trap.
func Ambient(result *model.Result, use func(*regcheck.Definition) error) {
	for i := range result.Registries {
		r := &result.Registries[i]
		if r.Reason != model.UnresolvedCloudIdentity || regcheck.ObtainedBy(r.Definition.Endpoint) == "" || r.Definition.Auth.TLS.Enabled {
			continue
		}
		if use == nil {
			r.Detail += " --ambient checks with the credentials of the environment."
			continue
		}
		d := r.Definition
		d.Auth = &regcheck.Auth{}
		if err := use(&d); err != nil {
			r.Detail += model.Detail(" " + err.Error() + ".")
			continue
		}
		r.Definition, r.Resolution, r.Reason, r.Detail = d, model.Resolved, "", ""
		r.Notices = append(r.Notices, model.Notice{Code: model.NoticeAmbientCredentials,
			Message: "The credentials are those of the environment (--ambient). Those of the program may have other permissions."})
	}
	result.Validate()
}
