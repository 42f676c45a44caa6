package scanner

import (
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck"
)

// exactVersion matches what Helm does not take for a range of versions.
var exactVersion = lazyregexp.New(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// OfCharts makes the entry that of a chart repository, a web server with an index.yaml, and of a chart in it; "" is for none.
func (e *Entry) OfCharts(chart, version string) {
	e.Path = pathOfCharts
	e.Definition.Kind, e.Definition.BaseContentPath = regcheck.KindChartRepository, ChartPath(chart, version)
}

// ChartPath returns the content path of a chart. It has no range of versions, of which the newest one is checked.
func ChartPath(chart, version string) string {
	if chart == "" || !exactVersion.Get().MatchString(version) {
		return chart
	}
	return chart + ":" + version
}

// addChartRepository completes the entry with the path and the credentials of its address. It returns false if that cannot be checked.
func (e *Entry) addChartRepository(s *Scanner, path string) bool {
	address, err := url.Parse(strings.TrimSpace(e.Address))
	switch {
	case err != nil || address.Scheme != "https" && address.Scheme != "http":
		s.Skip(e.At, model.SkipUnsupportedScheme, "Helm reaches the repository through a plugin, or not at all: its URL begins neither "+
			"with https:// nor with http://.")
		return false
	case address.RawQuery != "" || strings.ContainsAny(path, "%") || strings.Contains(path, ".."):
		s.Skip(e.At, model.SkipClassicHelm, "The URL of the repository has a query or an escaped path, which a check does not send.")
		return false
	}
	e.Definition.Endpoint = strings.TrimSuffix(e.Definition.Endpoint+"/"+path, "/")
	if auth := e.Definition.Auth; address.User != nil && (auth == nil || auth.Username == "") {
		password, _ := address.User.Password()
		SetAuth(&e.Registry, BasicAuth(address.User.Username(), password))
	}
	return true
}

// HelmRepositoryAnonymous is for a chart of a repository whose credentials Helm has.
var HelmRepositoryAnonymous = model.Notice{Code: model.NoticeNoMatchingCredentials,
	Message: "Helm takes the credentials of a repository from its own configuration (helm repo add), which is not part of this file. " +
		"The check connects without credentials."}
