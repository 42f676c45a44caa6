package service_test

import (
	"testing"

	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

const (
	validate = "/v1/registries/oci/basic/validate"
	diagnose = "/v1/registries/oci/basic/diagnose"
	scan     = "/v1/registries/oci/basic/scan"
	alerts   = "/v1/projects/alerts"
	refresh  = "/v1/auth/refresh/"

	ada         = "ada"
	adaPassword = "correct horse"
)

type object = map[string]any

// noAuth is the definition of an endpoint without credentials; more replaces its fields.
func noAuth(endpoint string, more ...object) string {
	return definition(endpoint, object{"type": "noAuth"}, more...)
}

func basic(endpoint, username, password string, more ...object) string {
	return definition(endpoint, object{"type": "basic", "username": username, "password": password}, more...)
}

// definition writes a definition; tls in more goes below auth.
func definition(endpoint string, auth object, more ...object) string {
	d := object{"endpoint": endpoint, "auth": auth}
	for _, m := range more {
		for name, value := range m {
			if name == "tls" {
				auth["tls"] = value
			} else {
				d[name] = value
			}
		}
	}
	return instance.JSON(d)
}

func trusting(ca string) object { return object{"tls": object{"enabled": true, "ca": ca}} }

func content(path string) object { return object{"baseContentPath": path} }

// secured is a registry over https with one user and one chart.
func secured(t *testing.T) realregistry.Access {
	t.Helper()
	registry := realregistry.Distribution(t, realregistry.Options{
		Users: map[string]string{ada: adaPassword}, CA: testca.New(t, "Example Private CA"),
	})
	realregistry.Push(t, registry.As(ada, adaPassword), realregistry.Helm, realregistry.ChartPath, "6.7.1")
	return registry
}

// unusedEndpoint is a loopback address where nothing listens.
func unusedEndpoint(t *testing.T) string {
	t.Helper()
	gone := testport.Unused(t)
	return "http://" + gone
}
