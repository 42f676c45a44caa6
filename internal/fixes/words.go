package fixes

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
)

// words are how a consumer is configured. {host} is the registry's host and port, {hostname} without the port, {place} file and line of the
// definition, {file} only the file, {object} the object in the file.
type words struct {
	address          string // what has the address
	ca               string // what "Set … to the PEM certificate" sets
	certificate, key string // of a client; empty if it cannot have one
	skipVerify       string // what turns off the verification of certificates
	plainHTTP        string // how to connect without TLS, an imperative sentence without its end; empty if that is not possible
	login            string // how to give credentials, an imperative sentence without its end
	content          string // what names the content

	// Of chart repositories.
	passCredentials string // what sends credentials to other hosts
	oci             string // how to use an OCI registry instead, an imperative sentence without its end
}

// ofCharts returns the words for a chart repository: it has no pull secret, and the scheme is in its URL.
func (w words) ofCharts(r model.Registry) words {
	w.content, w.plainHTTP = "the chart", "Begin "+w.address+" in {place} with http://"
	w.login = "Run helm repo add with --username and --password"
	w.passCredentials, w.oci = "helm's --pass-credentials", "Begin "+w.address+" in {place} with oci://"
	switch {
	case r.Consumer == model.Flux:
		w.login = "Set spec.secretRef of the HelmRepository to a Secret with username and password"
		w.passCredentials, w.oci = "spec.passCredentials", "Set spec.type of the HelmRepository to oci, and begin spec.url with oci://"
	case r.Consumer == model.ArgoCD:
		w.passCredentials = "helm.passCredentials of the source"
		w.oci = `Remove the scheme from ` + w.address + ` in {place}, and set enableOCI: "true" in the Secret of the repository`
	case r.Format == model.Helmfile:
		w.login = "Set username and password of the repository in {file}"
		w.passCredentials, w.oci = "passCredentials of the repository",
			"Set oci: true for the repository in {file}, and remove the scheme from its url"
	case r.Format == model.Terraform:
		w.login = "Set repository_username and repository_password of {object} in {place}"
		w.passCredentials = "pass_credentials"
	case r.Format == model.HelmRepositories:
		w.passCredentials, w.oci = "pass_credentials_all", "Run helm repo remove, and use the charts by their URL"
	case r.Format == model.Dependabot:
		w.login = "Set username and password of the {object} in {place}"
	}
	return w
}

// row has the words for a format, a consumer, and the begin of an object's name. Empty fields match all.
type row struct {
	format   model.Format
	consumer model.Consumer
	object   string
	words
}

// wordsOf returns the words of the first row that matches. Definitions of our own format need none: their file has the fields.
func wordsOf(r model.Registry) (words, bool) {
	var object string
	if len(r.Sources) > 0 {
		object = r.Sources[0].Object
	}
	for _, row := range table {
		if (row.format == "" || row.format == r.Format) && (row.consumer == "" || row.consumer == r.Consumer) &&
			strings.Contains(object, row.object) {
			row.content = "the path"
			return row.words, r.Format != model.RegistryDefinition
		}
	}
	return words{}, false // the last row matches all
}

