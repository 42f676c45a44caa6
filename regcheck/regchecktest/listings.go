package regchecktest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// Registries with valid definitions whose content is difficult to list.

func listingServers() map[string]builder {
	all := map[string]builder{
		"listing-wrong-digests": buildWrongDigests,
		"listing-limits":        func(g *Registry) { g.limitsListing("1", func(n int32) bool { return n%4 == 3 }) },
		"listing-limits-long":   func(g *Registry) { g.limitsListing("3600", func(n int32) bool { return n > 11 }) },
		"listing-limits-breaks": func(g *Registry) { g.failsListing(429, 429) },
		"listing-breaks-limits": func(g *Registry) { g.failsListing(500, 429) },
		"listing-breaks":        func(g *Registry) { g.breaksListing("charts/redis") },
		"listing-breaks-all":    func(g *Registry) { g.breaksListing("") },
		"listing-other-ports":   buildListingOtherPorts,
		"listing-token-expires": buildTokenExpires,
		"listing-held":          buildHeldListing,
	}
	for name, catalog := range map[string]func(*Registry, *visit){
		"listing-catalog-loop": func(_ *Registry, v *visit) {
			v.linked("_catalog?last=charts%2Fnginx&n=1000")
			v.json(http.StatusOK, map[string]any{"repositories": []string{"charts/nginx"}})
		},
		"listing-catalog-endless": func(_ *Registry, v *visit) {
			n, _ := strconv.Atoi(v.r.URL.Query().Get("last"))
			v.linked(fmt.Sprintf("_catalog?last=%d", n+1))
			v.json(http.StatusOK, map[string]any{"repositories": []string{fmt.Sprintf("other/%d", n)}})
		},
		"listing-catalog-huge": func(g *Registry, v *visit) { g.endless(v.w, v.r, `{"repositories":["charts/nginx","`) },
		"listing-names": func(_ *Registry, v *visit) {
			v.json(http.StatusOK, map[string]any{"repositories": []string{"charts/nginx", "charts/Upper", "../etc/passwd",
				"charts/../vault/secret", "charts//x",
				"charts/\u202e", "charts/\x1b[31m", "charts/a b", "charts/%2e%2e", "charts/" + strings.Repeat("a", 300),
				"charts/" + Password, ""}})
		},
	} {
		all[name] = func(g *Registry) {
			s := g.htpasswdRegistry("Registry Realm")
			s.catalog = func(v *visit) { catalog(g, v) }
			s.tagsDenied = func(v *visit) bool {
				if name == "listing-names" {
					v.json(http.StatusOK, map[string]any{"name": v.repo,
						"tags": []string{"1.2.3", "1.2.3", "..", "", "a/b", "x\n", "-x", Password, strings.Repeat("t", 129), "\u202e"}})
					return true
				}
				return false
			}
			g.at(s)
		}
	}
	for name, tags := range map[string]func(*visit){
		"listing-tags-loop": func(v *visit) {
			v.linked(v.repo + "/tags/list?last=1.2.3&n=100")
			v.json(http.StatusOK, map[string]any{"name": v.repo, "tags": []string{"1.2.3"}})
		},
		"listing-tags-endless": func(v *visit) {
			n, _ := strconv.Atoi(v.r.URL.Query().Get("last"))
			v.linked(fmt.Sprintf("%s/tags/list?last=%d", v.repo, n+1))
			v.json(http.StatusOK, map[string]any{"name": v.repo, "tags": []string{fmt.Sprint("t", n)}})
		},
		"listing-tags-empty-end":   func(v *visit) { v.secondPage(200, map[string]any{"name": v.repo, "tags": []string{}}) },
		"listing-tags-unavailable": func(v *visit) { v.secondPage(503, map[string]any{}) },
		"listing-tags-denied":      func(v *visit) { v.secondPage(403, map[string]any{}) },
		"listing-tags-unpaged": func(v *visit) { // as distribution before 3.0
			list := []string{"0.9.0"}
			for n := range 2000 {
				list = append(list, fmt.Sprint("nightly-", n))
			}
			v.json(http.StatusOK, map[string]any{"name": v.repo, "tags": append(list, "1.2.3")})
		},
	} {
		all[name] = func(g *Registry) {
			s := g.htpasswdRegistry("Registry Realm")
			s.tagsDenied = func(v *visit) bool {
				tags(v)
				return true
			}
			g.at(s)
		}
	}
	return all
}

