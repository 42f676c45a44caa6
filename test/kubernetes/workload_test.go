package kubernetes_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Tokens that kube-apiserver issues to service accounts (TokenRequest) are exchanged for tokens of the service, which trusts the API server
// by its discovery and its keys, or by keys that are stored with the rule. Refused are tokens for another audience, of another account or
// namespace, with a changed claim or signature, expired ones, and those that were used.
//
// Not covered: a pod with a projected token (no kubelet runs; the file of the command line has the same token), and the deletion of an
// account: an issuer of OpenID Connect does not report it, and its tokens are accepted until they expire.
func TestServiceAccounts(t *testing.T) {
	server := startAPIServer(t)
	server.post(t, "/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: ci}}")
	for _, account := range []string{"ci/checks", "ci/other", "default/checks"} {
		namespace, name, _ := strings.Cut(account, "/")
		server.post(t, "/api/v1/namespaces/"+namespace+"/serviceaccounts", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: "+
			name+"}}")
	}
	binary := regwarden(t)
	s := startService(t, binary)
	s.trustAccount(t, server, "stored", server.get(t, "/openid/v1/jwks", "application/jwk-set+json"))
	if status, _, body := s.exchange(t, "stored", server.tokenOf(t, "ci/checks", s.url)); status != http.StatusOK {
		t.Errorf("with stored keys: %d %s", status, body)
	}
	server.post(t, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{apiVersion: rbac.authorization.k8s.io/v1,
		kind: ClusterRoleBinding, metadata: {name: discovery}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole,
		name: 'system:service-account-issuer-discovery'}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group,
		name: 'system:unauthenticated'}]}`)
	s.trustAccount(t, server, "discovered", "")
	token := server.tokenOf(t, "ci/checks", s.url)
	status, issued, body := s.exchange(t, "discovered", token)
	if status != http.StatusOK {
		t.Fatalf("with discovery: %d %s", status, body)
	}
	job := &service{program: s.program, url: s.url, authorization: issued}
	var me struct{ Email string }
	job.call(t, http.MethodGet, "/v1/users/info", "", &me)
	if me.Email != "discovered" {
		t.Errorf("logged in as %+v", me)
	}
	testRefusedAccounts(t, server, s, token)
	testLoginOfPod(t, server, s, binary)
}

func testRefusedAccounts(t *testing.T, server *apiServer, s *service, used string) {
	fresh := server.tokenOf(t, "ci/checks", s.url)
	header, rest, _ := strings.Cut(fresh, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	flipped, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		t.Fatal(err)
	}
	flipped[len(flipped)/2] ^= 1
	for name, row := range map[string]struct{ token, reason, record string }{
		"another audience":       {server.tokenOf(t, "ci/checks", "https://other.example.com"), "notTrusted", "wrongAudience"},
		"audience of the server": {server.tokenOf(t, "ci/checks", ""), "notTrusted", "wrongAudience"},
		"another account":        {server.tokenOf(t, "ci/other", s.url), "notTrusted", "claim sub"},
		"another namespace":      {server.tokenOf(t, "default/checks", s.url), "notTrusted", "claim sub"},
		"changed signature": {header + "." + payload + "." + base64.RawURLEncoding.EncodeToString(flipped), "notTrusted",
			"wrongSignature"},
		"changed subject": {header + "." + changed(t, payload, func(claims map[string]any) {
			claims["sub"] = "system:serviceaccount:kube-system:admin"
		}) + "." + signature, "notTrusted", "wrongSignature"},
		"expired": {server.expired(t, fresh), "expired", ""},
		"used":    {used, "notTrusted", "alreadyUsed"},
	} {
		status, _, body := s.exchange(t, "discovered", row.token)
		if status != http.StatusUnauthorized || !strings.Contains(body, row.reason) {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if row.record != "" && !strings.Contains(s.lastRefusal(t), row.record) {
			t.Errorf("%s: recorded as %s", name, s.lastRefusal(t))
		}
	}
	if status, _, body := s.exchange(t, "discovered", fresh); status != http.StatusOK {
		t.Errorf("the token that the variants were made of: %d %s", status, body)
	}
}

// testLoginOfPod logs in by the command line, with the token in a file as a pod has it.
func testLoginOfPod(t *testing.T, server *apiServer, s *service, binary string) {
	home := t.TempDir()
	file := filepath.Join(home, "token")
	writeFile(t, file, server.tokenOf(t, "ci/checks", s.url))
	cmd := exec.Command(binary, "login", s.url, "--org", "Acme", "--kubernetes", "--rule", "discovered")
	cmd.Env = []string{"HOME=" + home, "REGWARDEN_ID_TOKEN_FILE=" + file}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "as discovered (member)") {
		t.Errorf("%v\n%s", err, out)
	}
}

// tokenOf returns a token that the API server issues to namespace/account, for its own audience if none is given. Ten minutes are the
// shortest lifetime that it allows.
func (s *apiServer) tokenOf(t *testing.T, account, audience string) string {
	t.Helper()
	namespace, name, _ := strings.Cut(account, "/")
	spec := "expirationSeconds: 600"
	if audience != "" {
		spec += ", audiences: ['" + audience + "']"
	}
	status, text, err := s.do(http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+name+"/token",
		"{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, spec: {"+spec+"}}", asJSON)
	var request struct{ Status struct{ Token string } }
	if err == nil {
		err = json.Unmarshal([]byte(text), &request)
	}
	if err != nil || status != http.StatusCreated || request.Status.Token == "" {
		t.Fatalf("%s: %d %s %v", account, status, text, err)
	}
	return request.Status.Token
}

// expired returns a token as it would be an hour after it was issued: the same claims at earlier times, signed by the key of the API
// server.
func (s *apiServer) expired(t *testing.T, token string) string {
	t.Helper()
	header, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	signed := header + "." + changed(t, payload, func(claims map[string]any) {
		for _, name := range []string{"exp", "iat", "nbf"} {
			claims[name] = claims[name].(float64) - time.Hour.Seconds()
		}
		claims["jti"] = "expired"
	})
	text, err := os.ReadFile(s.signingKey)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, hash[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// changed returns the payload of a token with changed claims.
func changed(t *testing.T, payload string, change func(claims map[string]any)) string {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(payload)
	claims := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	change(claims)
	if text, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// trustAccount creates a rule for the service account checks in ci. Without keys they are those of the issuer.
func (s *service) trustAccount(t *testing.T, server *apiServer, name, keys string) {
	t.Helper()
	ca, err := os.ReadFile(server.certificate)
	if err != nil {
		t.Fatal(err)
	}
	rule, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"issuer": server.url,
		"audience": s.url, "ca": string(ca), "jwks": keys, "claims": map[string]string{"sub": "system:serviceaccount:ci:checks"}}})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, s.url+"/v1/trustRules", strings.NewReader(string(rule)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", s.authorization)
	if status, body := do(t, request); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
}

// exchange presents a token, and returns the issued one.
func (s *service) exchange(t *testing.T, rule, token string) (status int, issued, body string) {
	t.Helper()
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "org": {"Acme"}, "rule": {rule},
		"subject_token": {token}, "subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"}}
	request, err := http.NewRequest(http.MethodPost, s.url+"/v1/auth/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, body = do(t, request)
	var response struct {
		Token     string `json:"access_token"`
		ExpiresIn int    `json:"expires_in"`
	}
	if status == http.StatusOK {
		if err := json.Unmarshal([]byte(body), &response); err != nil || response.ExpiresIn < 890 || response.ExpiresIn > 900 {
			t.Errorf("%v: %s", err, body)
		}
	}
	return status, response.Token, body
}

// lastRefusal returns the newest record of a refused login.
func (s *service) lastRefusal(t *testing.T) string {
	t.Helper()
	var list struct {
		Items []struct{ Spec struct{ Reason string } }
	}
	s.call(t, http.MethodGet, "/v1/audits?action=auth.login&outcome=refused&limit=1", "", &list)
	if len(list.Items) == 0 {
		return ""
	}
	return list.Items[0].Spec.Reason
}

func do(t *testing.T, request *http.Request) (status int, body string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
