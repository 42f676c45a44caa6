package regchecktest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Servers that hurt clients without bounds. All of them stop when their client goes away.

func hostileServers() map[string]builder {
	all := map[string]builder{}
	for name, speak := range hijackers {
		all[name] = func(g *Registry) { g.at(g.hijack(speak)) }
	}
	for name, speak := range rawSpeakers {
		all[name] = func(g *Registry) {
			g.start(&site{host: "registry.test:443", endpoint: true, raw: func(c net.Conn) { speak(g, c) }})
		}
		all[name+"-http"] = func(g *Registry) {
			g.Endpoint = "http://registry.test"
			g.start(&site{host: "registry.test:80", endpoint: true, raw: func(c net.Conn) { speak(g, c) }})
		}
	}
	all["endless-body"] = func(g *Registry) {
		g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.endless(w, r, `{"errors":[`) }))
	}
	all["gzip-bomb"] = func(g *Registry) { g.at(gzipBomb()) }
	all["slow"] = func(g *Registry) {
		g.at(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			g.pause(r, time.Minute)
			panic(http.ErrAbortHandler) // over HTTP/2, a client that has given up could still see a response of 200
		}))
	}
	all["endless-tags"] = buildEndlessTags
	all["slow-tags"] = buildSlowTags
	all["cut-tags"] = buildCutTags
	return all
}

// endless writes a body until the client has enough.
func (g *Registry) endless(w http.ResponseWriter, r *http.Request, begin string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, err := fmt.Fprint(w, begin)
	chunk := bytes.Repeat([]byte("a"), 32<<10)
	for err == nil && r.Context().Err() == nil {
		select {
		case <-g.done:
			return
		default:
			_, err = w.Write(chunk)
		}
	}
}

// gzipBomb returns 64 MiB of zeros in about 64 KiB, whatever the client accepts. The parts are compressed in advance, so that the
// test server has no work.
func gzipBomb() http.Handler {
	var part bytes.Buffer
	w := gzip.NewWriter(&part)
	_, _ = w.Write(make([]byte, 1<<20)) // never fails (bytes.Buffer)
	_ = w.Close()
	packed := bytes.Repeat(part.Bytes(), 64) // RFC 1952 section 2.2: the parts unpack to one text
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(packed) // the client may have had enough
	})
}

// hijack takes the connection over after the request was read and noted.
func (g *Registry) hijack(speak func(*Registry, net.Conn)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer g.keep(conn)()
		speak(g, conn)
	})
}

// repeat writes text every interval until the connection or the world ends.
func (g *Registry) repeat(conn net.Conn, text string, interval time.Duration) {
	for {
		if _, err := conn.Write([]byte(text)); err != nil {
			return
		}
		select {
		case <-g.done:
			return
		case <-time.After(interval):
		}
	}
}

func write(conn net.Conn, text string) { _, _ = conn.Write([]byte(text)) }

var hijackers = map[string]func(*Registry, net.Conn){
	"cut-status":      func(_ *Registry, c net.Conn) { write(c, "HTTP/1.1 2") },
	"cut-header":      func(_ *Registry, c net.Conn) { write(c, "HTTP/1.1 200 OK\r\nDocker-Distrib") },
	"cut-header-line": func(_ *Registry, c net.Conn) { write(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n") },
	"invalid-header":  func(_ *Registry, c net.Conn) { write(c, "HTTP/1.1 200 OK\r\nno colon\r\n\r\n{}") },
	"drip-headers": func(g *Registry, c net.Conn) {
		write(c, "HTTP/1.1 200 OK\r\nX-Slow: ")
		g.repeat(c, "a", 50*time.Millisecond)
	},
	"drip-body": func(g *Registry, c net.Conn) {
		write(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")
		g.repeat(c, " ", 50*time.Millisecond)
	},
	"endless-headers": func(g *Registry, c net.Conn) {
		write(c, "HTTP/1.1 200 OK\r\n")
		g.repeat(c, "X-More: "+strings.Repeat("a", 4000)+"\r\n", 0)
	},
	"flood-1xx": func(g *Registry, c net.Conn) {
		g.repeat(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", 0)
	},
	"big-header": func(_ *Registry, c net.Conn) {
		write(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Big: "+strings.Repeat("b", 200<<10)+"\r\n\r\n{}")
	},
	"cut-body": func(_ *Registry, c net.Conn) {
		write(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"a\":")
	},
	"close-without-response": func(*Registry, net.Conn) {},
	"garbage-response":       func(_ *Registry, c net.Conn) { write(c, "\x00\x01\x02 what is this\r\n\r\n") },
	"bad-length": func(_ *Registry, c net.Conn) {
		write(c, "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}")
	},
}

// rawSpeakers speak before or without TLS.
var rawSpeakers = map[string]func(*Registry, net.Conn){
	"accept-silent": func(g *Registry, c net.Conn) { drain(c) },
	"accept-close": func(_ *Registry, c net.Conn) { // unread bytes would turn the close into a reset
		_, _ = c.Read(make([]byte, 16<<10))
	},
	"accept-reset": func(_ *Registry, c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		reset(c)
	},
	"ssh-banner": func(_ *Registry, c net.Conn) {
		write(c, "SSH-2.0-OpenSSH_9.6\r\n")
		drain(c)
	},
}

// drain reads until the other end or the world closes.
func drain(c net.Conn) {
	r := bufio.NewReader(c)
	for {
		if _, err := r.Discard(1); err != nil {
			return
		}
	}
}

// buildEndlessTags is a good registry up to the content: its list of tags has no end.
func buildEndlessTags(g *Registry) {
	s := g.htpasswdRegistry("Registry Realm")
	s.tagsDenied = func(v *visit) bool {
		g.endless(v.w, v.r, `{"name":"charts/nginx","tags":["`)
		return true
	}
	g.at(s)
}

// buildCutTags announces a list of tags and ends the connection in the midst of it.
func buildCutTags(g *Registry) {
	s := g.htpasswdRegistry("Registry Realm")
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			s.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "200")
		_, _ = fmt.Fprint(w, `{"name":"charts/nginx","tags":["1.0.0"`)
		panic(http.ErrAbortHandler)
	}))
}

// buildSlowTags responds to requests for content only when the client has ended them.
func buildSlowTags(g *Registry) {
	s := g.htpasswdRegistry("Registry Realm")
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			g.pause(r, time.Minute)
			return
		}
		s.ServeHTTP(w, r)
	}))
}
