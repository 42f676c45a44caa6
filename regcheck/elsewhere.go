package regcheck

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"sync"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// place is what was found in another place of the same server when /v2/ was not there.
type place struct {
	classicHelm bool
	url         string
	basePath    string // under which a registry answers
	atRoot      bool   // a registry answers without any base path
}

// maxKeys bounds how many repository keys of Artifactory are tried.
const maxKeys = 4

// notFound looks for the likely places and suggests the one that answers.
func (s *session) notFound(ctx context.Context, a *wire.Response) *failure {
	f := fail(CodeNotOCI, ReasonNotFound, "GET %s was answered %s.", wire.ShowURL(a.URL), a.Said())
	found := s.elsewhere(ctx)
	switch {
	case found == nil:
		return s.nowhere(f)
	case found.classicHelm:
		return classicHelm(found)
	case found.atRoot:
		return s.hintRoot(ctx, f)
	default:
		if s.plan.endpointPath != "" {
			return f.hinting("Write %s into endpoint and %s into basePath: there a registry answers.%s", s.base.Origin, found.basePath, s.keyReminder(found))
		}
		return f.hinting("Write %s into basePath: there a registry answers.%s", found.basePath, s.keyReminder(found))
	}
}

// orRoot gives a failure below a path another hint when a registry answers at the root of the server: users of Helm
// write the path of the content behind the host.
func (s *session) orRoot(ctx context.Context, f *failure) *failure {
	if s.base.Path == "" {
		return f
	}
	if found := s.elsewhere(ctx); found == nil || !found.atRoot {
		return f
	}
	return s.hintRoot(ctx, f)
}

func (s *session) hintRoot(ctx context.Context, f *failure) *failure {
	if s.base.Path == s.plan.endpointPath {
		f.at("endpoint")
	}
	path := strings.Trim(s.base.Path+"/"+s.plan.contentPath, "/")
	if s.readableAtRoot(ctx, path) {
		return f.hinting("Write %s into endpoint, leave basePath empty and write %s into baseContentPath: the registry answers at the root of the server, and this content can be read there.",
			s.base.Origin, wire.CleanText(path))
	}
	return f.hinting("Write %s into endpoint and leave basePath empty: there a registry answers. If %s is the path of the content, set baseContentPath to it.",
		s.base.Origin, wire.CleanText(path))
}

// readableAtRoot asks for the path as content of a registry at the server's root, with the definition's credentials.
func (s *session) readableAtRoot(ctx context.Context, path string) bool {
	plan, root := *s.plan, *s
	plan.base, plan.endpointPath, plan.contentPath = endpoint.Base{Origin: s.base.Origin}, "", path
	root.plan, root.base, root.control = &plan, plan.base, false
	root.opened, root.known, root.learned, root.warnings = nil, Known{}, Known{}, nil
	defer func() { s.rounds = root.rounds }()
	return root.api(ctx).failure == nil && root.auth(ctx).failure == nil && root.contentIsReadable(ctx)
}

// nowhere blames the field that the path was written into.
func (s *session) nowhere(f *failure) *failure {
	switch {
	case s.base.Path == "":
		return f
	case s.base.Path == s.plan.endpointPath:
		return f.at("endpoint").hinting("Correct the path %q in endpoint: no OCI registry answers below it, nor at the root of the server.", s.base.Path)
	default:
		return f.hinting("Correct basePath: no OCI registry answers below %q, nor at the root of the server.", s.base.Path)
	}
}

// keyReminder: below Artifactory's path the key is no part of the repository's name any more.
func (s *session) keyReminder(found *place) string {
	key := found.basePath[strings.LastIndexByte(found.basePath, '/')+1:]
	if rest, ok := strings.CutPrefix(s.plan.contentPath, key+"/"); ok {
		return " Then write " + wire.CleanText(rest) + " into baseContentPath."
	}
	return ""
}

func classicHelm(found *place) *failure {
	return fail(CodeNotOCI, ReasonClassicHelm, "There is no OCI API, but %s is the index of a classic Helm repository.", found.url)
}

