package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/regwarden/regwarden/regcheck"
)

// ProcessIdentity returns what definitions may use of the process: nothing unless the user asks for it with --ambient.
func ProcessIdentity(asked bool) *regcheck.Ambient {
	if !asked {
		return nil
	}
	return &regcheck.Ambient{Clouds: []string{"aws", "gcp", "azure"}, Getenv: os.Getenv, ReadFile: os.ReadFile}
}

// ambientVariables are what sets fields with --ambient.
var ambientVariables = map[string]string{
	"auth.aws.ambient": "--ambient", "auth.gcp.ambient": "--ambient", "auth.azure.ambient": "--ambient",

	"auth.gcp.serviceAccount": "GOOGLE_APPLICATION_CREDENTIALS",
	"auth.azure.tenantId":     "AZURE_TENANT_ID", "auth.azure.clientId": "AZURE_CLIENT_ID",
	"auth.azure.clientSecret": "AZURE_CLIENT_SECRET",
}

// Named returns the function that says which flag, or variable of --ambient, sets a field. flag is that without --ambient.
func (f *DefinitionFlags) Named(flag func(path string) string) func(path string) string {
	if !f.Ambient {
		return flag
	}
	return func(path string) string { return cmp.Or(ambientVariables[path], flag(path)) }
}

// UseAmbient has the credentials of a definition obtained with the identity that the process has at the cloud of the registry, by what the
// clients of each cloud read: variables, files and metadata services. They are used only when asked for: a report must not depend on who
// runs the command by accident. A role to assume, and which of several identities to use, remain.
func UseAmbient(d *regcheck.Definition) error {
	kind := regcheck.ObtainedBy(d.Endpoint)
	if given := d.Auth.Kind(); given != regcheck.NoAuth && given != kind {
		return UsageError{errors.New("--ambient cannot be combined with other credentials")}
	}
	d.Auth.Type = kind
	switch kind {
	case regcheck.ECR:
		orNew(&d.Auth.AWS).Ambient = true
	case regcheck.GCP:
		orNew(&d.Auth.GCP).Ambient = true
	case regcheck.Azure:
		orNew(&d.Auth.Azure).Ambient = true
	default:
		return UsageError{fmt.Errorf("--ambient knows no credentials for %s: it is for registries of AWS, Google and Azure", d.Endpoint)}
	}
	return nil
}
