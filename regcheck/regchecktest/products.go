package regchecktest

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Servers that behave like known products. Each has a comment on its deviation.

func productServers() map[string]builder {
	return map[string]builder{
		"harbor":                   func(g *Registry) { buildHarbor(g, false) },
		"harbor-refuses-scopeless": func(g *Registry) { buildHarbor(g, true) },
		"harbor-signing-policy":    buildHarborSigningPolicy,
		"harbor-empty-project":     func(g *Registry) { g.harbor(&registry{g: g, emptyProject: "void"}, false) },
		"ghcr":                     buildGHCR,
		"google":                   buildGoogle,
		"ecr":                      buildECR,
		"ecr-public":               buildECRPublic,
		"acr":                      func(g *Registry) { buildACR(g, false) },
		"acr-no-metadata-read":     func(g *Registry) { buildACR(g, true) },
		"quay":                     func(g *Registry) { buildQuay(g, false) },
		"quay-per-repository":      func(g *Registry) { buildQuay(g, true) },
		"public-per-repository":    buildPublicPerRepository,
		"dockerhub":                func(g *Registry) { buildDockerHub(g, 200) },
		"dockerhub-few-pulls-left": func(g *Registry) { buildDockerHub(g, 40) },
		"dockerhub-a-fifth-left":   func(g *Registry) { buildDockerHub(g, 41) }, // after the one pull of a check
		"gitlab":                   func(g *Registry) { buildGitLab(g, http.StatusForbidden, "DENIED", "access forbidden") },
		"gitlab-any-cause": func(g *Registry) {
			buildGitLab(g, http.StatusUnauthorized, "UNAUTHORIZED", gitLabDenial)
		},
		"gitlab-group":       buildGitLabGroup,
		"digitalocean":       buildDigitalOcean,
		"artifactory":        func(g *Registry) { buildArtifactory(g, false) },
		"artifactory-open":   func(g *Registry) { buildArtifactory(g, true) },
		"artifactory-bearer": buildArtifactoryBearer,
		"nexus":              func(g *Registry) { buildNexus(g, false) },
		"nexus-anonymous":    func(g *Registry) { buildNexus(g, true) },
		"zot":                func(g *Registry) { buildZot(g, false) },
		"zot-mixed":          func(g *Registry) { buildZot(g, true) },
		"gitea":              func(g *Registry) { buildGitea(g, false) },
		"gitea-older":        func(g *Registry) { buildGitea(g, true) },
		"cloudflare":         func(g *Registry) { g.at(namesEverything(g.htpasswdRegistry("cloudflare"))) },
	}
}

// buildHarbor: the challenge turns Basic as soon as there is an Authorization header; a scoped token
// request with a wrong password gets 200 and an anonymous token (harbor#11632); a missing
// right is 401, never 403 (harbor#15684), and so is a project that does not exist; the name of a project alone is
// 400 for everybody, before any credentials are read; _catalog is for administrators with Basic; newer releases
// reject tokens without scope on /v2/ (harbor#23799); the web console serves every other path.
func buildHarbor(g *Registry, refusesScopeless bool) {
	g.harbor(&registry{g: g}, refusesScopeless)
}

// buildHarborSigningPolicy rejects every manifest that is not signed, and none is.
func buildHarborSigningPolicy(g *Registry) {
	g.harbor(&registry{g: g, manifests: func(v *visit) {
		v.fail(http.StatusPreconditionFailed, "PROJECTPOLICYVIOLATION", "The image is not signed by cosign.")
	}}, false)
}

func (g *Registry) harbor(s *registry, refusesScopeless bool) {
	s.outside = page200("text/html", "<html><head><title>Harbor</title></head></html>")
	tokens := &tokenService{g: g, anonymous: func(string) bool { return true }, scoped200: true}
	scopeless := tokens.anonymous
	tokens.anonymous = func(scope string) bool { return scope != "" && scopeless(scope) }
	challenge := func(v *visit) {
		if v.r.Header.Get("Authorization") != "" || v.what == "catalog" {
			v.challenge(`Basic realm="harbor"`)
			return
		}
		v.challenge(bearerLine(v, sameHost(v, "/service/token"), "harbor-registry"))
	}
	s.admit = func(v *visit) bool {
		project, _, whole := strings.Cut(v.repo, "/")
		if v.repo != "" && !whole {
			v.fail(http.StatusBadRequest, "BAD_REQUEST", "invalid repository name: "+v.repo)
			return false
		}
		if v.repo != "" && !g.tree.hasProject(project) && project != s.emptyProject {
			v.w.Header().Set("WWW-Authenticate", `Basic realm="harbor"`)
			if v.r.Header.Get("Authorization") == "" {
				v.w.Header().Set("WWW-Authenticate", bearerLine(v, sameHost(v, "/service/token"), "harbor-registry"))
			}
			v.fail(http.StatusUnauthorized, "UNAUTHORIZED", "project "+project+" not found")
			return false
		}
		if who, _, good := basicCaller(v.r); good && (v.what != "catalog" || who.name == AdminUser) {
			v.who = who
			return true
		}
		token, known := g.mints.find(bearerText(v.r))
		useless := v.what == "ping" && refusesScopeless && len(token.scopes) == 0 ||
			v.what == "ping" && token.ghost || v.what != "ping" && !token.covers(v)
		if !known || useless {
			challenge(v)
			return false
		}
		v.who = token.who
		return true
	}
	s.forbidden = challenge
	s.missing = func(v *visit) { v.fail(http.StatusNotFound, "NOT_FOUND", "repository "+v.repo+" not found") }
	g.at(withPath("/service/token", tokens, s))
}

