package kubernetes_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/credentialprovider"
	"k8s.io/kubernetes/pkg/credentialprovider/secrets"
)

// keyringFiles is how many generated pull Secrets are compared.
const keyringFiles = 300

// pullCase is a pull Secret with an image: as it is written, and as kubelet looks for it.
type pullCase struct {
	config         string
	legacy         bool
	image, lookFor string
}

func (c pullCase) secret() corev1.Secret {
	if c.legacy {
		return corev1.Secret{Type: corev1.SecretTypeDockercfg, Data: map[string][]byte{corev1.DockerConfigKey: []byte(c.config)}}
	}
	return corev1.Secret{Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(c.config)}}
}

// The credentials that scan finds for an image are those that kubelet's own keyring returns first.
func TestKubeletKeyring(t *testing.T) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard) // it logs every key that is not a URL
	random := rand.New(rand.NewPCG(1, 2))
	var cases []pullCase
	for range keyringFiles {
		cases = append(cases, generateCase(random))
	}
	found := scanImages(t, cases)
	outcomes := map[string]int{}
	for i, c := range cases {
		want := keyringOutcomes(t, c)
		got, ok := found[fmt.Sprintf("Pod case-%d/web", i)]
		if !ok {
			got = "anonymous" // what needs no credentials is not reported
		}
		if !slices.Contains(want, got) {
			t.Errorf("%s: ours %s, kubelet's %q\n%s", c.image, got, want, c.config)
		}
		kind, _, _ := strings.Cut(got, " ")
		outcomes[kind]++
	}
	for _, kind := range []string{"basic", "anonymous", "incomplete", "rejected"} {
		if outcomes[kind] < 10 {
			t.Errorf("%d cases are %s: the generated files are too similar", outcomes[kind], kind)
		}
	}
}

// keyringOutcomes returns what kubelet may do first: entries with the same pattern are in random order.
func keyringOutcomes(t *testing.T, c pullCase) (all []string) {
	t.Helper()
	for range 20 {
		keyring, err := secrets.MakeDockerKeyring([]corev1.Secret{c.secret()}, credentialprovider.UnionDockerKeyring{})
		if err != nil {
			return []string{"rejected"}
		}
		outcome := "anonymous"
		if found, ok := keyring.Lookup(c.lookFor); ok {
			outcome = outcomeOf(found[0].Username, found[0].Password)
		}
		if !slices.Contains(all, outcome) {
			all = append(all, outcome)
		}
	}
	return all
}

func outcomeOf(username, password string) string {
	switch {
	case username == "" && password == "":
		return "anonymous"
	case username == "" || password == "":
		return "incomplete"
	}
	return "basic " + username + " " + password
}

// scanImages scans a Secret and a Pod for each case, in a namespace of its own, and returns the outcomes by Pod.
func scanImages(t *testing.T, cases []pullCase) map[string]string {
	t.Helper()
	var items []any
	for i, c := range cases {
		secret := c.secret()
		namespace := fmt.Sprintf("case-%d", i)
		items = append(items,
			map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]string{"name": "pull", "namespace": namespace},
				"type": secret.Type, "data": secret.Data},
			map[string]any{"apiVersion": "v1", "kind": "Pod",
				"metadata": map[string]string{"name": "web", "namespace": namespace}, "spec": map[string]any{
					"imagePullSecrets": []any{map[string]string{"name": "pull"}},
					"containers":       []any{map[string]string{"name": "a", "image": c.image}}}})
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	out := run(t, strings.NewReader(string(list)), regwarden(t), "scan", "-", "--list", "--fail-on", "never",
		"--output", "json", "--show-secrets")
	var result struct {
		Registries []struct {
			Source     []struct{ Object string }
			Definition struct {
				Auth struct{ Username, Password string }
			}
			Reason string
			Detail string
		}
	}
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]string{}
	for _, r := range result.Registries {
		outcome := outcomeOf(r.Definition.Auth.Username, r.Definition.Auth.Password)
		switch {
		case r.Reason == "incomplete" && strings.Contains(r.Detail, "rejects the pull Secrets"):
			outcome = "rejected"
		case r.Reason != "":
			outcome = r.Reason
		}
		for _, source := range r.Source {
			outcomes[source.Object] = outcome
		}
	}
	return outcomes
}

