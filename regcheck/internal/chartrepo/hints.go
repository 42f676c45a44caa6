package chartrepo

import (
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// notFoundHint returns what to do about a 404 of a product that its headers or body show, "" for others. Host names decide nothing.
func notFoundHint(path string, a *wire.Response) message.Text {
	body := string(a.Body[:min(len(a.Body), 16<<10)])
	server := a.Header.Get("Server")
	switch {
	case server == "GitHub.com" || strings.Contains(body, "There isn't a GitHub Pages site here"):
		return "Enable GitHub Pages for the repository, with the branch and directory that have index.yaml, and set {endpoint} to its " +
			"address, https://OWNER.github.io/REPOSITORY. A private site requires a login that Helm does not have."
	case strings.HasPrefix(server, "Nexus"):
		return "Correct the path in {endpoint}: at Nexus it is repository/NAME of a repository of the format helm."
	case a.Header.Get("X-JFrog-Version") != "" || strings.HasPrefix(server, "Artifactory"):
		return "Correct the path in {endpoint}: at Artifactory it is artifactory/api/helm/KEY, with the key of a repository of " +
			"the type Helm."
	case a.Header.Get("X-Gitlab-Meta") != "" || strings.HasPrefix(path, "api/v4/projects/"):
		return "Correct the path in {endpoint}: at GitLab it is api/v4/projects/ID/packages/helm/CHANNEL. GitLab also returns 404 for a " +
			"project that the user may not see: the token needs the scope read_package_registry."
	case strings.TrimSpace(body) == `{"error":"not found"}`:
		return "Correct the path in {endpoint}: ChartMuseum serves index.yaml at its root, or with --depth below the names of tenants."
	}
	return ""
}
