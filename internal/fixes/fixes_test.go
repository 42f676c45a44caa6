package fixes

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

func registry(format model.Format, consumer model.Consumer, object string) model.Registry {
	return model.Registry{Format: format, Consumer: consumer, Sources: []model.Source{{File: "apps/a.yaml", Line: 12, Object: object}},
		Definition: regcheck.Definition{Endpoint: "https://r.example.com:5000", Auth: &regcheck.Auth{}}}
}

func report(code regcheck.Code, reason regcheck.Reason) *regcheck.Report {
	i := slices.IndexFunc(regcheck.Entries(), func(e regcheck.Entry) bool { return e.Code == code && e.Reason == reason })
	e := regcheck.Entries()[i]
	return &regcheck.Report{Code: code, Reason: reason, HintText: e.Hint, MessageText: e.Sentence}
}

// The words for chart repositories are those of their program: none of them has a pull secret or the type of a registry.
func TestHintsForChartRepositories(t *testing.T) {
	for _, row := range []struct {
		format   model.Format
		consumer model.Consumer
		object   string
		code     regcheck.Code
		reason   regcheck.Reason
		want     string
	}{
		{model.Kubernetes, model.Flux, "HelmRepository a/b", regcheck.CodeAuthRequired, "",
			"Set spec.secretRef of the HelmRepository to a Secret with username and password."},
		{model.Kubernetes, model.Flux, "HelmRepository a/b", regcheck.CodeNotChartRepository, regcheck.ReasonOCIRegistry,
			"Set spec.type of the HelmRepository to oci, and begin spec.url with oci://: charts"},
		{model.Kubernetes, model.Flux, "HelmRelease a/b", regcheck.CodeAccessDenied, regcheck.ReasonOtherHost,
			"set spec.passCredentials to true."},
		{model.Kubernetes, model.ArgoCD, "Secret argocd/a", regcheck.CodeNotChartRepository, regcheck.ReasonOCIRegistry,
			`Remove the scheme from url in apps/a.yaml:12, and set enableOCI: "true"`},
		{model.Kubernetes, model.ArgoCD, "Application argocd/a", regcheck.CodeAccessDenied, regcheck.ReasonOtherHost,
			"set helm.passCredentials of the source to true."},
		{model.Helmfile, model.Helm, "repository a", regcheck.CodeAuthRequired, "",
			"Set username and password of the repository in apps/a.yaml."},
		{model.Terraform, model.Helm, "helm_release.a", regcheck.CodeAuthRequired, "",
			"Set repository_username and repository_password of helm_release.a in apps/a.yaml:12."},
		{model.HelmRepositories, model.Helm, "repository a", regcheck.CodeAccessDenied, regcheck.ReasonOtherHost,
			"set pass_credentials_all to true."},
		{model.Dependabot, model.Helm, "registry a", regcheck.CodeAuthRequired, "",
			"Set username and password of the registry a in apps/a.yaml:12."},
		{model.HelmChart, model.Helm, "dependency a", regcheck.CodeTLSFailed, regcheck.ReasonNotTLS,
			"Begin the repository in apps/a.yaml:12 with http:// if"},
	} {
		r := registry(row.format, row.consumer, row.object)
		r.Definition.Kind = regcheck.KindChartRepository
		given := show(*report(row.code, row.reason), regcheck.Audience{})
		if got := Report(r, given, regcheck.Audience{}).Hint; !strings.Contains(got, row.want) {
			t.Errorf("%s of %s %s: %q, want %q", row.reason, row.format, row.consumer, got, row.want)
		}
	}
}

