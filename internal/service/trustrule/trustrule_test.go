package trustrule

import "testing"

func TestConditions(t *testing.T) {
	for name, row := range map[string]struct {
		claim any
		value string
		meets bool
	}{
		"the value":               {"acme/app", "acme/app", true},
		"another case":            {"Acme/app", "acme/app", false},
		"a longer value":          {"acme/app2", "acme/app", false},
		"a prefix":                {"acme/app", "acme/*", true},
		"a prefix alone":          {"acme/", "acme/*", false},
		"a name that begins so":   {"acme-evil/app", "acme/*", false},
		"a true value":            {true, "true", true},
		"a false value":           {false, "true", false},
		"a number":                {float64(1234), "1234", true},
		"a large number":          {float64(123456789012), "123456789012", true},
		"one of a list":           {[]any{"a", "b"}, "b", true},
		"none of a list":          {[]any{"a", "b"}, "c", false},
		"a list in a list":        {[]any{[]any{"b"}}, "b", false},
		"an object":               {map[string]any{"b": "b"}, "b", false},
		"nothing":                 {nil, "", false},
		"another form of Unicode": {"caf\u00e9", "cafe\u0301", false},
	} {
		unmet := Conditions{"claim": row.value}.Unmet(map[string]any{"claim": row.claim})
		if (unmet == "") != row.meets {
			t.Errorf("%s: %q", name, unmet)
		}
	}
}

func TestProblemsOfConditions(t *testing.T) {
	const github, gitlab, own = "https://token.actions.githubusercontent.com", "https://gitlab.com", "https://issuer.example.com"
	for _, row := range []struct {
		issuer string
		c      Conditions
		fine   bool
	}{
		{own, nil, false},
		{own, Conditions{"sub": ""}, false},
		{own, Conditions{"": "x"}, false},
		{own, Conditions{"sub": "*"}, false},
		{own, Conditions{"sub": "acme*"}, false},
		{own, Conditions{"sub": "a*c/*"}, false},
		{own, Conditions{"sub": "acme/*"}, true},
		{own, Conditions{"email": "x"}, true},
		{github, Conditions{"ref": "refs/heads/main"}, false},
		{github, Conditions{"sub": "repo:*"}, false},
		{github, Conditions{"sub": "repo:/*"}, false},
		{github, Conditions{"sub": "repo:acme/*"}, true},
		{github, Conditions{"sub": "environment:production"}, false},
		{github, Conditions{"sub": "repository_owner:*"}, false},
		{github, Conditions{"sub": "environment:production", "repository": "acme/app"}, true},
		{github, Conditions{"repository": "acme/app"}, true},
		{github, Conditions{"repository_owner_id": "7"}, true},
		{github + "/", Conditions{"workflow": "ci"}, false},
		{gitlab, Conditions{"ref": "main"}, false},
		{gitlab, Conditions{"sub": "project_path:*"}, false},
		{gitlab, Conditions{"sub": "project_path:acme/*"}, true},
		{gitlab, Conditions{"project_id": "20"}, true},
		{"https://agent.buildkite.com", Conditions{"pipeline_slug": "app", "sub": "organization:*"}, false},
		{"https://agent.buildkite.com", Conditions{"organization_slug": "acme"}, true},
		{"https://app.terraform.io", Conditions{"terraform_run_phase": "apply"}, false},
		{"https://app.terraform.io", Conditions{"sub": "organization:acme:*"}, true},
		{"https://accounts.google.com", Conditions{"email_verified": "true"}, false},
		{"https://accounts.google.com", Conditions{"email": "ci@acme.iam.gserviceaccount.com"}, true},
	} {
		if problem := row.c.Problem(row.issuer); (problem == "") != row.fine {
			t.Errorf("%v of %s: %q", row.c, row.issuer, problem)
		}
	}
}

func TestProblemsOfIssuers(t *testing.T) {
	for issuer, fine := range map[string]bool{
		"": false, "http://issuer.example.com": false, "issuer.example.com": false, "https://": false, "https://a@b.example": false,
		"https://a.example?x=1": false, "https://a.example#x": false, "https:a.example": false, "https://a.example": true,
		"https://a.example/tenant/v2.0": true, "https://a.example:8443/": true,
	} {
		if problem := IssuerProblem(issuer); (problem == "") != fine {
			t.Errorf("%s: %q", issuer, problem)
		}
	}
}

func TestProblemsOfKeys(t *testing.T) {
	const key = `{"kty":"OKP","crv":"Ed25519","kid":"1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"`
	for text, fine := range map[string]bool{
		"": true, `{"keys":[` + key + `}]}`: true, `{"keys":[` + key + `,"use":"enc"}]}`: false, `{"keys":[]}`: false, "x": false,
		`{"keys":[` + key + `,"d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}]}`: false,
		`{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`:                                   false,
	} {
		if problem := KeysProblem(text); (problem == "") != fine {
			t.Errorf("%s: %q", text, problem)
		}
	}
}