// buildGHCR: a placeholder scope in the challenge, 403 for bad credentials, no POST, no catalog.
func buildGHCR(g *Registry) {
	tokens := &tokenService{g: g, badStatus: http.StatusForbidden, field: "token",
		badBody:   `{"errors":[{"code":"DENIED","message":"denied"}]}`,
		anonymous: func(scope string) bool { return strings.HasPrefix(scope, "repository:public/") }}
	s := &registry{g: g, noVersion: true}
	s.admit = g.bearer(func(v *visit) []string {
		scope := scopeFor(v)
		if v.what == "ping" || v.what == "catalog" {
			scope = "repository:user/image:pull"
		}
		return []string{fmt.Sprintf(`Bearer realm="%s",service="%s",scope="%s"`, sameHost(v, "/token"), v.r.Host, scope)}
	})
	admit := s.admit
	s.admit = func(v *visit) bool {
		token, known := g.mints.find(bearerText(v.r))
		if known && !token.ghost && v.what != "ping" && !token.covers(v) {
			v.fail(http.StatusForbidden, "DENIED", "permission_denied: read_package")
			return false
		}
		return admit(v)
	}
	s.catalog = func(v *visit) { v.fail(http.StatusForbidden, "DENIED", "catalog is not available") }
	s.forbidden = func(v *visit) { v.fail(http.StatusForbidden, "DENIED", "permission_denied: read_package") }
	unauthorized := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{w: w, r: r}
		if _, sent, _ := basicCaller(r); !sent && r.Method == http.MethodGet && !tokens.open(scopesOf(r.URL.Query()["scope"])) {
			v.fail(http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
			return
		}
		tokens.ServeHTTP(w, r)
	})
	g.at(withPath("/token", unauthorized, s))
}

// buildGoogle: no service in the challenge of /v2/, none at all after bad credentials, an anonymous
// token opens /v2/, and 403 "or it may not exist" for content.
func buildGoogle(g *Registry) {
	tokens := &tokenService{g: g, anonymous: func(string) bool { return true }, noPost: http.StatusNotFound}
	bare := func(v *visit) { v.fail(http.StatusUnauthorized, "UNAUTHORIZED", "failed authentication") }
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, sent, good := basicCaller(r); sent && !good {
			bare(&visit{w: w, r: r})
			return
		}
		tokens.ServeHTTP(w, r)
	})
	s := &registry{g: g, name: func(name string) bool { return ociName(name) && strings.Contains(name, "/") }}
	s.admit = func(v *visit) bool {
		who, sent, good := basicCaller(v.r)
		token, known := g.mints.find(bearerText(v.r))
		switch {
		case sent && good:
			v.who = who
			return true
		case known:
			v.who = token.who
			return true
		case v.r.Header.Get("Authorization") != "":
			bare(v)
			return false
		}
		v.challenge(bearerLine(v, sameHost(v, "/v2/token"), ""))
		return false
	}
	denied := func(v *visit) {
		v.fail(http.StatusForbidden, "DENIED",
			`Permission "artifactregistry.repositories.downloadArtifacts" denied on resource (or it may not exist)`)
	}
	s.forbidden, s.missing, s.catalog = denied, denied, denied
	g.at(withPath("/v2/token", service, s))
}

