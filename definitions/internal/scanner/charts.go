package scanner

import (
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck"
)

// version matches versions and ranges of them, and nothing that a content path cannot have.
var version = lazyregexp.New(`^[0-9A-Za-z*<>=!~^][0-9A-Za-z*<>=!~^.,+| -]{0,199}$`)

// OfCharts makes the entry that of a chart repository, a web server with an index.yaml, and of a chart in it; "" is for none.
func (e *Entry) OfCharts(chart, version string) {
	e.Path = pathOfCharts
	e.Definition.Kind, e.Definition.BaseContentPath = regcheck.KindChartRepository, ChartPath(chart, version)
}

// ChartPath returns the content path of a chart with its version, or a range of which the newest one is checked.
func ChartPath(chart, of string) string {
	of = strings.TrimSpace(of)
	if chart == "" || !version.Get().MatchString(of) {
		return chart
	}
	return chart + ":" + of
}

// exactVersion matches a version of three numbers, for which Helm, Flux and Argo CD take the tag of that name, without a list of tags.
var exactVersion = lazyregexp.New(`^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]{1,100})?$`)

// Tagged returns the path of a chart in an OCI registry with the tag of its version, or with a range of versions.
func Tagged(path, of string) string {
	of = strings.TrimSpace(of)
	switch {
	case path == "" || !version.Get().MatchString(of):
		return path
	case exactVersion.Get().MatchString(of):
		return path + ":" + strings.ReplaceAll(of, "+", "_") // a tag must not contain a plus sign
	case partVersion.Get().MatchString(of):
		of = "=" + of // without the sign, it may be a tag
	}
	if !regcheck.IsRange(of) {
		return path
	}
	return path + ":" + of
}

// partVersion matches a range that may be a tag, such as 1.2 and 1.x.
var partVersion = lazyregexp.New(`^v?[0-9]+(\.[0-9xX]+){0,2}$`)

// tag matches tags and digests, and no expression.
var tag = lazyregexp.New(`^[0-9A-Za-z_][0-9A-Za-z_.:-]{0,127}$`)

// Suffix returns a tag or digest with what is before it in a reference, "" if it is none.
func Suffix(before, name string) string {
	if !tag.Get().MatchString(name) {
		return ""
	}
	return before + name
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