// elsewhere asks, all at once and without credentials, where else the server has something.
func (s *session) elsewhere(ctx context.Context) *place {
	var mu sync.Mutex
	var helm, root, below *place
	var work wire.Background
	look := func(path string, judge func(*wire.Response)) {
		u := &url.URL{Scheme: s.base.Scheme, Host: s.base.Authority(), Path: path}
		work.Do(func() {
			a, err := s.wire.Fetch(ctx, wire.Request{URL: u}, false)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				judge(a)
			}
		})
	}
	look(strings.TrimSuffix("/"+s.base.Path, "/")+"/index.yaml", func(a *wire.Response) {
		if isHelmIndex(a) {
			helm = &place{classicHelm: true, url: wire.ShowURL(a.URL)}
		}
	})
	if s.base.Path != "" {
		look("/v2/", func(a *wire.Response) {
			if isRegistry(a) {
				root = &place{atRoot: true}
			}
		})
	}
	for _, key := range s.artifactoryKeys(ctx) {
		for _, kind := range []string{"docker", "oci"} {
			path := "artifactory/api/" + kind + "/" + key
			look("/"+path+"/v2/", func(a *wire.Response) {
				if isRegistry(a) && (below == nil || path < below.basePath) {
					below = &place{basePath: path}
				}
			})
		}
	}
	work.Wait()
	s.rounds++
	for _, found := range []*place{below, root, helm} {
		if found != nil {
			return found
		}
	}
	return nil
}

func isHelmIndex(a *wire.Response) bool {
	text := string(a.Body[:min(len(a.Body), 64<<10)])
	return a.Status == 200 && !wire.IsHTML(a) && strings.Contains(text, "apiVersion:") && strings.Contains(text, "entries:")
}

// isRegistry wants a positive sign.
func isRegistry(a *wire.Response) bool {
	if a.Status == 401 && challenge.Offered(a.Header.Values("WWW-Authenticate")).Usable() {
		return true
	}
	return a.Status == 200 && a.Header.Get(versionHeader) != "" || wire.IsOCIError(a.Body)
}

// artifactoryKeys are repository keys worth trying: the first component of the content path, and
// what an Artifactory tells anybody.
func (s *session) artifactoryKeys(ctx context.Context) []string {
	var keys []string
	if key, _, _ := strings.Cut(s.plan.contentPath, "/"); isKey(key) {
		keys = append(keys, key)
	}
	if !looksLikeArtifactory(s.opened.bare, s.base) {
		return keys
	}
	u := &url.URL{Scheme: s.base.Scheme, Host: s.base.Authority(), Path: "/artifactory/api/repositories"}
	a, err := s.wire.Fetch(ctx, wire.Request{URL: u}, false)
	if err != nil || a.Status != 200 {
		return keys
	}
	s.rounds += a.Rounds
	var listed []struct {
		Key         string `json:"key"`
		PackageType string `json:"packageType"`
	}
	if json.Unmarshal(a.Body, &listed) != nil {
		return keys
	}
	for _, r := range listed {
		kind := strings.ToLower(r.PackageType)
		if isKey(r.Key) && (kind == "docker" || kind == "oci" || kind == "helmoci") && len(keys) < maxKeys {
			keys = append(keys, r.Key)
		}
	}
	return keys
}

func isKey(key string) bool {
	return key != "" && len(key) <= 64 && strings.IndexFunc(key, func(r rune) bool { return r >= 0x80 || !challenge.IsTokenByte(byte(r)) }) < 0 // #nosec G115 -- bounded by the test before it
}

func looksLikeArtifactory(a *wire.Response, base endpoint.Base) bool {
	for name := range a.Header {
		lower := strings.ToLower(name)
		if strings.HasPrefix(lower, "x-artifactory") || strings.HasPrefix(lower, "x-jfrog") {
			return true
		}
	}
	listed := wire.ReadErrors(a.Body)
	return strings.Contains(a.Header.Get("Server"), "Artifactory") || strings.HasPrefix(base.Path, "artifactory") ||
		len(listed) > 0 && listed[0].Status != 0
}