// secondPage lists one tag, and then responds otherwise.
func (v *visit) secondPage(status int, body any) {
	if v.r.URL.Query().Has("last") {
		v.json(status, body)
		return
	}
	v.linked(v.repo + "/tags/list?last=1.2.3&n=1")
	v.json(http.StatusOK, map[string]any{"name": v.repo, "tags": []string{"1.2.3"}})
}

func (v *visit) linked(to string) { v.w.Header().Set("Link", `</v2/`+to+`>; rel="next"`) }

// content wraps the htpasswd registry: instead handles requests for content until it returns false.
func (g *Registry) content(instead func(w http.ResponseWriter, r *http.Request) bool) {
	s := g.htpasswdRegistry("Registry Realm")
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" || r.Header.Get("Authorization") == "" || !instead(w, r) {
			s.ServeHTTP(w, r)
		}
	}))
}

// limitsListing returns 429 for some requests for content, counted from 1.
func (g *Registry) limitsListing(after string, some func(n int32) bool) {
	var n atomic.Int32
	g.content(func(w http.ResponseWriter, r *http.Request) bool {
		if !some(n.Add(1)) {
			return false
		}
		limited(after).ServeHTTP(w, r)
		return true
	})
}

// failsListing fails at the tags that an inventory lists: first with the statuses, then always with 500.
func (g *Registry) failsListing(statuses ...int) {
	var n atomic.Int32
	g.content(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/tags/list") || r.URL.Query().Get("n") != "100" {
			return false
		}
		if i := int(n.Add(1)); i <= len(statuses) && statuses[i-1] == http.StatusTooManyRequests {
			limited("1").ServeHTTP(w, r)
		} else {
			http.Error(w, "the storage is away", http.StatusInternalServerError)
		}
		return true
	})
}

// breaksListing fails at the manifests of a repository, of all for "".
func (g *Registry) breaksListing(repository string) {
	g.content(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, repository+"/manifests/") {
			return false
		}
		http.Error(w, "the storage is away", http.StatusBadGateway)
		return true
	})
}

// buildWrongDigests returns wrong digests: of a manifest, and in an index.
func buildWrongDigests(g *Registry) {
	index := `{"schemaVersion":2,"manifests":[{"mediaType":"` + manifestType + `","digest":"sha256:` +
		strings.Repeat("0", 64) + `","size":1}]}`
	true1 := g.tree.repositories["charts/nginx"]
	g.content(func(w http.ResponseWriter, r *http.Request) bool {
		_, reference, isManifest := strings.Cut(r.URL.Path, "charts/nginx/manifests/")
		switch {
		case !isManifest:
			return false
		case reference == "1.2.3":
			w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("f", 64))
			_, _ = w.Write(true1.manifests[true1.tags["1.2.3"]])
		case strings.HasPrefix(reference, "sha256:"):
			_, _ = w.Write(true1.manifests[true1.tags["1.2.3"]])
		default:
			_, _ = w.Write([]byte(index))
		}
		return true
	})
}

// buildListingOtherPorts redirects each manifest to another port of a host without listeners.
func buildListingOtherPorts(g *Registry) {
	many := &repository{tags: map[string]string{}}
	for i := range 40 {
		many.tags[fmt.Sprintf("t%02d", i)] = ""
	}
	g.tree = &tree{map[string]*repository{"charts/nginx": many}}
	var n atomic.Int32
	g.content(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/manifests/") {
			http.Redirect(w, r, fmt.Sprintf("https://closed.test:%d/", 20000+n.Add(1)), http.StatusTemporaryRedirect)
			return true
		}
		return false
	})
}

// buildTokenExpires takes each token for three requests only.
func buildTokenExpires(g *Registry) {
	used := map[string]*atomic.Int32{}
	s := g.tokenRegistry("/token", "registry.test")
	inner := s.admit
	s.admit = func(v *visit) bool {
		text := bearerText(v.r)
		g.mints.mu.Lock()
		if used[text] == nil {
			used[text] = new(atomic.Int32)
		}
		if text != "" && used[text].Add(1) > 3 {
			delete(g.mints.given, text)
		}
		g.mints.mu.Unlock()
		return inner(v)
	}
	g.at(withPath("/token", &tokenService{g: g, post: true}, s))
}

// buildHeldListing responds to requests for the second repository only after Release.
func buildHeldListing(g *Registry) {
	g.content(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/v2/charts/redis/") {
			select {
			case <-g.held:
			case <-r.Context().Done():
			case <-g.done:
			}
		}
		return false
	})
}

// Release has "listing-held" respond to all requests, and "index-cleaned" lose its manifests without a tag.
func (g *Registry) Release() { close(g.held) }
