package clouds

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/internal/cloudtest"
	"github.com/regwarden/regwarden/test/instance"
)

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }

// proxyTo returns the address of a proxy that connects to one address, whatever it is asked for: so that the program finds the hosts of
// providers, which have port 443.
func proxyTo(t *testing.T, address string) string {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there, err := new(net.Dialer).DialContext(r.Context(), "tcp", address)
		if err != nil || r.Method != http.MethodConnect {
			http.Error(w, "cannot connect", http.StatusBadGateway)
			return
		}
		defer there.Close()
		here, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(there, buffered)
			_ = there.Close()
		}()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// synchronized stores a registry that synchronizes, as Terraform does, and waits until its content was listed with the assumed role.
func synchronized(t *testing.T, server *instance.Server, token, spec string) {
	t.Helper()
	body := `{"metadata":{"name":"role"},"spec":` + strings.Replace(spec, "{", `{"isSyncSupported":true,"providerType":"helm",`, 1) + `}`
	var made struct{ UID string }
	client := server.Client(t)
	created := client.Do("POST", "/v1/registries/oci/ecr", body, "Authorization", token).Want(http.StatusCreated).Body
	if err := json.Unmarshal([]byte(created), &made); err != nil {
		t.Fatal(err)
	}
	var last struct{ Status, Message string }
	instance.Await(t, "the content is synchronized", func() bool {
		text := client.Do("GET", "/v1/registries/oci/"+made.UID+"/ecr/sync/status", "", "Authorization", token).Want(http.StatusOK).Body
		if err := json.Unmarshal([]byte(text), &last); err != nil {
			t.Fatal(err)
		}
		return last.Status == "Success" || last.Status == "Failed"
	})
	if last.Status != "Success" {
		t.Errorf("synchronized: %+v", last)
	}
}

// A server assumes the role of an organization with its own identity, if the operator allows it, and with the external id that the public
// clients show for the trust policy of the role. Another organization cannot use that role.
func TestRoleOfAnOrganization(t *testing.T) {
	w := newWorld(t)
	options := instance.Options{DataDir: t.TempDir() + "/data", Flags: []string{"--aws-account", "123456789012",
		"--egress-proxy", proxyTo(t, w.network.to), "--egress-dns", instance.NameServer(t, func(string) bool { return true })},
		Env: []string{"SSL_CERT_FILE=" + file(t, w.ca), "AWS_ACCESS_KEY_ID=AKIANOTHING", "AWS_SECRET_ACCESS_KEY=nothing-secret-of-aws"}}
	server := instance.Start(t, options)
	client := server.Client(t)
	token := client.Login().Authorization
	var account struct{ AccountID, ExternalID string }
	body := client.Do("GET", "/v1/clouds/aws/account/sts", "", "Authorization", token).Want(http.StatusOK).Body
	if err := json.Unmarshal([]byte(body), &account); err != nil || account.AccountID != "123456789012" {
		t.Fatalf("%v: %s", err, body)
	}
	w.AWS.Roles[role] = cloudtest.AWSRole{Trusts: []string{"AKIANOTHING"}, External: account.ExternalID, Account: "123456789012",
		Actions: append([]string{"ecr:GetAuthorizationToken"}, pull...)}
	spec := instance.JSON(map[string]any{"endpoint": private, "isPrivate": true, "baseContentPath": "team/app",
		"credentials": map[string]any{"credentialType": "sts", "sts": map[string]string{"arn": role, "externalId": account.ExternalID}}})
	validate := func(status int) instance.Response {
		t.Helper()
		return server.Client(t).Do("POST", "/v1/registries/oci/ecr/validate", spec, "Authorization", token).Want(status)
	}
	if f := validate(http.StatusUnprocessableEntity).Fault(); f.Details.Reason != "ambientNotAllowed" || w.AWS.Issued() != 0 {
		t.Errorf("not allowed: %s, %d passwords", f.Details.Reason, w.AWS.Issued())
	}
	if code := server.Stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	options.Flags = append(options.Flags, "--ambient-credentials", "aws:"+strings.TrimPrefix(account.ExternalID, "regwarden-"))
	server = instance.Start(t, options)
	token = server.Client(t).Login().Authorization
	validate(http.StatusNoContent)
	if w.AWS.Issued() != 1 {
		t.Errorf("%d passwords", w.AWS.Issued())
	}
	synchronized(t, server, token, spec)
	trusted := w.AWS.Roles[role]
	trusted.External = "regwarden-of-another-organization"
	w.AWS.Roles[role] = trusted
	spec = strings.Replace(spec, "eu-west-1", "eu-central-1", 1) // whose password is not remembered
	if f := validate(http.StatusUnprocessableEntity).Fault(); f.Details.Reason != "roleNotAssumed" {
		t.Errorf("a role of another organization: %s", f.Details.Reason)
	}
	w.down.Store(true)
	audit := validate(http.StatusUnprocessableEntity)
	record := server.Client(t).Do("GET", "/v1/audits/"+audit.Header.Get("AuditUid"), "", "Authorization", token).Want(http.StatusOK).Body
	if !strings.Contains(record, `"outcome":"unknown"`) {
		t.Errorf("the provider is down: %s", record)
	}
}
