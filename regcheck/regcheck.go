// Package regcheck checks whether an OCI registry definition is valid by really using the registry. If it is not valid, the
// report has the stage that failed, the field to correct and how to fix it.
//
// Parse parses a definition and lists its problems. A Checker runs the stages resolve, egress, connect, tls, api, (for clouds) credentials,
// auth, content. The first failure decides. The result is a Report; an error means that the check was canceled.
//
// The package implements the protocol itself, on net/http, because a validator must see every hop: it follows no redirect
// without checking it, sends no secret to another origin, does not guess the scheme and dials only addresses that the egress
// policy allows. It keeps no state between checks and writes no log: an Observer sees each stage as it ends.
package regcheck

import (
	"cmp"
	"context"
	"crypto/x509"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/egress"
)

// Checker checks definitions. The zero value works: the system's resolver, dialer and roots, the
// zero egress policy, the real clock and the limits of Limits. It is safe for concurrent use.
type Checker struct {
	Resolver egress.Resolver
	Dialer   egress.Dialer
	Egress   egress.Policy
	Roots    *x509.CertPool // nil: the system's
	Now      func() time.Time
	Limits   Limits

	// SkipControl omits the control request with random credentials, which shows whether a registry checks credentials.
	SkipControl bool
	// Platform is what is examined of an index, as os/architecture or os/architecture/variant. If it is empty, that is linux/amd64, or
	// the first one of an index that does not have it.
	Platform string
	// Full downloads the blobs of the examined artifact, within Limits.Download and Limits.DownloadTime, and compares their
	// digests; otherwise they are only asked for. Progress, which may be nil, is called during that, by one goroutine at a time,
	// with bytes.
	Full     bool
	Progress func(done, total int64)
	// Proxy names the outbound HTTP proxy for a target, much as http.Transport.Proxy does; it is asked once for
	// each origin. Nil means none, also if the environment has one; so does a nil URL.
	Proxy        func(target *url.URL) (*url.URL, error)
	ProxyConnect egress.ProxyConnect // what the proxy is asked to connect to
	// Obtained remembers the credentials of definitions whose credentials are obtained; nil obtains them in each check.
	Obtained *CredentialCache
	Ambient  *Ambient // what definitions may use of the process; nil: nothing
	// Header is sent with every request, so that a server recognizes a check that was redirected to it.
	Header   map[string]string
	Audience Audience // who reads the report
}

// Limits limit what a check takes from a registry; zero fields mean the defaults.
type Limits struct {
	Total     time.Duration // 30 s
	Resolve   time.Duration // 3 s
	Connect   time.Duration // 5 s
	TLS       time.Duration // 5 s
	Response  time.Duration // 10 s to the end of a response
	Header    int64         // 64 KiB
	Body      int64         // 1 MiB
	Redirects int           // 3

	Download     int64         // 16 GiB, of all blobs of an artifact
	DownloadTime time.Duration // 15 min, added to Total
}

func (l Limits) withDefaults() Limits {
	l.Total = cmp.Or(l.Total, 30*time.Second)
	l.Resolve = cmp.Or(l.Resolve, 3*time.Second)
	l.Connect = cmp.Or(l.Connect, 5*time.Second)
	l.TLS = cmp.Or(l.TLS, 5*time.Second)
	l.Response = cmp.Or(l.Response, 10*time.Second)
	l.Header = cmp.Or(l.Header, 64<<10)
	l.Body = cmp.Or(l.Body, 1<<20)
	l.Redirects = cmp.Or(l.Redirects, 3)
	l.Download = cmp.Or(l.Download, 16<<30)
	l.DownloadTime = cmp.Or(l.DownloadTime, 15*time.Minute)
	return l
}

// Observer is called for each stage as it ends, in order, from the goroutine that called Check. It is not called for a stage
// in which ctx ended: that stage has no outcome.
type Observer func(StageResult)

// Check checks a definition that Parse has parsed. The result is in the Report. The error is that of ctx if the caller canceled it.
func (c *Checker) Check(ctx context.Context, p *Plan, o Observer) (*Report, error) {
	return c.Recheck(ctx, p, Known{}, o)
}