func TestHintsOfConsumers(t *testing.T) {
	const untrusted, notTLS, required = "untrusted", "notTLS", "required"
	const ca, port = " to the PEM certificate of the signing CA.", " if the registry does not use TLS; otherwise correct the port in "
	reports := map[string]*regcheck.Report{
		untrusted:     report(regcheck.CodeTLSFailed, regcheck.ReasonUnknownAuthority),
		notTLS:        report(regcheck.CodeTLSFailed, regcheck.ReasonNotTLS),
		required:      report(regcheck.CodeAuthRequired, ""),
		"refused":     report(regcheck.CodeAuthFailed, regcheck.ReasonRefused),
		"unreachable": report(regcheck.CodeUnreachable, ""),
		"classic":     report(regcheck.CodeNotOCI, regcheck.ReasonClassicHelm),
	}
	repository, oci := "HelmRepository flux-system/podinfo", "spectrocloud_registry_oci.charts"
	for _, row := range []struct {
		format   model.Format
		consumer model.Consumer
		object   string
		report   string
		want     string
	}{
		{model.Kubernetes, model.ArgoCD, "Secret argocd/a", untrusted,
			"Set the key r.example.com of the ConfigMap argocd-tls-certs-cm" + ca},
		{model.DockerConfig, model.Docker, "r.example.com", untrusted, "Set /etc/docker/certs.d/r.example.com:5000/ca.crt" + ca},
		{model.ContainerdHosts, model.Containerd, "host a", untrusted, "Set the file that ca in apps/a.yaml names" + ca},
		{model.Kubernetes, model.Flux, repository, untrusted,
			"Set ca.crt of the Secret in spec.certSecretRef of " + repository + "" + ca},
		{model.HelmChart, model.Helm, "dependency a", untrusted, "Set the file of helm's --ca-file" + ca},
		{model.Terraform, "", oci, untrusted, "Set credentials.tls_config.certificate of " + oci + " in apps/a.yaml" + ca},
		{model.ContainersAuth, model.Podman, "", untrusted, "Set /etc/containers/certs.d/r.example.com:5000/ca.crt" + ca},
		{model.Talos, model.Containerd, "r.example.com:5000", untrusted,
			`Set ca of the RegistryTLSConfig r.example.com:5000, or tls.ca of machine.registries.config."r.example.com:5000", ` +
				"in apps/a.yaml" + ca},
		{model.Talos, model.Containerd, "r.example.com:5000", notTLS,
			"Add the endpoint http://r.example.com:5000 to a RegistryMirrorConfig r.example.com:5000, or to machine.registries.mirrors, " +
				"in apps/a.yaml" + port + "the name of the registry (apps/a.yaml:12)."},
		{model.Talos, model.Containerd, "docker.io", required, "Set username and password of a RegistryAuthConfig docker.io, or of " +
			`machine.registries.config."docker.io".auth, in apps/a.yaml.`},
		{model.Buildkitd, model.Docker, "", untrusted,
			`Set the file that ca of [registry."r.example.com:5000"] in apps/a.yaml names` + ca},
		{model.K3sRegistries, model.Containerd, "", untrusted,
			`Set the file that tls.ca_file of configs."r.example.com:5000" in apps/a.yaml names` + ca},
		{model.Kubernetes, model.Kubelet, "Secret a/b", untrusted,
			"Set /etc/containerd/certs.d/r.example.com:5000/ca.crt on every node" + ca},
		{model.Kubernetes, model.Flux, repository, notTLS,
			"Set spec.insecure: true in " + repository + "" + port + "spec.url (apps/a.yaml:12)."},
		{model.DockerConfig, model.Docker, "", notTLS,
			"Add r.example.com:5000 to insecure-registries in /etc/docker/daemon.json" + port +
				"the name of the registry (apps/a.yaml:12)."},
		{model.Dependabot, model.Docker, "", notTLS,
			"Serve the registry over TLS, or correct the port in url of the registry (apps/a.yaml:12)."},
		{model.Kubernetes, model.Kubelet, "", required,
			"Add an entry for r.example.com:5000 to a Secret of the type kubernetes.io/dockerconfigjson, and name it in imagePullSecrets."},
		{model.ContainersAuth, model.Podman, "", required, "Run podman login r.example.com:5000."},
		{model.Kubernetes, model.Flux, repository, "refused", "The credentials are in apps/secret.yaml:3 (Secret flux-system/creds)."},
		{model.Kubernetes, model.Flux, repository, "unreachable", "Correct host and port in spec.url (apps/a.yaml:12), start"},
		{model.Kubernetes, model.Flux, repository, "classic", "Set spec.url (apps/a.yaml:12) to the address of an OCI registry, or, " +
			"for a classic Helm repository, remove spec.type of the HelmRepository and begin its spec.url with https://."},
		{model.Kubernetes, model.Flux, "OCIRepository a/b", "classic", "Set spec.url (apps/a.yaml:12) to the address of an OCI registry."},
		{model.HelmChart, model.Helm, "dependency a", "classic", "Set the repository (apps/a.yaml:12) to the address of an OCI registry, " +
			"or use the charts as those of a classic Helm repository, by its https:// address."},
		{model.RegistryDefinition, "", "", untrusted,
			"Set auth.tls.ca to the PEM certificate of the signing CA and auth.tls.enabled to true."},
	} {
		r := registry(row.format, row.consumer, row.object)
		if row.report == "refused" {
			r.Secret = &model.Source{File: "apps/secret.yaml", Line: 3, Object: "Secret flux-system/creds"}
		}
		given := show(*reports[row.report], regcheck.Audience{})
		if got := Report(r, given, regcheck.Audience{}).Hint; !strings.Contains(got, row.want) {
			t.Errorf("%s of %s %s: %q, want %q", row.report, row.format, row.consumer, got, row.want)
		}
	}
}

