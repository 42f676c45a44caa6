package scanner

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// Reference adds an image or chart that is used without credentials of the files, such as nginx:1.29 or oci://HOST/PATH. Names with
// variables are left out: what they are for is not in the file.
func (s *Scanner) Reference(at model.Source, format model.Format, consumer model.Consumer, reference string) {
	s.ChartReference(at, format, consumer, reference, "")
}

// ChartReference is Reference for a chart whose version, or a range of versions, is not in its address; "" is for none.
func (s *Scanner) ChartReference(at model.Source, format model.Format, consumer model.Consumer, reference, chartVersion string) {
	name, isOCI := strings.CutPrefix(strings.TrimPrefix(reference, "docker://"), "oci://")
	if name == "" || isOCI && !strings.Contains(name, "/") || strings.ContainsAny(name, " $<>{}%\\\"'") || s.full() {
		return
	}
	host, path := SplitReference(name)
	version := strings.TrimPrefix(name, CutTag(name))
	if digest := strings.IndexByte(version, '@'); digest > 0 {
		version = version[digest:] // which is used, whatever the tag is
	}
	if isOCI {
		host, path, _ = strings.Cut(CutTag(name), "/")
	}
	path = strings.Trim(path, "/") + version
	if version == "" {
		path = Tagged(path, chartVersion)
	}
	r := model.Registry{Format: format, Consumer: s.Consumer(consumer), Resolution: model.Resolved, Notices: []model.Notice{}}
	r.Definition = regcheck.Definition{Endpoint: EndpointOf(host), BaseContentPath: path,
		Auth: &regcheck.Auth{Type: regcheck.NoAuth}}
	if r.Definition.Registry() == "" || path == "" {
		return
	}
	r.Sources = []model.Source{at}
	if !s.affordDefinition(&r) {
		return
	}
	noteHost(&r)
	notePlainHTTP(&r)
	key := r.Definition.Endpoint + "/" + r.Definition.BaseContentPath + " " + string(r.Consumer)
	if i, known := s.references[key]; known {
		s.result.References[i].Sources = append(s.result.References[i].Sources, at)
		return
	}
	if s.references == nil {
		s.references = map[string]int{}
	}
	s.references[key] = len(s.result.References)
	s.result.References = append(s.result.References, r)
}
