package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// TestOriginsOfSecrets: objects of other programs that create a Secret are named as its origin.
func TestOriginsOfSecrets(t *testing.T) {
	const repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: web, namespace: a}\n" +
		"spec: {url: 'oci://one.test/web', secretRef: {name: login}}\n---\n"
	for _, object := range []string{
		"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: %s, namespace: a}\nspec: {target: {name: login}}\n",
		"apiVersion: onepassword.com/v1\nkind: OnePasswordItem\nmetadata: {name: login, namespace: a}\n" +
			"spec: {itemPath: '%s'}\n",
		"apiVersion: secrets.hashicorp.com/v1beta1\nkind: VaultStaticSecret\nmetadata: {name: %s, namespace: a}\n" +
			"spec: {destination: {create: true, name: login}}\n",
		"apiVersion: secrets.hashicorp.com/v1beta1\nkind: VaultDynamicSecret\nmetadata: {name: %s, namespace: a}\n" +
			"spec: {destination: {create: true, name: login}}\n",
	} {
		r := scanOf(t, repository+fmt.Sprintf(object, "vault")).Registries[0]
		_, kind, _ := strings.Cut(object, "kind: ")
		kind, _, _ = strings.Cut(kind, "\n")
		if r.Reason != model.UnresolvedReferenceMissing || !strings.HasPrefix(string(r.Detail), "The "+kind+" ") ||
			!strings.Contains(string(r.Detail), `creates the Secret "login" from another store.`) {
			t.Errorf("%s: %s %s", kind, r.Reason, r.Detail)
		}
	}
}
