package regchecktest

import (
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Outbound proxies, in front of an htpasswd registry. Each listens at ProxyURL.

func proxyServers() map[string]builder {
	refuse := func(code int, more http.Header) builder {
		return func(g *Registry) {
			g.behindProxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				maps.Copy(w.Header(), more)
				http.Error(w, http.StatusText(code), code)
			}))
		}
	}
	return map[string]builder{
		"proxy": func(g *Registry) {
			g.behindProxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.tunnel(w, r) }))
		},
		// The name is another address for the proxy, without a listener.
		"proxy-other-dns": func(g *Registry) {
			g.behindProxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if host, port, _ := net.SplitHostPort(r.Host); !isAddress(host) {
					r.Host = net.JoinHostPort("169.254.169.254", port)
				}
				g.tunnel(w, r)
			}))
		},
		"proxy-names-only": func(g *Registry) {
			g.behindProxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if host, _, _ := net.SplitHostPort(r.Host); isAddress(host) {
					http.Error(w, "no addresses", http.StatusForbidden)
					return
				}
				g.tunnel(w, r)
			}))
		},
		"proxy-no-realm": func(g *Registry) {
			g.start(&site{host: "proxy.test:3128", handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				host, _, _ := net.SplitHostPort(r.Host)
				if host == "auth.test" || host == g.named["auth.test"].addresses[0].String() {
					http.Error(w, "not allowed", http.StatusForbidden)
					return
				}
				g.tunnel(w, r)
			})})
			g.tokenHost(&tokenService{g: g, post: true})
			g.at(g.tokenRegistry("https://auth.test/token", "registry.test"))
		},
		"proxy-407": refuse(http.StatusProxyAuthRequired, http.Header{"Proxy-Authenticate": {`Basic realm="proxy"`}}),
		"proxy-403": refuse(http.StatusForbidden, nil),
		"proxy-502": refuse(http.StatusBadGateway, nil),
		"proxy-silent": func(g *Registry) {
			g.behindProxy(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { g.pause(r, time.Minute) }))
		},
	}
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func (g *Registry) behindProxy(proxy http.Handler) {
	g.start(&site{host: "proxy.test:3128", handler: proxy})
	g.start(&site{host: "plain.test:80", handler: g.htpasswdRegistry("Registry Realm"), trusted: true})
	g.at(g.htpasswdRegistry("Registry Realm"))
}

// ProxyURL is the outbound proxy of the test networks that have one.
func (g *Registry) ProxyURL() *url.URL { return &url.URL{Scheme: "http", Host: "proxy.test:3128"} }

// tunnel serves CONNECT, to names and to addresses.
func (g *Registry) tunnel(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		g.forward(w, r)
		return
	}
	far, err := g.reach(r)
	if err != nil {
		http.Error(w, "cannot reach it", http.StatusBadGateway)
		return
	}
	near, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		_ = far.Close()
		return
	}
	defer g.keep(near)()
	defer g.keep(far)()
	write(near, "HTTP/1.1 200 Connection established\r\n\r\n")
	over := make(chan struct{}, 2)
	for _, way := range []struct {
		to   net.Conn
		from io.Reader
	}{{far, buffered}, {near, far}} {
		g.work.Go(func() {
			_, _ = io.Copy(way.to, way.from)
			over <- struct{}{}
		})
	}
	<-over
}

// forward serves a request in absolute form, as proxies do for plain http.
func (g *Registry) forward(w http.ResponseWriter, r *http.Request) {
	for _, s := range g.sites {
		if s.host == r.Host+":80" || s.host == r.Host {
			s.handler.ServeHTTP(w, r)
			return
		}
	}
	http.Error(w, "cannot reach it", http.StatusBadGateway)
}

// reach connects as the machine of the proxy would; this is not a dial of the client.
func (g *Registry) reach(r *http.Request) (net.Conn, error) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	known := g.named[host]
	g.mu.Unlock()
	if len(known.addresses) > 0 {
		host = known.addresses[0].String()
	}
	for target, s := range g.sites {
		if target.String() == net.JoinHostPort(host, port) {
			return net.Dial("tcp", s.real)
		}
	}
	return nil, &net.AddrError{Err: "unknown to the proxy", Addr: r.Host}
}
