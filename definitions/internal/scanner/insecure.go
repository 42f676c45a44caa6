package scanner

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck"
)

// maxNetworks limits the networks with which every host is compared.
const maxNetworks = 100

// insecure are the registries to which docker's daemon may connect without TLS.
type insecure struct {
	hosts    map[string]bool
	networks []netip.Prefix
}

// Insecure adds an entry of the daemon's insecure-registries: a host with its port, or a network.
func (s *Scanner) Insecure(entry string) {
	if network, err := netip.ParsePrefix(entry); err == nil {
		if len(s.insecure.networks) < maxNetworks {
			s.insecure.networks = append(s.insecure.networks, network)
		}
		return
	}
	if s.insecure.hosts == nil {
		s.insecure.hosts = map[string]bool{}
	}
	s.insecure.hosts[strings.TrimPrefix(strings.TrimPrefix(entry, "https://"), "http://")] = true
}

// has compares as docker does. A name is not looked up.
func (i insecure) has(host string) bool {
	address, err := netip.ParseAddr(hostname(host))
	contains := func(n netip.Prefix) bool { return n.Contains(address.Unmap()) }
	return i.hosts[host] || err == nil && slices.ContainsFunc(i.networks, contains)
}

// isOfDaemon reports whether docker's daemon uses a registry. BuildKit has rules of its own, which its reader applies.
func isOfDaemon(r *model.Registry) bool {
	return r.Consumer == model.Docker && r.Format != model.Buildkitd
}

// ApplyInsecure makes what docker uses without TLS so, when all files were read.
func (s *Scanner) ApplyInsecure() {
	if s.insecure.hosts == nil && s.insecure.networks == nil {
		return
	}
	apply := func(r *model.Registry) {
		s.limits.check()
		host := HostOf(r.Definition.Endpoint)
		if isOfDaemon(r) && strings.HasPrefix(r.Definition.Endpoint, "https://") &&
			r.Definition.Auth.TLS == (regcheck.TLS{}) && s.insecure.has(host) {
			withoutTLS(r, "docker's insecure-registries has "+host+
				": docker verifies no certificate, and connects without TLS if the registry has none.")
		}
	}
	for _, r := range s.found {
		apply(r)
	}
	for i := range s.result.References {
		apply(&s.result.References[i])
	}
}

// localHost matches hosts for which go-containerregistry tries plain HTTP too.
var localHost = lazyregexp.New(`^localhost:|\.localhost(:\d{1,5})?$|^127\.0\.0\.1(:\d{1,5})?$|^\[::1\](:\d{1,5})?$`)

// IsLocal reports whether go-containerregistry tries plain HTTP for a host after TLS: the machine itself, and private IPv4
// addresses.
func IsLocal(host string) bool {
	address, err := netip.ParseAddr(hostname(host))
	return localHost.Get().MatchString(host) || err == nil && address.Is4() && address.IsPrivate()
}

// withoutTLS makes a registry one whose certificate is not verified, and that may have no TLS.
func withoutTLS(r *model.Registry, message string) {
	auth := *r.Definition.Auth
	auth.TLS = regcheck.TLS{Enabled: true, InsecureSkipVerify: true}
	r.Definition.Auth = &auth
	AddNotice(r, model.NoticePlainHTTPFallback, "%s", message)
}