// generateCase returns a file as people and tools write them, with the mistakes that they make.
func generateCase(random *rand.Rand) pullCase {
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	entries := map[string]any{}
	for n := range 1 + random.IntN(4) {
		key := pick("", "", "https://", "http://") +
			pick("ghcr.io", "ghcr.io", "*.io", "*.*", "r.test:5000", "*.test:5000", "r.test", "index.docker.io", "docker.io",
				"[a-z]hcr.io", "192.0.2.1") +
			pick("", "", "/", "/v1/", "/v2/", "/acme", "/acme/app", "/v1/acme", "/acme/")
		entries[key] = generateEntry(random, n)
	}
	c := pullCase{legacy: random.IntN(4) == 0}
	var file any = entries
	if !c.legacy {
		members := map[string]any{"auths": entries}
		if random.IntN(6) == 0 {
			members[pick("credsStore", "unknown")] = pick("a", "b")
		}
		if random.IntN(20) == 0 {
			members["HttpHeaders"] = map[string]any{"X-Meta": random.IntN(2), "X-Other": nil}
			if random.IntN(2) == 0 {
				members["HttpHeaders"] = map[string]any{"X-Meta": "1", "X-Other": nil}
			}
		}
		if random.IntN(6) == 0 {
			members["credHelpers"] = map[string]string{"ghcr.io": "pass"}
		}
		file = members
	}
	text, _ := json.Marshal(file)
	c.config = string(text)
	c.image = pick("ghcr.io/acme/app:1", "ghcr.io/acmecorp/app", "ghcr.io/other", "r.test:5000/acme/app@sha256:"+strings.Repeat("0", 64),
		"r.test/acme/app", "nginx", "acme/app:2",
		"docker.io/acme/app", "192.0.2.1/acme/app")
	c.lookFor, _, _ = strings.Cut(c.image, "@")
	if slash, colon := strings.LastIndexByte(c.lookFor, '/'), strings.LastIndexByte(c.lookFor, ':'); colon > slash {
		c.lookFor = c.lookFor[:colon]
	}
	switch c.lookFor {
	case "nginx":
		c.lookFor = "docker.io/library/nginx"
	case "acme/app":
		c.lookFor = "docker.io/acme/app"
	}
	return c
}

// generateEntry returns an entry whose username has a number, so that entries differ.
func generateEntry(random *rand.Rand, n int) any {
	user := fmt.Sprintf("user%d", n)
	encode := base64.StdEncoding.EncodeToString
	switch random.IntN(24) {
	case 0:
		return map[string]any{}
	case 1:
		return map[string]any{"identitytoken": "t"}
	case 2:
		return map[string]any{"username": user}
	case 3:
		return map[string]any{"password": "pw"}
	case 4:
		return map[string]any{"auth": encode([]byte(user))} // no colon
	case 5:
		return map[string]any{"auth": "not base64"}
	case 6:
		return map[string]any{"auth": base64.RawStdEncoding.EncodeToString([]byte(user + ":unpadded"))}
	case 7:
		return map[string]any{"auth": encode([]byte(user + ":newline\n"))}
	case 8:
		return map[string]any{"auth": encode([]byte(":no user"))}
	case 9:
		return map[string]any{"auth": encode([]byte(user + ":"))}
	case 10:
		return map[string]any{"auth": " " + encode([]byte(user+":spaces")) + "\n"}
	case 11:
		return map[string]any{"auth": encode([]byte(user + ":both")), "username": "other", "password": "other"}
	case 12:
		return map[string]any{"username": user, "password": "pw", "email": "a@b.test"}
	case 13:
		return map[string]any{"AUTH": encode([]byte(user + ":uppercase"))}
	case 14:
		return map[string]any{"auth": nil, "username": user, "password": "null"}
	}
	return map[string]any{"auth": encode([]byte(user + ":pw:with colon"))}
}