// ofDefinition matches names of fields that only our own definitions have.
var ofDefinition = regexp.MustCompile(`auth\.|basePath|baseContentPath|chartRepository|\{|to the client`)

// No hint and no warning for the files of another program has a field of our definitions.
func TestEveryHintIsInTheWordsOfTheFile(t *testing.T) {
	for _, format := range definitions.FormatNames() {
		for _, consumer := range append([]model.Consumer{""}, model.Consumers...) {
			if model.Format(format) == model.RegistryDefinition {
				continue
			}
			r := registry(model.Format(format), consumer, "Secret a/b")
			for _, e := range regcheck.Entries() {
				given := &regcheck.Report{Code: e.Code, Reason: e.Reason, MessageText: e.Sentence, HintText: e.Hint}
				if e.Warning != "" {
					given = &regcheck.Report{Warnings: []regcheck.Warning{{Code: e.Warning, Text: e.Sentence + " " + e.Hint}}}
				}
				shown := Report(r, given, regcheck.Audience{})
				text := shown.Message + shown.Hint
				for _, w := range shown.Warnings {
					text += w.Message
				}
				if found := ofDefinition.FindString(text); found != "" && e.Warning != regcheck.WarnTLSSettingsIgnored {
					t.Errorf("%s %s: %q in %q", format, consumer, found, text)
				}
			}
		}
	}
}

// One check is for several places: the report of each has its own words, and that of the engine does not change.
func TestReportIsNotShared(t *testing.T) {
	given := show(*report(regcheck.CodeTLSFailed, regcheck.ReasonSelfSigned), regcheck.Audience{})
	given.Warnings = []regcheck.Warning{{Code: regcheck.WarnCredentialsExpireSoon, Message: "They expire."}}
	before := given.Hint
	flux := Report(registry(model.Kubernetes, model.Flux, "OCIRepository a"), given, regcheck.Audience{})
	docker := Report(registry(model.DockerConfig, model.Docker, "a"), given, regcheck.Audience{})
	if flux.Hint == docker.Hint || given.Hint != before || given.Warnings[0].Message != "They expire." {
		t.Errorf("%q, %q, %q, %v", flux.Hint, docker.Hint, given.Hint, given.Warnings)
	}
}
