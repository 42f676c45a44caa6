package docker

import (
	"fmt"
	"path"
	"slices"

	"github.com/regwarden/regwarden/definitions/model"
)

// ConsumerOf is described at definitions.ConsumerOf.
func ConsumerOf(format model.Format) model.Consumer {
	switch format {
	case model.ContainersAuth, model.Dockercfg: // docker no longer reads .dockercfg
		return model.Podman
	default:
		return model.Docker
	}
}

// Locations is described at definitions.Locations.
func Locations(consumer model.Consumer, e model.Environment) []model.Location {
	docker := model.Location{Path: fromVariable(e, path.Join(e.Home, ".docker/config.json"), "DOCKER_CONFIG", "config.json"),
		Format: model.DockerConfig}
	switch consumer {
	case model.Docker:
		if e.Getenv("DOCKER_AUTH_CONFIG") == "" {
			return []model.Location{docker}
		}
		return []model.Location{{Variable: "DOCKER_AUTH_CONFIG", Format: model.DockerAuthConfigEnv}, docker}
	case model.Helm:
		return []model.Location{{Path: fromVariable(e, path.Join(helmDirectory(e), "registry/config.json"),
			"HELM_REGISTRY_CONFIG", "", "HELM_CONFIG_HOME", "registry/config.json", "XDG_CONFIG_HOME", "helm/registry/config.json"),
			Format: model.DockerConfig}, docker}
	case model.Podman:
		return podmanLocations(e, docker)
	case model.Kubelet:
		return []model.Location{
			{Path: "/var/lib/kubelet/config.json", Format: model.DockerConfig}, {Path: path.Join(e.Home, ".docker/config.json"),
				Format: model.DockerConfig},
			{Path: "/.docker/config.json", Format: model.DockerConfig}, {Path: "/var/lib/kubelet/.dockercfg", Format: model.Dockercfg},
			{Path: path.Join(e.Home, ".dockercfg"), Format: model.Dockercfg}, {Path: "/.dockercfg", Format: model.Dockercfg}}
	default:
		return nil
	}
}

func podmanLocations(e model.Environment, docker model.Location) []model.Location {
	if file := fromVariable(e, "", "REGISTRY_AUTH_FILE", "", "DOCKER_CONFIG", "config.json"); file != "" {
		return []model.Location{{Path: file, Format: model.ContainersAuth}} // the only one
	}
	const file = "containers/auth.json"
	inHome := path.Join(e.Home, ".config", file)
	first := inHome // on macOS and Windows, whatever XDG_RUNTIME_DIR is
	if e.OS == "linux" {
		first = fromVariable(e, fmt.Sprintf("/run/containers/%d/auth.json", e.UID), "XDG_RUNTIME_DIR", file)
	}
	list := []model.Location{{Path: first, Format: model.ContainersAuth}}
	if second := fromVariable(e, inHome, "XDG_CONFIG_HOME", file); second != first {
		list = append(list, model.Location{Path: second, Format: model.ContainersAuth})
	}
	return append(list, docker, model.Location{Path: path.Join(e.Home, ".dockercfg"), Format: model.Dockercfg})
}

// helmDirectory returns where Helm has its configuration unless a variable names another directory.
func helmDirectory(e model.Environment) string {
	switch e.OS {
	case "darwin":
		return path.Join(e.Home, "Library/Preferences/helm")
	case "windows":
		return path.Join(e.Getenv("APPDATA"), "helm")
	}
	return path.Join(e.Home, ".config/helm")
}

// fromVariable returns the path below the value of the first variable that is set, and otherwise if none is. Variables and paths alternate.
func fromVariable(e model.Environment, otherwise string, variables ...string) string {
	for pair := range slices.Chunk(variables, 2) {
		if value := e.Getenv(pair[0]); value != "" {
			return path.Join(value, pair[1])
		}
	}
	return otherwise
}