// buildECR: Basic with the endpoint's own URL as realm and a text body; an expired password is 403
// without challenge.
func buildECR(g *Registry) {
	s := &registry{g: g}
	s.admit = func(v *visit) bool {
		who, _, good := basicCaller(v.r)
		_, password, _ := v.r.BasicAuth()
		switch {
		case good:
			v.who = who
			return true
		case password == ExpiredPassword:
			v.fail(http.StatusForbidden, "DENIED", "Your authorization token has expired. Reauthenticate and try again.")
			return false
		}
		v.w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Basic realm="%s",service="ecr.amazonaws.com"`, sameHost(v, "/")))
		v.send(http.StatusUnauthorized, "text/plain; charset=utf-8", "Not Authorized\n")
		return false
	}
	s.missing = func(v *visit) {
		v.fail(http.StatusNotFound, "NAME_UNKNOWN",
			"The repository with name '"+v.repo+"' does not exist in the registry with id '123456789012'")
	}
	s.forbidden = func(v *visit) { // rights are looked at before existence
		v.fail(http.StatusForbidden, "DENIED", "User is not authorized to perform: ecr:ListImages on the resource")
	}
	g.at(s)
}

// buildECRPublic: a scope "aws" in the challenge, and 400 for an expired password.
func buildECRPublic(g *Registry) {
	tokens := &tokenService{g: g, expired: http.StatusBadRequest, anonymous: publicTokens}
	s := &registry{g: g, admit: g.bearer(func(v *visit) []string {
		return []string{fmt.Sprintf(`Bearer realm="%s",service="%s",scope="aws"`, sameHost(v, "/token/"), v.r.Host)}
	})}
	g.at(withPath("/token/", tokens, s))
}

// buildACR: identity tokens by POST and with a user of zeros, a challenge that turns Basic once there
// is an Authorization header; scope-map tokens need metadata_read for tags.
func buildACR(g *Registry, noMetadata bool) {
	tokens := &tokenService{g: g, post: true, field: "access_token"}
	s := &registry{g: g}
	s.admit = g.bearer(func(v *visit) []string {
		if v.r.Header.Get("Authorization") != "" && v.what == "ping" {
			return []string{`Basic realm="` + sameHost(v, "/") + `"`}
		}
		return []string{bearerLine(v, sameHost(v, "/oauth2/token"), v.r.Host)}
	})
	if noMetadata {
		denied := func(v *visit) {
			v.w.Header().Set("WWW-Authenticate", bearerLine(v, sameHost(v, "/oauth2/token"), v.r.Host))
			v.fail(http.StatusUnauthorized, "UNAUTHORIZED",
				"authentication required, visit https://aka.ms/acr/authorization: metadata_read is missing")
		}
		s.tagsDenied = func(v *visit) bool { denied(v); return true }
		s.missing = denied // the scope map names single repositories
	}
	g.at(withPath("/oauth2/token", tokens, s))
}

// buildDockerHub: three names for one registry, and a token service with a host and a service name of
// its own; even an authenticated user may not read the catalog. Of 200 pulls in six hours some are left: a GET of a
// manifest is one, a HEAD is not.
func buildDockerHub(g *Registry, pulls int32) {
	var left atomic.Int32
	left.Store(pulls)
	g.tokenHost(&tokenService{g: g, post: true, anonymous: publicTokens})
	g.Endpoint = "https://docker.io"
	s := g.tokenRegistry("https://auth.test/token", "registry.docker.example")
	admit := s.admit
	s.admit = func(v *visit) bool {
		if v.what == "catalog" {
			v.challenge(bearerLine(v, "https://auth.test/token", "registry.docker.example"))
			return false
		}
		admitted := admit(v)
		if admitted && v.what == "manifest" {
			if v.r.Method == http.MethodGet {
				left.Add(-1)
			}
			v.w.Header().Set("RateLimit-Limit", "200;w=21600")
			v.w.Header().Set("RateLimit-Remaining", fmt.Sprintf("%d;w=21600", left.Load()))
		}
		return admitted
	}
	config := g.tls(leaf{names: []string{"registry-1.docker.io"}})
	g.start(&site{host: "registry-1.docker.io:443", tls: config, handler: s, trusted: true, endpoint: true})
}

// buildDigitalOcean: the API token is user and password; another host gives tokens.
func buildDigitalOcean(g *Registry) {
	g.tokenHost(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{w: w, r: r}
		user, password, _ := r.BasicAuth()
		tokens := &tokenService{g: g}
		if r.Method != http.MethodGet {
			v.send(http.StatusMethodNotAllowed, "application/json", `{"id":"method_not_allowed"}`)
			return
		}
		tokens.decide(v, ada(), true, user == Token && password == Token || user == User && password == Password,
			scopesOf(r.URL.Query()["scope"]))
	}))
	g.at(g.tokenRegistry("https://auth.test/v2/registry/auth", "registry.digitalocean.example"))
}

// artifactoryOutside is the response for unknown repositories: JSON with a status instead of a code.
func artifactoryOutside(w http.ResponseWriter, r *http.Request) {
	v := &visit{w: w, r: r}
	v.send(http.StatusNotFound, "application/json", `{"errors" : [ {"status" : 404, "message" : "Not Found"} ]}`)
}

// buildArtifactory: the API is below a path of the repository key; /v2/ may be open to all.
func buildArtifactory(g *Registry, open bool) {
	s := g.htpasswdRegistry("Artifactory Realm")
	if open {
		inner := s.admit
		s.admit = func(v *visit) bool {
			if _, sent, good := basicCaller(v.r); v.what == "ping" && (!sent || good) {
				return true
			}
			return inner(v)
		}
	}
	s.base, g.BasePath = "/artifactory/api/docker/charts-local", "/artifactory/api/docker/charts-local"
	s.outside = http.HandlerFunc(artifactoryOutside)
	g.at(s)
}

// buildArtifactoryBearer: the realm is below the repository key, without scope.
func buildArtifactoryBearer(g *Registry) {
	const base = "/artifactory/api/oci/charts-local"
	s := g.tokenRegistry(base+"/v2/token", "registry.test")
	s.base, g.BasePath = base, base
	s.outside = http.HandlerFunc(artifactoryOutside)
	tokens := &tokenService{g: g, noPost: http.StatusUnauthorized}
	g.at(withPath(base+"/v2/token", tokens, s))
}

// buildNexus: the scheme in capitals; with anonymous pull on, any credentials are accepted.
func buildNexus(g *Registry, anonymous bool) {
	g.at(&registry{g: g, admit: func(v *visit) bool {
		who, _, good := basicCaller(v.r)
		switch {
		case good:
			v.who = who
			return true
		case anonymous:
			v.who = everybody
			return true
		}
		v.challenge(`BASIC realm="Sonatype Nexus Repository Manager"`)
		return false
	}})
}

// buildZot: a challenge on 200 as well, unquoted; wrong credentials are rejected after a delay. Mixed:
// Anonymous callers may read public content and /v2/.
func buildZot(g *Registry, mixed bool) {
	s := &registry{g: g, admit: func(v *visit) bool {
		who, _, good := basicCaller(v.r)
		sent := v.r.Header.Get("Authorization") != ""
		if sent && !good {
			g.pause(v.r, 60*time.Millisecond)
			v.challenge(`Basic realm=registry.test/zot`)
			return false
		}
		v.w.Header().Set("WWW-Authenticate", `Basic realm=registry.test/zot`)
		v.who = who
		if !sent && !mixed {
			v.w.Header().Del("WWW-Authenticate")
			v.challenge(`Basic realm=registry.test/zot`)
			return false
		}
		return true
	}}
	s.forbidden = func(v *visit) {
		v.w.Header().Del("WWW-Authenticate")
		if v.who.name == "" {
			v.challenge(`Basic realm=registry.test/zot`)
			return
		}
		v.fail(http.StatusForbidden, "DENIED", "requested access to the resource is denied")
	}
	g.at(s)
}

// buildGitea: anonymous callers get a token of the user ghost without scope; newer releases name scope "*",
// older ones send a second header with Basic. Who may not read an owner's packages gets 401 with Basic; who may, gets
// NAME_INVALID for the owner's name alone.
func buildGitea(g *Registry, older bool) {
	tokens := &tokenService{g: g, field: "token", anonymous: func(string) bool { return true }}
	lines := func(v *visit) []string {
		if older {
			return []string{`Bearer realm="` + sameHost(v, "/v2/token") + `",service="container_registry",scope="*"`,
				`Basic realm="Gitea Container Registry"`}
		}
		return []string{`Bearer realm="` + sameHost(v, "/v2/token") + `",service="container_registry",scope="*"`}
	}
	s := &registry{g: g}
	s.admit = func(v *visit) bool {
		if who, _, good := basicCaller(v.r); good {
			v.who = who
			return true
		}
		token, known := g.mints.find(bearerText(v.r))
		if !known {
			v.challenge(lines(v)...)
			return false
		}
		v.who = token.who // the token stands for the user, not for scopes
		return true
	}
	s.forbidden = func(v *visit) {
		v.w.Header().Set("WWW-Authenticate", `Basic realm="Gitea Package API"`)
		v.send(http.StatusUnauthorized, "text/plain; charset=utf-8", "user should have specific permission or be a site admin\n")
	}
	inner := s.admit
	s.admit = func(v *visit) bool {
		if !inner(v) {
			return false
		}
		if v.repo == "" || strings.Contains(v.repo, "/") {
			return true
		}
		if v.who.may(v.repo + "/") {
			v.fail(http.StatusBadRequest, "NAME_INVALID", "invalid repository name")
		} else {
			s.forbidden(v)
		}
		return false
	}
	g.at(withPath("/v2/token", tokens, s))
}
