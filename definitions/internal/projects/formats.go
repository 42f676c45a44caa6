package projects

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
)

// Names of members that many formats share.
const (
	user, pass   = "username", "password"
	basicUser    = "auth.username"
	basicPass    = "auth.password"
	sourceUser   = "source.username"
	sourcePass   = "source.password"
	settingsUser = "settings.username"
	settingsPass = "settings.password"
	anyYAML      = "*.yaml *.yml"
	anyJSON      = "*.json"
)

// fileFormats are searched in their order: more specific ones are first. They are made when files are read, not at each start.
func fileFormats() []fileFormat {
	return []fileFormat{
		talos("machine.registries", "", ""), talos("kind", "apiVersion kind name", "RegistryAuthConfig RegistryTLSConfig"),
		{name: model.DockerDaemon, consumer: model.Docker, files: "daemon.json", root: "registry-mirrors", entries: []fileEntry{
			{at: "registry-mirrors[]"}}, insecure: "insecure-registries[]"},
		{name: model.DockerDaemon, consumer: model.Docker, files: "daemon.json", root: "insecure-registries",
			insecure: "insecure-registries[]"},
		{name: model.Helmwave, consumer: model.Helm, files: "helmwave.yml helmwave.yaml", root: "registries", entries: []fileEntry{
			{at: "registries[]", address: "host", username: user, password: pass, skipVerify: "insecure"}}},
		{name: model.Vendir, files: "vendir.yml vendir.yaml", root: "directories", entries: []fileEntry{
			{at: "directories[].contents[]", address: "imgpkgBundle.image"}, {at: "directories[].contents[]", address: "image.url"},
			{at: "directories[].contents[]", address: "helmChart.repository.url", chart: "helmChart.name", version: "helmChart.version",
				cuts: "stable/", appends: true, store: "helmChart.repository.secretRef", ociOnly: true}}},
		{name: model.Skaffold, consumer: model.Helm, files: "skaffold*.yaml skaffold*.yml", root: "apiVersion", entries: []fileEntry{
			{at: "deploy.helm.releases[]", address: "repo remoteChart", chart: "remoteChart", version: "version", ociOnly: true},
			{at: "manifests.helm.releases[]", address: "repo remoteChart", chart: "remoteChart", version: "version", ociOnly: true}}},

		// Orchestrators and clouds.
		{name: model.Nomad, consumer: model.Docker, files: "*.nomad *.job *.nomad.hcl", root: "job", entries: []fileEntry{
			{at: "job{}.group{}.task{}.config", address: "image", username: basicUser, password: basicPass, image: true}}},
		{name: model.ECSTask, consumer: model.Docker, files: anyJSON, root: "containerDefinitions", entries: []fileEntry{
			{at: "containerDefinitions[]", address: "image", store: "repositoryCredentials.credentialsParameter", image: true}}},
		{name: model.CloudFormation, consumer: model.Docker, files: anyYAML + " " + anyJSON + " *.template", root: "Resources",
			keys: "Resources ContainerDefinitions", entries: []fileEntry{
				{at: "Resources{}.Properties.ContainerDefinitions[]", address: "Image", image: true,
					store: "RepositoryCredentials.CredentialsParameter"}}},
		{name: model.Copilot, consumer: model.Docker, files: "copilot/*/manifest.yml", root: "image", entries: []fileEntry{
			{at: "image", address: "location", store: "credentials", image: true}}},
		{name: model.AzureContainer, consumer: model.Docker, files: anyYAML + " " + anyJSON, root: "properties.imageRegistryCredentials",
			entries: []fileEntry{
				{at: "properties.imageRegistryCredentials[]", address: "server", username: user, password: pass}}},
		{name: model.AzureContainer, consumer: model.Docker, files: anyYAML + " " + anyJSON, root: "properties.configuration.registries",
			entries: []fileEntry{
				{at: "properties.configuration.registries[]", address: "server", username: user, store: "passwordSecretRef"}}},
		{name: model.Render, consumer: model.Docker, files: "render.yaml", root: "services", entries: []fileEntry{
			{at: "services[].image", address: "url", store: "creds.fromRegistryCreds.name", image: true}}},
		{name: model.Kamal, consumer: model.Docker, files: "config/deploy*.yml", root: "registry", entries: []fileEntry{
			{at: "registry", address: "server", standard: "docker.io", username: user, password: pass}}},

		// Machines.
		{name: model.GitLabRunner, consumer: model.Docker, files: "config.toml", root: "runners", entries: []fileEntry{
			{at: "runners[].environment[]", config: "DOCKER_AUTH_CONFIG="},
			{at: "runners[].docker", address: "image"}, {at: "runners[].kubernetes", address: "image"}}},
		{name: model.CRIO, consumer: model.Podman, files: "crio.conf crio.conf.d/*.conf", root: "crio.image", entries: []fileEntry{
			{at: "crio.image", address: "pause_image", store: "pause_image_auth_file", image: true},
			{at: "crio.image", configFile: "global_auth_file"}}},
		{name: model.RKE, consumer: model.Docker, files: anyYAML, root: "private_registries", entries: []fileEntry{
			{at: "private_registries[]", address: "url", standard: "docker.io", username: "user", password: pass,
				store: "ecr_credential_plugin"}}},
		{name: model.CloudInit, root: "write_files",
			files:    "user-data* cloud-init*.yaml cloud-init*.yml cloud-config*.yaml cloud-config*.yml",
			embedded: embedded{"write_files[]", "path", "content"}},
		{name: model.Butane, files: "*.bu *.butane *.fcc", root: "storage.files",
			embedded: embedded{"storage.files[]", "path", "contents.inline"}},

		// Charts and builds.
		{name: model.Fleet, consumer: model.Helm, files: "fleet.yaml", root: "helm", entries: []fileEntry{
			{at: "helm", address: "repo chart", chart: "chart", version: "version", ociOnly: true},
			{at: "targetCustomizations[].helm", address: "repo chart", chart: "chart", version: "version", ociOnly: true}}},
		{name: model.Helmsman, consumer: model.Helm, files: "helmsman*.yaml helmsman*.yml", root: "apps", entries: []fileEntry{
			{at: "helmRepos{}", ociOnly: true}, {at: "apps{}", address: "chart", ociOnly: true}}},
		{name: model.DevSpace, consumer: model.Docker, files: "devspace.yaml devspace.yml", root: "pullSecrets", entries: []fileEntry{
			{at: "pullSecrets{}", address: "registry", username: user, password: pass}}},

		// Pipelines, whose scripts are read too.
		{name: model.Concourse, consumer: model.Docker, files: "pipeline*.yml pipeline*.yaml concourse*.yml ci/*.yml .concourse/*.yml",
			root: "resources", keys: "resources jobs", entries: []fileEntry{
				{at: "resources[]", only: "type registry-image docker-image", address: "source.repository", username: sourceUser,
					password: sourcePass, ca: "source.ca_certs", fallback: "source.insecure", image: true},
				{at: "resource_types[]", only: "type registry-image docker-image", address: "source.repository", username: sourceUser,
					password: sourcePass, ca: "source.ca_certs", fallback: "source.insecure", image: true}}},
		{name: model.CircleCI, consumer: model.Docker, files: ".circleci/*.yml .circleci/*.yaml", root: "jobs", entries: []fileEntry{
			{at: "jobs{}.docker[]", address: "image", username: basicUser, password: basicPass, image: true},
			{at: "executors{}.docker[]", address: "image", username: basicUser, password: basicPass, image: true}}},
		{name: model.Bitbucket, consumer: model.Docker, files: "bitbucket-pipelines.yml", root: "pipelines", entries: bitbucketImages()},
		{name: model.Drone, consumer: model.Docker, root: "steps",
			files: ".drone.yml .drone.yaml .woodpecker.yml .woodpecker.yaml .woodpecker/*.yml .woodpecker/*.yaml", entries: []fileEntry{
				{at: "steps[]", registry: "settings.registry", address: "settings.repo", username: settingsUser, password: settingsPass,
					image: true},
				{at: "steps{}", registry: "settings.registry", address: "settings.repo", username: settingsUser, password: settingsPass,
					image: true},
				{at: "steps[]", address: "image"}, {at: "steps{}", address: "image"}}},

		// Registries and their clients.
		{name: model.Distribution, files: "config.yml config.yaml", root: "proxy.remoteurl", entries: []fileEntry{
			{at: "proxy", address: "remoteurl", username: user, password: pass}}},
		{name: model.Regsync, files: "regsync*.yml regsync*.yaml regbot*.yml regbot*.yaml", root: "creds", entries: []fileEntry{
			{at: "creds[]", address: "hostname registry", username: "user", password: "pass", tlsMode: "tls", ca: "regcert"}}},
		{name: model.Regctl, files: ".regctl/config.json", root: "hosts", entries: []fileEntry{
			{at: "hosts{}", address: "hostname {}", username: "user", password: "pass", tlsMode: "tls", ca: "regcert"}}},
	}
}

