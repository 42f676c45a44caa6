package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

// The stages before any registry speaks.
func TestResolveEgressConnect(t *testing.T) {
	open := realregistry.Distribution(t, realregistry.Options{})
	port := open.Endpoint[strings.LastIndex(open.Endpoint, ":"):]
	tests := []struct {
		name, endpoint string
		want           want
	}{
		{"resolves", "http://localhost" + port, valid},
		// Go asks no server for names below .onion (RFC 7686), so this leaves no packet.
		{"does not resolve", "http://registry.onion",
			want{code: regcheck.CodeHostNotFound, stage: regcheck.StageResolve, field: "endpoint"}},
		{"forbidden address", "http://169.254.169.254",
			want{code: regcheck.CodeAddressForbidden, stage: regcheck.StageEgress, field: "endpoint"}},
		{"forbidden address in IPv6 dress", "http://[::ffff:169.254.169.254]",
			want{code: regcheck.CodeAddressForbidden, stage: regcheck.StageEgress, field: "endpoint"}},
		{"connects", open.Endpoint, valid},
		{"nothing listens", "http://" + testport.Unused(t),
			want{code: regcheck.CodeUnreachable, stage: regcheck.StageConnect, field: "endpoint"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, check(t, regcheck.Definition{Endpoint: tt.endpoint, Auth: noAuth()}), tt.want)
		})
	}
}

func TestTLS(t *testing.T) {
	ca := testca.New(t, "registry authority")
	middle := ca.Intermediate(t, "intermediate authority")
	serving := func(pair testca.Pair) realregistry.Access {
		return realregistry.Distribution(t, realregistry.Options{CA: ca, Serve: &pair})
	}
	failed := func(reason regcheck.Reason, field string) want {
		return want{code: regcheck.CodeTLSFailed, reason: reason, stage: regcheck.StageTLS, field: field}
	}
	now := time.Now()
	good := serving(ca.Issue(t, testca.Options{}))
	skip := noAuth()
	skip.TLS.Enabled, skip.TLS.InsecureSkipVerify = true, true
	own := ca.Issue(t, testca.Options{})
	pinned := noAuth()
	pinned.TLS.Enabled, pinned.TLS.Certificate = true, own.Certificate
	off := trusting(noAuth(), ca.PEM())
	off.TLS.Enabled = false
	tests := []struct {
		name     string
		endpoint string
		auth     *regcheck.Auth
		want     want
	}{
		{"trusted", good.Endpoint, trusting(noAuth(), ca.PEM()), valid},
		{"through an intermediate", serving(middle.Issue(t, testca.Options{})).Endpoint, trusting(noAuth(), ca.PEM()), valid},
		{"intermediate in the bundle", serving(middle.Issue(t, testca.Options{})).Endpoint, trusting(noAuth(), middle.PEM()), valid},
		{"certificate without key is trusted", serving(own).Endpoint, pinned, valid},
		{"unverified", good.Endpoint, skip, want{warnings: []regcheck.WarningCode{regcheck.WarnInsecureSkipVerify}}},
		{"expires soon", serving(ca.Issue(t, testca.Options{NotAfter: now.Add(72 * time.Hour)})).Endpoint, trusting(noAuth(), ca.PEM()),
			want{warnings: []regcheck.WarningCode{regcheck.WarnCertificateExpiresSoon}}},
		{"unknown authority", good.Endpoint, noAuth(), failed(regcheck.ReasonUnknownAuthority, "auth.tls.ca")},
		{"ca that is not enabled", good.Endpoint, off,
			want{code: regcheck.CodeTLSFailed, stage: regcheck.StageTLS, reason: regcheck.ReasonUnknownAuthority,
				field: "auth.tls.ca", warnings: []regcheck.WarningCode{regcheck.WarnTLSSettingsIgnored}}},
		{"another authority", good.Endpoint, trusting(noAuth(), testca.New(t, "other").PEM()),
			failed(regcheck.ReasonUnknownAuthority, "auth.tls.ca")},
		{"self-signed", serving(testca.SelfSigned(t)).Endpoint, noAuth(), failed(regcheck.ReasonSelfSigned, "auth.tls.ca")},
		{"expired", serving(ca.Issue(t, testca.Options{NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-24 * time.Hour)})).Endpoint,
			trusting(noAuth(), ca.PEM()),
			failed(regcheck.ReasonExpired, "")},
		{"not yet valid", serving(ca.Issue(t, testca.Options{NotBefore: now.Add(24 * time.Hour)})).Endpoint, trusting(noAuth(), ca.PEM()),
			failed(regcheck.ReasonNotYetValid, "")},
		{"another name", serving(ca.Issue(t, testca.Options{Hosts: []string{"registry.example"}})).Endpoint, trusting(noAuth(), ca.PEM()),
			failed(regcheck.ReasonHostnameMismatch, "endpoint")},
		{"no TLS there", "https://" + realregistry.Distribution(t, realregistry.Options{}).Host(), noAuth(),
			failed(regcheck.ReasonNotTLS, "endpoint")},
		{"http to TLS", "http://" + good.Host(), noAuth(),
			want{code: regcheck.CodeNotOCI, reason: regcheck.ReasonHTTPSRequired, stage: regcheck.StageAPI, field: "endpoint"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, check(t, regcheck.Definition{Endpoint: tt.endpoint, Auth: tt.auth}), tt.want)
		})
	}
}

