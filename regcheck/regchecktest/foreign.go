package regchecktest

import (
	"net/http"
	"strings"
)

// Servers that are not an OCI registry, not at this path, or unavailable.

const portalPage = `<!DOCTYPE html><html><head><title>Guest Wi-Fi: please log in</title></head><body><form ` +
	`action="/login"></form></body></html>`

func foreignServers() map[string]builder {
	all := map[string]builder{}
	for name, handler := range foreignResponses {
		all[name] = func(g *Registry) { g.at(handler) }
	}
	all["captive-portal-redirect"] = func(g *Registry) {
		config := g.tls(leaf{names: []string{"login.test"}})
		g.start(&site{host: "login.test:443", tls: config, handler: page200("text/html", portalPage)})
		g.at(http.RedirectHandler("https://login.test/portal", http.StatusFound))
	}
	all["search-engine-behind-basic"] = func(g *Registry) {
		page := page200("application/json", `{"name":"es-node-1","cluster_name":"logs","tagline":"You Know, for Search"}`)
		g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, _, good := basicCaller(r); !good {
				(&visit{w: w, r: r}).challenge(`Basic realm="security"`)
				return
			}
			page.ServeHTTP(w, r)
		}))
	}
	all["page-behind-basic"] = func(g *Registry) { g.at(behindBasic(page200("text/html", portalPage))) }
	all["https-on-http-port-go"] = func(g *Registry) {
		g.Endpoint = "http://registry.test:8443"
		g.start(&site{host: "registry.test:8443", tls: g.tls(leaf{}), handler: g.openRegistry(), endpoint: true})
	}
	all["https-on-http-port-nginx"] = func(g *Registry) {
		g.plainAt(status(400, "text/html",
			"<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n<body>\r\n<center><h1>400 Bad "+
				"Request</h1></center>\r\n<center>The plain HTTP request was sent to HTTPS "+
				"port</center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"))
	}
	return all
}

// behindBasic requires Basic for each path, as nginx does with auth_basic.
func behindBasic(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, good := basicCaller(r); !good {
			w.Header().Set("WWW-Authenticate", `Basic realm="Restricted"`)
			(&visit{w: w, r: r}).send(http.StatusUnauthorized, "text/html", nginxPage("401 Authorization Required"))
			return
		}
		inner.ServeHTTP(w, r)
	})
}

func page200(kind, body string) http.Handler { return status(http.StatusOK, kind, body) }

func status(code int, kind, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(&visit{w: w, r: r}).send(code, kind, body)
	})
}

func limited(retryAfter string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", retryAfter)
		(&visit{w: w, r: r}).send(http.StatusTooManyRequests, "text/plain", "Too Many Requests (HAP429).\n\n")
	})
}

// classicHelm is a chart repository of Helm 2: an index file, and nothing else.
func classicHelm(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/index.yaml" {
		(&visit{w: w, r: r}).send(200, "text/yaml",
			"apiVersion: v1\nentries:\n  nginx:\n  - name: nginx\n    version: 1.2.3\n    urls: [nginx-1.2.3.tgz]\ngenerated: "+
				"\"2026-01-01T00:00:00Z\"\n")
		return
	}
	http.NotFound(w, r)
}

// search returns JSON for every path, as search engines do (harbor#7576).
func search(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v2/" || r.URL.Path == "/" {
		(&visit{w: w, r: r}).send(200, "application/json",
			`{"name":"node-1","cluster_name":"logs","version":{"number":"8.1.0"},"tagline":"You Know, for Search"}`)
		return
	}
	(&visit{w: w, r: r}).send(404, "application/json", `{"error":{"type":"index_not_found_exception"},"status":404}`)
}

var foreignResponses = map[string]http.Handler{
	"captive-portal": page200("text/html; charset=utf-8", portalPage),
	"captive-hostile": page200("text/html",
		"<html><head><title>\x1b]0;owned\x07 \u202eevil\u2066 "+strings.Repeat("long ", 200)+"</title></head></html>"),
	"captive-no-type":    page200("", "  \n"+portalPage),
	"catch-all":          page200("application/json", "{}"),
	"catch-all-empty":    page200("", ""),
	"catch-all-text":     page200("text/plain", "OK"),
	"foreign-json":       http.HandlerFunc(search),
	"foreign-json-array": page200("application/json", `[{"id":1}]`),
	"classic-helm":       http.HandlerFunc(classicHelm),
	"not-found-text":     http.NotFoundHandler(),
	"not-found-html":     status(404, "text/html", "<html><head><title>404 Not Found</title></head><body>nginx</body></html>"),
	"not-found-json":     status(404, "application/json", `{"message":"no Route matched with those values"}`),
	"forbidden-all": status(403, "application/json",
		`{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}`),
	"forbidden-html":  status(403, "text/html", "<html><head><title>403 Forbidden</title></head></html>"),
	"error-500":       status(500, "application/json", `{"errors":[{"code":"UNKNOWN","message":"unknown error"}]}`),
	"error-502":       status(502, "text/html", "<html><head><title>502 Bad Gateway</title></head></html>"),
	"error-503":       status(503, "text/plain", "no healthy upstream"),
	"limited-seconds": limited("17"),
	"toomanyrequests": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(&visit{w: w, r: r}).fail(http.StatusTooManyRequests, "TOOMANYREQUESTS",
			"You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit")
	}),
	"limited-date": limited("Fri, 31 Dec 2999 23:59:59 GMT"),
	"teapot":       status(418, "text/plain", "short and stout"),
	"gone":         status(410, "text/plain", "gone"),
	"hostile-text": status(404, "application/json",
		`{"errors":[{"code":"NAME_UNKNOWN","message":"\u001b[2J\u001b]0;owned\u0007 \u202eevil\u202c `+strings.Repeat("x", 2000)+`"}]}`),
}