// bitbucketImages returns where pipelines of Bitbucket have images: of steps alone, in parallel or in a stage, and of services.
func bitbucketImages() (entries []fileEntry) {
	places := []string{"image", "definitions.services{}.image"}
	for _, pipeline := range strings.Fields("default[] branches{}[] pull-requests{}[] tags{}[] bookmarks{}[] custom{}[]") {
		for _, step := range strings.Fields("step parallel[].step parallel.steps[].step stage.steps[].step") {
			places = append(places, "pipelines."+pipeline+"."+step+".image")
		}
	}
	for _, at := range places {
		entries = append(entries, fileEntry{at: at, address: "name", username: user, password: pass, image: true})
	}
	return entries
}

// talos returns the format of a configuration of Talos: what the older one has in an object, newer ones have in documents of their own.
func talos(root, keys, kinds string) fileFormat {
	entry := fileEntry{at: "machine.registries.config{}", username: basicUser, password: basicPass, login: "auth.auth",
		token: "auth.identityToken", tls: "tls", ca: "tls.ca", skipVerify: "tls.insecureSkipVerify"}
	return fileFormat{name: model.Talos, consumer: model.Containerd, files: anyYAML, root: root, keys: keys, kinds: kinds,
		entries: []fileEntry{entry}, parts: map[string]string{"RegistryAuthConfig": "auth", "RegistryTLSConfig": "tls"},
		plain:    []string{"machine.registries.mirrors{}.endpoints[]", "endpoints[].url"},
		embedded: embedded{"machine.files[]", "path", "content"}}
}
