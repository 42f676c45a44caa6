package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// ProcessIdentity returns what definitions may use of the process: nothing unless the user asks for it with --ambient.
func ProcessIdentity(asked bool) *regcheck.Ambient {
	if !asked {
		return nil
	}
	return &regcheck.Ambient{Clouds: []string{"aws", "gcp", "azure"}, Getenv: os.Getenv, ReadFile: os.ReadFile}
}

// ambient returns credentials that the process has for the registry of an endpoint, by what the clients of each cloud read: variables,
// files and metadata services. They are used only when asked for: a report must not depend on who runs the command by accident.
func ambient(endpoint string, getenv func(string) string) (*regcheck.Auth, error) {
	switch kind := regcheck.ObtainedBy(endpoint); kind {
	case regcheck.ECR:
		if id := getenv("AWS_ACCESS_KEY_ID"); id != "" {
			a := &regcheck.AWSKey{AccessKey: id, SecretKey: secret.String(getenv("AWS_SECRET_ACCESS_KEY")),
				SessionToken: secret.String(getenv("AWS_SESSION_TOKEN"))}
			return &regcheck.Auth{Type: kind, AWS: a}, missing(getenv, "AWS_SECRET_ACCESS_KEY")
		}
		return &regcheck.Auth{Type: kind, AWS: &regcheck.AWSKey{Ambient: true}}, nil
	case regcheck.GCP:
		return &regcheck.Auth{Type: kind, GCP: &regcheck.GCPKey{Ambient: true}}, nil
	case regcheck.Azure:
		return &regcheck.Auth{Type: kind, Azure: &regcheck.AzureClient{Ambient: true}}, nil
	default:
		return nil, UsageError{fmt.Errorf("--ambient knows no credentials for %s: it is for registries of AWS, Google and Azure", endpoint)}
	}
}

// ambientVariables are where --ambient takes fields from.
var ambientVariables = map[string]string{
	"auth.aws.accessKey": "AWS_ACCESS_KEY_ID", "auth.aws.secretKey": "AWS_SECRET_ACCESS_KEY", "auth.aws.sessionToken": "AWS_SESSION_TOKEN",
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

// UseAmbient replaces the credentials of a definition by those of the environment.
func UseAmbient(d *regcheck.Definition) error {
	if d.Auth.Kind() != regcheck.NoAuth {
		return UsageError{errors.New("--ambient cannot be combined with other credentials")}
	}
	a, err := ambient(d.Endpoint, os.Getenv)
	if err == nil {
		a.TLS = d.Auth.TLS
		d.Auth = a
	}
	return err
}

// missing is an error that lists the variables that are not set.
func missing(getenv func(string) string, names ...string) error {
	var unset []string
	for _, name := range names {
		if getenv(name) == "" {
			unset = append(unset, name)
		}
	}
	if len(unset) == 0 {
		return nil
	}
	return UsageError{fmt.Errorf("--ambient needs these variables, which are not set: %s", strings.Join(unset, ", "))}
}
