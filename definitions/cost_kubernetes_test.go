//go:build !race && unix

package definitions

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

const (
	pullSecret = "apiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: a}\ntype: kubernetes.io/dockerconfigjson\nstringData:\n" +
		"  .dockerconfigjson: '{\"auths\":{\"x.test\":{}"
	endOfSecret = "}}'\n---\n"
	credentials = `{"username":"u","password":"a password of a registry"}`

	onePull   = pullSecret + endOfSecret
	tlsSecret = "apiVersion: v1\nkind: Secret\nmetadata: {name: tls, namespace: a}\ntype: kubernetes.io/tls\nstringData:\n"
	account   = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: a}\n"
	caMap     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-tls-certs-cm, namespace: a}\ndata:\n  h.test: |\n"
	updater   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-image-updater-config, namespace: a}\ndata:\n" +
		"  registries.conf: |\n"

	podOfImages = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\nspec:\n  imagePullSecrets: [{name: pull}]\n  containers:\n"
	imageOfHost = "  - image: r#.a.b.test/x\n"
	onePod      = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\n" +
		"spec: {imagePullSecrets: [{name: pull}], containers: [{image: r#.test/x}]}\n---\n"
	podOfUser = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\nspec: {containers: [{image: r#.test/x}]}\n---\n"
	helmTLS   = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: h#, namespace: a}\n" +
		"spec: {type: oci, url: 'oci://h#.test', certSecretRef: {name: tls}}\n---\n"
	helmLogin = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: h#, namespace: a}\n" +
		"spec: {type: oci, url: 'oci://h#.test', secretRef: {name: pull}}\n---\n"
	ociLogin = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: o#, namespace: a}\n" +
		"spec: {url: 'oci://h#.test/a', secretRef: {name: pull}}\n---\n"
	ociAccount = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: o#, namespace: a}\n" +
		"spec: {url: 'oci://h#.test/a', serviceAccountName: default}\n---\n"
	helmChart = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: c#, namespace: a}\n" +
		"spec: {chart: c#, sourceRef: {kind: HelmRepository, name: h}}\n---\n"
	chartSource = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: h, namespace: a}\nspec:\n  type: oci\n"
	application = "apiVersion: argoproj.io/v1\nkind: Application\nspec: {source: {repoURL: 'oci://h.test/b#'}}\n---\n"
)

// argoSecret returns a Secret of Argo CD with further members.
func argoSecret(label, url, more string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: argocd, labels: {argocd.argoproj.io/secret-type: " + label +
		"}}\nstringData: {type: oci, url: '" + url + "'" + more + "}\n---\n"
}

// certificate is a block of about 400 bytes, indented as text in YAML.
var certificate = "    -----BEGIN CERTIFICATE-----\n" + strings.Repeat("    "+strings.Repeat("A", 64)+"\n"+
	"", 6) + "    -----END CERTIFICATE-----\n"

// growing returns a generator whose entries have # replaced by 1, 2, 3 … letters, between a head and a second kind of entry.
func growing(head, entry, between, second string) func(size int) []byte {
	return func(size int) []byte {
		b := []byte(head)
		for i := 1; len(b)+len(between) < size/2; i++ {
			b = append(b, strings.ReplaceAll(entry, "#", strings.Repeat("a", i))...)
		}
		return append(append(b, between...), many("", second, "")(size-len(b)-len(between))...)
	}
}

func TestCostOfPods(t *testing.T) {
	longPath := strings.Repeat("a", 1000)
	testCosts(t, []hostileFile{
		{name: "images and patterns", file: "a.yaml", generate: halves(
			pullSecret, `,"*.*.*.*#*/x":`+credentials, endOfSecret+podOfImages, imageOfHost, "")},
		{name: "images and patterns that match", file: "a.yaml", generate: halves(
			pullSecret, `,"*.*.*.*test*/#":`+credentials, endOfSecret+podOfImages, "  - image: r#.a.b.test/#\n", "")},
		{name: "images and a long pattern", file: "a.yaml", generate: halves(
			pullSecret+`,"r.`, "*a", `":`+credentials+endOfSecret+podOfImages, "  - image: r.a#/b\n", "")},
		{name: "images and hosts", file: "a.yaml", generate: halves(
			pullSecret, `,"r#.a.b.test":`+credentials, endOfSecret+podOfImages, imageOfHost, "")},
		{name: "images and paths", file: "a.yaml", generate: halves(
			pullSecret, `,"r.test/#":`+credentials, endOfSecret+podOfImages, "  - image: r.test/#/x\n", "")},
		{name: "images and nested paths", file: "a.yaml", generate: growing(
			pullSecret, `,"r.test/#":`+credentials, endOfSecret+podOfImages, "  - image: r.test/"+longPath+"/#\n")},
		{name: "images and entries of one host", file: "a.yaml", generate: halves(
			pullSecret, `,"https://r.test/v1/?#":`+credentials, endOfSecret+podOfImages, "  - image: r.test/i#\n", "")},
		{name: "images and entries of one path", file: "a.yaml", generate: halves(
			pullSecret, `,"r.test/%3F#":`+credentials, endOfSecret+podOfImages, "  - image: r.test/i#\n", "")},
		{name: "images and entries of Docker Hub", file: "a.yaml", generate: halves(
			pullSecret, `,"https://index.docker.io/v1/?#":`+credentials, endOfSecret+podOfImages, "  - image: a/i#\n", "")},
		{name: "images and Secrets", file: "a.yaml", generate: halves(
			onePull+strings.ReplaceAll(podOfImages, " [{name: pull}]\n  containers:", ""), "  - name: pull\n", "  containers:\n",
			imageOfHost, "")},
		{name: "images and Secrets of another type", file: "a.yaml", generate: halves(
			strings.Replace(onePull, "type: ", "type: other-", 1)+strings.ReplaceAll(podOfImages, " [{name: pull}]\n  containers:", ""),
			"  - name: pull\n", "  containers:\n", imageOfHost, "")},
		{name: "images of an object with a long name", file: "a.yaml", generate: halves(
			onePull+strings.ReplaceAll(podOfImages, "p, namespace: a}\nspec:\n  imagePullSecrets: [{name: pull}]\n  containers:\n", ""),
			"pp", ", namespace: a}\nspec:\n  imagePullSecrets: [{name: pull}]\n  containers:\n", imageOfHost, "")},
		{name: "images", file: "a.yaml", generate: many(
			pullSecret+`,"r.test":`+credentials+endOfSecret+podOfImages, "  - {image: r#.test/a}\n", "")},
		{name: "pods and a Secret", file: "a.yaml", generate: halves(pullSecret, `,"r#.test":`+credentials, endOfSecret, onePod, "")},
		{name: "pods and a Secret that is not JSON", file: "a.yaml", generate: halves(
			pullSecret, `,"r#.test":`+credentials, "'\n---\n", onePod, "")},
		{name: "pods and a Secret that is not base64", file: "a.yaml", generate: halves(
			strings.ReplaceAll(pullSecret, `stringData:`, "data:"), "aaaa", "!'\n---\n", onePod, "")},
		{name: "pods and members of a Secret", file: "a.yaml", generate: halves(
			strings.Replace(onePull, "---\n", "", 1), "  k#: v\n", "---\n", onePod, "")},
		{name: "pods and Secrets of an account", file: "a.yaml", generate: halves(
			onePull+account+"imagePullSecrets:\n", "- name: pull\n", "---\n", podOfUser, "")},
		{name: "pods and missing Secrets of an account", file: "a.yaml", generate: halves(
			account+"imagePullSecrets:\n", "- name: s#\n", "---\n", podOfUser, "")},
		{name: "pods and members of an account", file: "a.yaml", generate: halves(account, "k#: v\n", "---\n", podOfUser, "")},
		{name: "pods, each with a Secret", file: "a.yaml", generate: many(
			"", strings.ReplaceAll(onePull+strings.ReplaceAll(onePod, "r#", "r"), "name: pull", "name: pull#"), "")},
		{name: "accounts", file: "a.yaml", generate: many(
			"apiVersion: v1\nkind: ServiceAccountList\nitems:\n", "- {imagePullSecrets: [{name: s#"+strings.Repeat("a", 30)+"}]}\n", "")},
		{name: "pull Secrets", file: "a.yaml", generate: many(
			"apiVersion: v1\nkind: SecretList\nitems:\n",
			`- {type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: '{"auths":{"r#.test":{"auth":"dTpw"}}}'}}`+"\n",
			"")},
		{name: "objects", file: "a.yaml", generate: many(
			"apiVersion: v1\nkind: List\nitems:\n", "- {apiVersion: v1, kind: Secret, type: "+strings.Repeat("a", 30)+"}\n", "")},
		{name: "documents", file: "a.yaml", generate: many("", strings.ReplaceAll(podOfUser, "r#", strings.Repeat("r", 40)), "")},
	})
}

func TestCostOfFlux(t *testing.T) {
	key := "  tls.crt: |\n" + certificate + "  tls.key: |\n" + strings.ReplaceAll(certificate, "CERTIFICATE", "PRIVATE KEY")
	testCosts(t, []hostileFile{
		{name: "HelmRepositories", file: "a.yaml", generate: many(
			"apiVersion: v1\nkind: List\nitems:\n",
			"- {apiVersion: source.toolkit.fluxcd.io/v1, kind: HelmRepository, spec: {type: oci, url: oci://h#.test}}\n", "")},
		{name: "HelmRepositories and certificates", file: "a.yaml", generate: halves(
			tlsSecret+"  ca.crt: |\n", certificate, "---\n", helmTLS, "")},
		{name: "HelmRepositories and a key", file: "a.yaml", generate: many(tlsSecret+key+"---\n", helmTLS, "")},
		{name: "HelmRepositories and PEM headers", file: "a.yaml", generate: halves(
			tlsSecret+"  ca.crt: |\n    -----BEGIN CERTIFICATE-----\n", "    a#: b\n",
			"\n    AAAA\n    -----END CERTIFICATE-----\n---\n", helmTLS, "")},
		{name: "a HelmRepository and beginnings of PEM blocks", file: "a.yaml", generate: many(
			tlsSecret+"  ca.crt: |\n", "    -----BEGIN CERTIFICATE-----\n", "    -----END CERTIFICATE-----\n---\n"+helmTLS)},
		{name: "a HelmRepository and empty PEM blocks", file: "a.yaml", generate: many(
			tlsSecret+"  ca.crt: |\n", "    -----BEGIN EC PARAMETERS-----\n    -----END EC PARAMETERS-----\n", "---\n"+helmTLS)},
		{name: "a HelmRepository and blocks before a key", file: "a.yaml", generate: many(
			tlsSecret+"  tls.crt: |\n"+certificate+"  tls.key: |\n",
			"    -----BEGIN EC PARAMETERS-----\n    -----END EC PARAMETERS-----\n", "---\n"+helmTLS)},
		{name: "HelmRepositories and a long password", file: "a.yaml", generate: halves(
			"apiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: a}\nstringData: {username: a, password: '", "pa$",
			"'}\n---\n", helmLogin, "")},
		{name: "HelmRepositories and members of a Secret", file: "a.yaml", generate: halves(
			"apiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: a}\nstringData:\n  username: a\n  password: b\n",
			"  k#: v\n", "---\n", helmLogin, "")},
		{name: "HelmRepositories and entries", file: "a.yaml", generate: halves(
			pullSecret, `,"https://h#.test/v1":`+credentials, endOfSecret, helmLogin, "")},
		{name: "HelmRepositories and helpers", file: "a.yaml", generate: halves(
			strings.Replace(pullSecret, `"auths":{"x.test":{}`, `"credHelpers":{"x.test":""`, 1), `,"h#.test":"helper-of-the-registry"`,
			endOfSecret, helmLogin, "")},
		{name: "OCIRepositories and entries", file: "a.yaml", generate: halves(
			pullSecret, `,"h#.test":`+credentials, endOfSecret, ociLogin, "")},
		{name: "OCIRepositories and Secrets of an account", file: "a.yaml", generate: halves(
			onePull+account+"imagePullSecrets:\n", "- name: pull\n", "---\n", ociAccount, "")},
		{name: "HelmCharts and a long URL", file: "a.yaml", generate: halves(
			chartSource+"  url: oci://h.test/", "path/", "\n---\n", helmChart, "")},
		{name: "HelmCharts and a long host", file: "a.yaml", generate: halves(
			chartSource+"  url: oci://h.test", ".host", "\n---\n", helmChart, "")},
		{name: "HelmCharts and members of a HelmRepository", file: "a.yaml", generate: halves(
			chartSource+"  url: oci://h.test\n", "  k#: v\n", "---\n", helmChart, "")},
	})
}

func TestCostOfArgoCD(t *testing.T) {
	withPrefix := strings.ReplaceAll(application, "b#", strings.Repeat("a", 1000)+"#")
	login := ", username: u, password: p"
	testCosts(t, []hostileFile{
		{name: "Applications", file: "a.yaml", generate: many(
			"", strings.ReplaceAll(application, "oci://h.test/b#", "oci://h#.test/"+strings.Repeat("b", 40)), "")},
		{name: "sources", file: "a.yaml", generate: many(
			"apiVersion: argoproj.io/v1\nkind: Application\nspec:\n  sources:\n", "  - {repoURL: 'oci://h.test/b#'}\n", "")},
		{name: "sources and members of an Application", file: "a.yaml", generate: halves(
			"apiVersion: argoproj.io/v1\nkind: Application\nspec:\n", "  k#: v\n", "  sources:\n", "  - {repoURL: 'oci://h.test/b#'}\n",
			"")},
		{name: "sources and a long project", file: "a.yaml", generate: halves(
			"apiVersion: argoproj.io/v1\nkind: Application\nspec:\n  project: ", "pppp", "\n  sources:\n",
			"  - {repoURL: 'oci://h.test/b#'}\n", "")},
		{name: "Applications and templates", file: "a.yaml", generate: growing(
			"", argoSecret("repo-creds", "oci://h.test/#", login), "", withPrefix)},
		{name: "repositories and templates", file: "a.yaml", generate: growing(
			"", argoSecret("repo-creds", "oci://h.test/#", login), "",
			argoSecret("repository", "oci://h.test/"+strings.Repeat("a", 1000)+"#", ""))},
		{name: "Secrets of one URL", file: "a.yaml", generate: many(
			"", argoSecret("repository", "oci://h.test/a", ", username: u, password: p#"), "")},
		{name: "Applications and a long password", file: "a.yaml", generate: halves(
			strings.TrimSuffix(argoSecret("repo-creds", "oci://h.test/", ", username: u, password: '"), "}\n---\n"), "pa$", "'}\n---\n",
			application, "")},
		{name: "Applications and noProxy", file: "a.yaml", generate: halves(
			strings.TrimSuffix(argoSecret("repo-creds", "oci://h.test/", login+", proxy: 'http://p.test', noProxy: '"), "}\n---\n"),
			"h#,", "'}\n---\n", application, "")},
		{name: "Applications and certificates", file: "a.yaml", generate: halves(caMap, certificate, "---\n", application, "")},
		{name: "an Application and certificates", file: "a.yaml", generate: many(
			application+caMap, "    -----BEGIN CERTIFICATE-----\n    AAAA\n    -----END CERTIFICATE-----\n", "")},
		{name: "Image Updater and entries", file: "a.yaml", generate: halves(
			pullSecret, `,"https://h.test/#":{"auth":"dTpw"}`, endOfSecret+updater+"    registries:\n",
			"    - {name: r#, prefix: p, api_url: 'https://h.test', credentials: 'pullsecret:a/pull'}\n", "")},
		{name: "Image Updater and different entries", file: "a.yaml", generate: halves(
			pullSecret, `,"https://h.test/#":{"auth":"#"}`, endOfSecret+updater+"    registries:\n",
			"    - {name: r#, prefix: p, api_url: 'https://h.test', credentials: 'pullsecret:a/pull'}\n", "")},
		{name: "Image Updater and keys", file: "a.yaml", generate: halves(
			"apiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: a}\nstringData:\n", "  k#: u:v\n",
			"---\n"+updater+"    registries:\n",
			"    - {name: r#, prefix: p, api_url: 'https://h#.test', credentials: 'secret:a/pull#k#'}\n", "")},
		{name: "Image Updater and certificates of Argo CD", file: "a.yaml", generate: halves(
			caMap, certificate, "---\n"+updater+"    registries:\n", "    - {name: r#, prefix: p, api_url: 'https://h.test/#'}\n", "")},
		{name: "Image Updater in a ConfigMap", file: "a.yaml", generate: many(
			updater+"    registries:\n", "    - {name: r#, prefix: p, api_url: 'https://h#.test'}\n", "")},
		{name: "Image Updater", file: "a.yaml", generate: many(
			"registries:\n", "- {name: r#, prefix: p, api_url: 'https://h#.test'}\n", "")},
	})
}

func TestCostOfK3s(t *testing.T) {
	rewrites := ""
	for i := range 10 {
		rewrites += fmt.Sprintf("      '%d%s': a\n", i, strings.Repeat(`\pL{9}`, 40))
	}
	endpoints := "mirrors:\n  m:\n    endpoint:\n"
	testCosts(t, []hostileFile{
		{name: "endpoints", file: "registries.yaml", generate: many(endpoints, "    - a#.test\n", "")},
		{name: "configs", file: "registries.yaml", generate: many("configs:\n", "  a#: {auth: {username: u, password: p}}\n", "")},
		{name: "rewrites by alias", file: "registries.yaml", generate: many(
			"mirrors:\n  a:\n    endpoint: [a.test]\n    rewrite: &r\n"+rewrites,
			"  m#: {endpoint: [a], rewrite: *r}\n"+strings.Repeat(" ", 3000)+"\n", "")},
		{name: "rewrites", file: "registries.yaml", generate: many(
			"mirrors:\n", "  m#: {endpoint: [a], rewrite: {'\\pL{9}\\pN\\pP#{99}': a}}\n", "")},
		{name: "a long rewrite", file: "registries.yaml", generate: many(
			"mirrors:\n  m:\n    endpoint: [a]\n    rewrite:\n      ? '", `\pL`, "'\n      : a\n")},
		{name: "endpoints and a long auth", file: "registries.yaml", generate: halves(
			"configs:\n  a:\n    auth:\n      auth: ", "dTpw", "\n"+endpoints, "    - a\n", "")},
		{name: "endpoints and a long password", file: "registries.yaml", generate: halves(
			"configs:\n  a:\n    auth:\n      username: u\n      password: ", "pa$", "\n"+endpoints, "    - a\n", "")},
		{name: "endpoints and a long file name", file: "registries.yaml", generate: halves(
			"configs:\n  a:\n    tls:\n      ca_file: ", "/ca", "\n"+endpoints, "    - a\n", "")},
		{name: "endpoints and members of a config", file: "registries.yaml", generate: halves(
			"configs:\n  a:\n", "    key#: {a: "+strings.Repeat("b", 10)+"}\n", endpoints, "    - a\n", "")},
		{name: "endpoints and configs of one name", file: "registries.yaml", generate: halves(
			endpoints, "    - a#\n", "configs:\n", "  m: {auth: {username: u, password: p}}\n", "")},
		{name: "endpoints of a mirror with a long name", file: "registries.yaml", generate: halves(
			"mirrors:\n  ? ", "mm", "\n  : endpoint:\n", "    - a#\n", "")},
	})
}

// table returns a generator of a TOML file, which has at most 8,000 values: a head, two kinds of entries, and comments that make it as long
// as wanted.
func table(head string, n int, first, between string, m int, second, tail string) func(size int) []byte {
	return func(size int) []byte {
		b := []byte(head)
		add := func(n int, entry string, end int) {
			for i := 0; i < n && len(b) < end; i++ {
				b = append(b, strings.ReplaceAll(entry, "#", fmt.Sprint(i))...)
			}
		}
		add(n, first, size/2)
		b = append(b, between...)
		add(m, second, size)
		b = append(b, tail...)
		return append(append(b, "\n#"...), strings.Repeat("#", max(0, size-len(b)-2))...)
	}
}

func TestCostOfRuntimes(t *testing.T) {
	const cri = `[plugins."io.containerd.grpc.v1.cri".registry.`
	mirrors := cri + "mirrors.m]\nendpoint = ["
	long := base64.StdEncoding.EncodeToString([]byte("u:" + strings.Repeat("p", 100)))
	hosts := "certs.d/a.test/hosts.toml"
	testCosts(t, []hostileFile{
		{name: "containerd mirrors", file: "config.toml", generate: table(mirrors, 7900, `"a#",`, "]\n", 0, "", "")},
		{name: "containerd mirrors and a long auth", file: "config.toml", generate: table(
			cri+"configs.a.auth]\nauth = \"", 1<<20, "dTpw", "\"\n"+mirrors, 7900, `"a",`, "]\n")},
		{name: "containerd mirrors and a long password", file: "config.toml", generate: table(
			cri+"configs.a.auth]\nusername = \"u\"\npassword = \"", 1<<20, "pa$", "\"\n"+mirrors, 7900, `"a",`, "]\n")},
		{name: "containerd mirrors and a long file name", file: "config.toml", generate: table(
			cri+"configs.a.tls]\nca_file = \"", 1<<20, "/ca", "\"\n"+mirrors, 7900, `"a",`, "]\n")},
		{name: "containerd mirrors of a long name", file: "config.toml", generate: table(
			cri+"mirrors.m", 1<<20, "m", "]\nendpoint = [", 7900, `"a#",`, "]\n")},
		{name: "containerd configs", file: "config.toml", generate: table(
			"", 0, "", "", 3900, cri+"configs.\"a#.test\".auth]\nauth = \"dTpw\"\n", "")},
		{name: "hosts.toml", file: hosts, generate: table("", 0, "", "", 7900, "[host.a#]\n", "")},
		{name: "hosts.toml and headers", file: hosts, generate: table(
			"", 0, "", "", 2600, "[host.a#]\nheader.authorization=\"Basic "+long+"\"\n", "")},
		{name: "registries.conf", file: "registries.conf", generate: table("", 0, "", "", 3900, "[[registry]]\nlocation=\"a#\"\n", "")},
		{name: "registries.conf and helpers", file: "registries.conf", generate: table(
			"credential-helpers = [", 4000, `"a",`, "]\n", 1900, "[[registry]]\nlocation=\"a#\"\n", "")},
		{name: "registries.conf and short names", file: "registries.conf", generate: table(
			"unqualified-search-registries = [", 4000, `"u#",`, "]\n", 1900, "[[registry]]\nlocation=\"a#\"\n", "")},
		{name: "registries.conf of version 1", file: "registries.conf", generate: table(
			"[registries.insecure]\nregistries = [", 3900, `"u#",`, "]\n[registries.search]\nregistries = [", 3900, `"a#",`, "]\n")},
		{name: "registries.conf mirrors of a long location", file: "registries.conf", generate: table(
			"[[registry]]\nlocation = \"a", 1<<20, "b", "\"\n", 3000, "[[registry.mirror]]\nlocation=\"a#\"\n", "")},
		{name: "buildkitd mirrors and CAs", file: "buildkitd.toml", generate: table(
			"[registry.a]\nca = [", 3900, `"c",`, "]\n[registry.b]\nmirrors = [", 3900, `"a",`, "]\n")},
		{name: "buildkitd mirrors and directories", file: "buildkitd.toml", generate: table(
			"[registry.a]\ntlsconfigdir = [", 3900, `"/a",`, "]\n[registry.b]\nmirrors = [", 3900, `"a",`, "]\n")},
		{name: "buildkitd mirrors and keys", file: "buildkitd.toml", generate: table(
			"[registry.a]\nkeypair = [", 2400, `{key="a"},`, "]\n[registry.b]\nmirrors = [", 3900, `"a",`, "]\n")},
		{name: "buildkitd mirrors of a long name", file: "buildkitd.toml", generate: table(
			"[registry.a", 1<<20, "b", "]\nmirrors = [", 7900, `"a#",`, "]\n")},
	})
}