// Debian's nginx before Debian's docker-registry: client certificates, a path, passwords of its own.
func TestNginx(t *testing.T) {
	ca, clients := testca.New(t, "nginx authority"), testca.New(t, "client authority")
	open := realregistry.DockerRegistry(t, nil)
	realregistry.Fill(t, open)
	client := clients.Issue(t, testca.Options{Name: "robot", Client: true})
	other := testca.New(t, "other").Issue(t, testca.Options{Name: "robot", Client: true})

	t.Run("client certificates", func(t *testing.T) {
		registry := realregistry.Nginx(t, open, realregistry.Front{CA: ca, ClientCA: clients})
		good := showing(trusting(noAuth(), ca.PEM()), client)
		rows := append(contentRows(good), absentRow(good),
			row{"right certificate", good, "", "", valid},
			row{"none", trusting(noAuth(), ca.PEM()), "", "",
				want{code: regcheck.CodeTLSFailed, reason: regcheck.ReasonClientCertificateRequired,
					stage: regcheck.StageTLS, field: "auth.tls.certificate"}},
			row{"of another authority", showing(trusting(noAuth(), ca.PEM()), other), "", "", want{code: regcheck.CodeTLSFailed,
				reason: regcheck.ReasonClientCertificateRejected, stage: regcheck.StageTLS, field: "auth.tls.certificate"}},
		)
		runRows(t, registry, rows)
	})
	t.Run("below a path", func(t *testing.T) {
		registry := realregistry.Nginx(t, open, realregistry.Front{CA: ca, Path: "/some/path"})
		good := trusting(noAuth(), ca.PEM())
		runRows(t, registry, append(contentRows(good), absentRow(good), row{"path in the endpoint", good, "", "", valid}))
		for name, d := range map[string]regcheck.Definition{
			"basePath":              {Endpoint: "https://" + registry.Host(), BasePath: "/some/path", Auth: good},
			"basePath with slashes": {Endpoint: "https://" + registry.Host(), BasePath: "some/path/", Auth: good},
			"basePath with v2":      {Endpoint: "https://" + registry.Host(), BasePath: "/some/path/v2/", Auth: good},
			"endpoint with v2":      {Endpoint: registry.Endpoint + "/v2", Auth: good},
		} {
			t.Run(name, func(t *testing.T) { compare(t, check(t, d), valid) })
		}
		report := check(t, regcheck.Definition{Endpoint: "https://" + registry.Host(), Auth: good})
		if report.Valid || report.Code != regcheck.CodeNotOCI || report.Stage != regcheck.StageAPI {
			t.Errorf("without the path: %s at %s, want RegistryNotOCI at api", report.Code, report.Stage)
		}
	})
	// A request that a closing HTTP/2 server did not take is not a response (RFC 9113 section 6.8).
	t.Run("HTTP/2 closed after each request", func(t *testing.T) {
		registry := realregistry.Nginx(t, open, realregistry.Front{CA: ca, Users: users, OneEach: true})
		good := row{"right password", trusting(basic(user, password), ca.PEM()), realregistry.ChartPath, "", valid}
		runRows(t, registry, []row{good, good, good, good, good, good,
			{"wrong password", trusting(basic(user, "wrong"), ca.PEM()), realregistry.ChartPath, "", refusedPassword()}})
	})
	t.Run("passwords", func(t *testing.T) {
		registry := realregistry.Nginx(t, open, realregistry.Front{CA: ca, Users: users})
		runRows(t, registry, []row{
			{"right password", trusting(basic(user, password), ca.PEM()), realregistry.ChartPath, "", valid},
			{"wrong password", trusting(basic(user, "wrong"), ca.PEM()), realregistry.ChartPath, "", refusedPassword()},
			{"anonymous", trusting(noAuth(), ca.PEM()), "", "", wanted()},
		})
	})
}
