package regcheck

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"strings"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// subject is what every stage has: how to send requests, how to explain errors, and where to note warnings. Stages get and pass on
// values: a redirect of the API changes the Base of later stages.
type subject struct {
	explainer
	now      func() time.Time
	unlikely string // the random name of a repository
	*transcript
}

func newSubject(c *Checker, p *Plan) subject {
	limits := c.Limits.withDefaults()
	if c.Full {
		limits.Total += limits.DownloadTime
	}
	now := c.Now
	if now == nil {
		now = time.Now
	}
	name := c.Audience.ProgramName()
	tokens := challenge.Client{Wire: wire.New(c.connections(p, limits, now)), Name: name, Home: p.base.Origin}
	client := content.Client{Client: tokens, Base: p.base, Login: p.login.ForTokens(), Limit: limits.Body, Now: now}
	for _, login := range p.login.Authorizations() { // a registry may know them before they are sent
		client.Wire.Sent.Add(login)
	}
	s := subject{explainer: explainer{client, p, limits, c.Audience}, now: now, transcript: &transcript{}}
	s.unlikely = s.randomName()
	s.warnOfDefinition()
	return s
}

// connections returns what the connections of a check need.
func (c *Checker) connections(p *Plan, l Limits, now func() time.Time) wire.Config {
	header := map[string]string{"User-Agent": c.Audience.ProgramName()}
	maps.Copy(header, c.Header)
	path := p.endpointPath
	if path != "" {
		path = "/" + path
	}
	return wire.Config{
		Guard: &egress.Guard{Policy: c.Egress, Resolver: c.Resolver, Dialer: c.Dialer, Proxy: c.Proxy, ProxyConnect: c.ProxyConnect,
			Roots: c.Roots, Now: now},
		Visible: p.visible(), Header: header, Now: now, Home: p.base.Origin, HomePath: path,
		Limits: wire.Limits{Resolve: l.Resolve, Connect: l.Connect, Handshake: l.TLS, Response: l.Response, Header: l.Header, Body: l.Body,
			Redirects: l.Redirects},
		Roots: c.Roots, Extra: p.tls.Roots, ClientCert: p.tls.Client, SkipVerify: p.tls.SkipVerify,
	}
}

// warnOfDefinition warns of fields that have no effect.
func (s subject) warnOfDefinition() {
	for _, p := range s.plan.unknown {
		s.warnAt(WarnUnknownField, p.Field, "%s %s", p.Field, p.Problem)
	}
	if ignored := s.plan.tls.Ignored; len(ignored) > 0 {
		s.warn(WarnTLSSettingsIgnored, "Without effect: %s.", strings.Join(ignored, ", "))
	}
}

// randomName returns a name that does not exist.
func (s subject) randomName() string { return s.reader.ProgramName() + "-" + random() }

func random() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
	return hex.EncodeToString(raw[:])
}