// table is searched in its order.
var table = []row{
	{model.Kubernetes, model.Flux, "HelmRelease ", fluxWords("spec.chart", "the HelmRepository of {object}")},
	{model.Kubernetes, model.Flux, "ImageRepository ", fluxWords("spec.image", "{object}")},
	{model.Kubernetes, model.Flux, "", fluxWords("spec.url", "{object}")},
	{model.Kubernetes, model.ArgoCD, "ConfigMap ", imageUpdater},
	{model.ArgoCDImageUpdater, "", "", imageUpdater},
	{model.Kubernetes, model.ArgoCD, "Application", argoCD("repoURL")},
	{model.Kubernetes, model.ArgoCD, "", argoCD("url")},
	{model.ContainerdHosts, model.Containerd, "", words{
		address: "the address of the host", ca: "the file that ca in {file} names", certificate: "the certificate in client of {file}",
		key:        "the key in client of {file}",
		skipVerify: "skip_verify in {file}", plainHTTP: "Begin the host in {place} with http://",
		login: "Give containerd credentials for {host}: on Kubernetes by a pull Secret"}},
	{model.ContainerdConfig, "", "", words{
		address: "the name of the registry", ca: `the file that tls.ca_file of registry.configs."{host}" in {file} names`,
		certificate: `the file of tls.cert_file of registry.configs."{host}" in {file}`, key: `the file of tls.key_file`,
		skipVerify: "tls.insecure_skip_verify", plainHTTP: "Begin the endpoint of the mirror in {file} with http://",
		login: `Set username and password of registry.configs."{host}".auth in {file}`}},
	{model.K3sRegistries, "", "", words{
		address: "the endpoint", ca: `the file that tls.ca_file of configs."{host}" in {file} names`,
		certificate: `the file of tls.cert_file of configs."{host}" in {file}`,
		key:         "the file of tls.key_file", skipVerify: "tls.insecure_skip_verify",
		plainHTTP: "Begin the endpoint in {place} with http://",
		login:     `Set username and password of configs."{host}".auth in {file}`}},
	{model.Talos, "", "", words{
		address:     "the name of the registry",
		ca:          `ca of the RegistryTLSConfig {object}, or tls.ca of machine.registries.config."{object}", in {file}`,
		certificate: "clientIdentity.cert of the RegistryTLSConfig {object}, or clientIdentity.crt of machine.registries.config, in {file}",
		key:         "clientIdentity.key next to it", skipVerify: "insecureSkipVerify",
		plainHTTP: "Add the endpoint http://{host} to a RegistryMirrorConfig {object}, or to machine.registries.mirrors, in {file}",
		login: `Set username and password of a RegistryAuthConfig {object}, or of machine.registries.config."{object}".auth, ` +
			"in {file}"}},
	{model.Buildkitd, "", "", words{
		address: "the name of the registry", ca: `the file that ca of [registry."{host}"] in {file} names`,
		certificate: `cert of keypair of [registry."{host}"] in {file}`,
		key:         "key of keypair", skipVerify: "insecure", plainHTTP: `Set http = true in [registry."{host}"] of {file}`,
		login: "Run docker login {host} as the user who starts the build"}},
	{model.Helmfile, "", "", words{
		address: "url of the repository", ca: "the file that caFile of the {object} in {file} names",
		certificate: "the file of certFile of the {object} in {file}",
		key:         "the file of keyFile", skipVerify: "skipTLSVerify", plainHTTP: "Set plainHttp: true for the {object} in {place}",
		login: "Set username and password of the {object} in {place}, or run helm registry login {host} before helmfile"}},
	{model.Terraform, "", "spectrocloud_registry_oci", words{
		address: "endpoint", ca: "credentials.tls_config.certificate of {object} in {file}",
		skipVerify: "credentials.tls_config.insecure_skip_verify", plainHTTP: "Begin endpoint of {object} in {place} with http://",
		login: `Set credential_type of {object} in {place} to "basic", with username and password`}},
	{model.Terraform, "", "harbor_registry", words{
		address: "endpoint_url", ca: "ca_certificate of {object} in {file}",
		skipVerify: "insecure", plainHTTP: "Begin endpoint_url of {object} in {place} with http://",
		login: "Set access_id and access_secret of {object} in {place}"}},
	{model.Terraform, model.Helm, "", words{
		address: "the URL", ca: "the file that repository_ca_file of the helm_release names",
		certificate: "the file of repository_cert_file of the helm_release",
		key:         "the file of repository_key_file", skipVerify: "--insecure-skip-tls-verify",
		login: "Add {host} with username and password to the registries of the provider in {file}"}},
	{model.HarborRegistries, "", "", words{
		address: "url of the registry endpoint in Harbor", ca: "ca_certificate of the {object} in Harbor", skipVerify: "insecure",
		plainHTTP: "Begin the URL of the {object} in Harbor with http://",
		login:     "Set access ID and access secret of the {object} in Harbor"}},
	{model.Renovate, "", "", words{
		address: "matchHost", ca: "the file that NODE_EXTRA_CA_CERTS of Renovate names",
		certificate: "httpsCertificate of the rule in {place}", key: "httpsPrivateKey",
		skipVerify: "the variable NODE_TLS_REJECT_UNAUTHORIZED", plainHTTP: "Set insecureRegistry: true in the rule for {host} in {place}",
		login: "Set username and password of a rule of hostRules for {host}"}},
	{model.Dependabot, "", "", words{
		address: "url of the registry", ca: "the system's CA certificates of a self-hosted runner", skipVerify: "the setting",
		login: "Set username and password of the {object} in {place}"}},
	{"", model.Podman, "", words{
		address: "the name of the registry", ca: "/etc/containers/certs.d/{host}/ca.crt",
		certificate: "/etc/containers/certs.d/{host}/client.cert", key: "client.key",
		skipVerify: "insecure in registries.conf", plainHTTP: "Set insecure = true for {host} in registries.conf",
		login: "Run podman login {host}"}},
	{"", model.Docker, "", words{
		address: "the name of the registry", ca: "/etc/docker/certs.d/{host}/ca.crt",
		certificate: "/etc/docker/certs.d/{host}/client.cert", key: "client.key",
		skipVerify: "insecure-registries in /etc/docker/daemon.json",
		plainHTTP:  "Add {host} to insecure-registries in /etc/docker/daemon.json",
		login:      "Run docker login {host}"}},
	{"", model.Helm, "", words{
		address: "the repository", ca: "the file of helm's --ca-file", certificate: "the file of helm's --cert-file",
		key:        "the file of --key-file",
		skipVerify: "--insecure-skip-tls-verify", plainHTTP: "Call helm with --plain-http", login: "Run helm registry login {host}"}},
	{"", model.Flux, "", fluxWords("the URL", "the object of Flux")},
	{"", model.ArgoCD, "", argoCD("the URL")},
	{"", "", "", words{ // kubelet, whose container runtime connects
		address: "the name of the registry", ca: "/etc/containerd/certs.d/{host}/ca.crt on every node",
		certificate: "/etc/containerd/certs.d/{host}/client.cert on every node",
		key:         "client.key", skipVerify: "skip_verify in hosts.toml",
		plainHTTP: `Write server = "http://{host}" to /etc/containerd/certs.d/{host}/hosts.toml on every node`,
		login:     "Add an entry for {host} to a Secret of the type kubernetes.io/dockerconfigjson, and name it in imagePullSecrets"}},
}

func fluxWords(address, object string) words {
	return words{
		address: address, ca: "ca.crt of the Secret in spec.certSecretRef of " + object,
		certificate: "tls.crt of the Secret in spec.certSecretRef of " + object, key: "tls.key",
		skipVerify: "spec.insecure", plainHTTP: "Set spec.insecure: true in " + object,
		login: "Set spec.secretRef of " + object + " to a Secret with an entry for {host}"}
}

func argoCD(address string) words {
	return words{
		address: address, ca: "the key {hostname} of the ConfigMap argocd-tls-certs-cm",
		certificate: "tlsClientCertData of the Secret of the repository", key: "tlsClientCertKey",
		skipVerify: "insecure", plainHTTP: `Set insecureOCIForceHttp: "true" in the Secret of the repository`,
		login: "Create a Secret with the label argocd.argoproj.io/secret-type: repository and url, username and password for {host}"}
}

var imageUpdater = words{
	address: "api_url", ca: "the system's CA certificates in the image of the Image Updater", skipVerify: "insecure",
	plainHTTP: "Begin api_url in {place} with http://", login: "Set credentials in {place}, such as pullsecret:argocd/NAME"}
