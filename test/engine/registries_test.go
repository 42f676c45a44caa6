package engine_test

import (
	"testing"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

var users = map[string]string{user: password}

const (
	inClear    = regcheck.WarnPlainHTTPCredentials
	notChecked = regcheck.WarnCredentialsNotChecked
	notProven  = regcheck.WarnAnonymousAccessNotProven
)

func TestOpenRegistries(t *testing.T) {
	for name, registry := range map[string]realregistry.Access{
		"distribution":    realregistry.Distribution(t, realregistry.Options{}),
		"docker-registry": realregistry.DockerRegistry(t, nil),
	} {
		t.Run(name, func(t *testing.T) {
			realregistry.Fill(t, registry)
			rows := append(contentRows(noAuth()), absentRow(noAuth()), halfNameRow(noAuth()),
				row{"anonymous", noAuth(), "", "", valid},
				row{"any user", basic(user, "any"), "", "", want{warnings: []regcheck.WarningCode{inClear, notChecked}}},
				row{"any token", token("any-token"), "", "", want{warnings: []regcheck.WarningCode{inClear, notChecked}}},
			)
			runRows(t, registry, rows)
		})
	}
}

func TestHtpasswdRegistries(t *testing.T) {
	ca := testca.New(t, "registry authority")
	for name, registry := range map[string]realregistry.Access{
		"distribution http":  realregistry.Distribution(t, realregistry.Options{Users: users}),
		"distribution https": realregistry.Distribution(t, realregistry.Options{Users: users, CA: ca}),
		"docker-registry":    realregistry.DockerRegistry(t, users),
	} {
		t.Run(name, func(t *testing.T) {
			realregistry.Fill(t, registry.As(user, password))
			var clear []regcheck.WarningCode
			if registry.CA == "" {
				clear = append(clear, inClear)
			}
			good := trusting(basic(user, password), registry.CA)
			rows := append(contentRows(good, clear...), absentRow(good, clear...), halfNameRow(good, clear...),
				row{"right password", good, "", "", want{warnings: clear}},
				row{"wrong password", trusting(basic(user, "wrong"), registry.CA), "", "", refusedPassword(clear...)},
				row{"wrong user", trusting(basic("unknown", password), registry.CA), "", "", refusedPassword(clear...)},
				row{"wrong password for content", trusting(basic(user, "wrong"), registry.CA), realregistry.ChartPath, "",
					refusedPassword(clear...)},
				row{"anonymous", trusting(noAuth(), registry.CA), "", "", wanted()},
				row{"anonymous for content", trusting(noAuth(), registry.CA), realregistry.ChartPath, "", wanted()},
				row{"token", trusting(token("some-token"), registry.CA), "", "",
					want{code: regcheck.CodeAuthFailed, reason: regcheck.ReasonRefused,
						stage: regcheck.StageAuth, field: "auth.token", warnings: clear}},
				row{"token as password", trusting(&regcheck.Auth{Type: regcheck.Token, Username: user, Token: password}, registry.CA), "",
					"", want{warnings: clear}},
			)
			runRows(t, registry, rows)
		})
	}
}

func TestTokenRegistries(t *testing.T) {
	ca := testca.New(t, "registry authority")
	for name, authority := range map[string]*testca.CA{"http": nil, "https": ca} {
		t.Run(name, func(t *testing.T) {
			server := realregistry.NewTokenServer(t, realregistry.TokenRules{Users: users, Identities: []string{identity}, CA: authority})
			registry := realregistry.Distribution(t, realregistry.Options{Token: server, CA: authority})
			realregistry.Fill(t, registry.As(user, password))
			other := realregistry.NewTokenServer(t, realregistry.TokenRules{})
			var clear []regcheck.WarningCode
			if authority == nil {
				clear = append(clear, inClear)
			}
			good := trusting(basic(user, password), registry.CA)
			badToken := want{code: regcheck.CodeAuthFailed, reason: regcheck.ReasonRefused, stage: regcheck.StageAuth,
				field: "auth.token", warnings: clear}
			rows := append(contentRows(good, clear...), absentRow(good, clear...),
				row{"right password", good, "", "", want{warnings: clear}},
				row{"wrong password", trusting(basic(user, "wrong"), registry.CA), "", "", refusedPassword(clear...)},
				row{"wrong password for content", trusting(basic(user, "wrong"), registry.CA), realregistry.ChartPath, "",
					refusedPassword(clear...)},
				row{"anonymous", trusting(noAuth(), registry.CA), "", "", wanted()},
				row{"anonymous for content", trusting(noAuth(), registry.CA), realregistry.ChartPath, "", wanted()},
				row{"registry token", trusting(token(server.Token(t)), registry.CA), "", "", want{warnings: clear}},
				row{"registry token with a right",
					trusting(token(server.Token(t, "repository:"+realregistry.ChartPath+":pull")), registry.CA), realregistry.ChartPath,
					"", want{warnings: clear}},
				row{"identity token", trusting(token(identity), registry.CA), "", "", want{warnings: clear}},
				row{"identity token for content", trusting(token(identity), registry.CA), realregistry.ChartPath,
					"", want{warnings: clear}},
				row{"another server's token", trusting(token(other.Token(t)), registry.CA), "", "", badToken},
				row{"no token at all", trusting(token("x"), registry.CA), "", "", badToken},
				row{"token as password", trusting(&regcheck.Auth{Type: regcheck.Token, Username: user, Token: password}, registry.CA), "",
					"", want{warnings: clear}},
			)
			runRows(t, registry, rows)
		})
	}
}

// Anonymous clients get tokens for public content, and for nothing else.
func TestPublicContent(t *testing.T) {
	server := realregistry.NewTokenServer(t, realregistry.TokenRules{Users: users, Public: "charts/"})
	registry := realregistry.Distribution(t, realregistry.Options{Token: server})
	realregistry.Fill(t, registry.As(user, password))
	runRows(t, registry, []row{
		{"public chart", noAuth(), realregistry.ChartPath, "", valid},
		{"private package", noAuth(), realregistry.ZarfPath, regcheck.Zarf, wanted()},
		{"nothing named", noAuth(), "", "", valid}, // a token without scope is issued anonymously, and gives access to /v2/
		{"wrong password", basic(user, "wrong"), realregistry.ChartPath, "",
			want{code: regcheck.CodeAuthFailed, reason: regcheck.ReasonAnonymousWorks,
				stage: regcheck.StageAuth, field: "auth.password", warnings: []regcheck.WarningCode{inClear}}},
	})
}

func TestTokenServiceFailures(t *testing.T) {
	ca, other := testca.New(t, "registry authority"), testca.New(t, "another authority")
	failed := func(reason regcheck.Reason, field string, warnings ...regcheck.WarningCode) want {
		return want{code: regcheck.CodeTokenServiceFailed, reason: reason, stage: regcheck.StageAuth, field: field, warnings: warnings}
	}
	tests := []struct {
		name   string
		server *realregistry.TokenServer
		ca     *testca.CA
		want   want
	}{
		{"gone", realregistry.NewTokenServer(t, realregistry.TokenRules{Gone: true}), nil,
			failed(regcheck.ReasonRealmUnreachable, "", inClear)},
		{"of an authority unknown to us", realregistry.NewTokenServer(t, realregistry.TokenRules{Users: users, CA: other}), ca,
			failed(regcheck.ReasonRealmTLS, "auth.tls.ca")},
		{"in clear below https", realregistry.NewTokenServer(t, realregistry.TokenRules{Users: users}), ca,
			failed(regcheck.ReasonRealmInsecure, "")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			registry := realregistry.Distribution(t, realregistry.Options{Token: tt.server, CA: tt.ca})
			report := check(t, regcheck.Definition{Endpoint: registry.Endpoint, Auth: trusting(basic(user, password), registry.CA)})
			compare(t, report, tt.want)
			if tt.want.reason == regcheck.ReasonRealmInsecure && len(tt.server.Requests()) != 0 {
				t.Errorf("the token server was asked in clear: %q", tt.server.Requests())
			}
		})
	}
}
