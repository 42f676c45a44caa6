package scanreport_test

import (
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// hostile is a text that a server or a file may have. It would begin workflow commands, links, HTML and table cells, and end elements,
// labels and strings, if it was written as it is.
const hostile = "a\x00b\x1b[31mred\x1b[0m \u202egnp.exe\u2029\r\n::error file=x::injected\n##[set-env]x %0A%25 </failure>]]><b>&amp;" +
	" | `code` [link](https://evil.test) ![i](x) @admin www.evil.test <script>alert(1)</script> \"quoted\" \\ {0} \xff end"

// result has every outcome, hostile texts in all fields that others choose, and a secret wherever there may be one.
func result() model.Result {
	r := model.Result{
		Registries: []model.Registry{
			{
				Sources: []model.Source{
					{File: "./apps/flux.yaml", Line: 12, Object: "HelmRepository flux-system/podinfo"},
					{File: "/srv/apps/other.yaml", Line: 3, Object: "HelmRepository apps/podinfo"},
				},
				Format: model.Kubernetes, Consumer: model.Flux, Resolution: model.Resolved,
				Definition: definition("https://ghcr.io", "stefanprodan/charts"),
				Report:     report(true),
				Notices:    []model.Notice{{Code: model.NoticeSuspended, Message: "The object is suspended. " + hostile}},
			},
			{
				Sources: []model.Source{{File: "docker/config.json", Line: 4, Object: "https://bob:hunter2@registry.example.com"}},
				Format:  model.DockerConfig, Consumer: model.Docker, Resolution: model.Resolved,
				Definition: definition("https://registry.example.com", ""),
				Report:     report(false),
			},
			{ // another line of the same file
				Sources: []model.Source{{File: "docker/config.json", Line: 9, Object: "https://bob:hunter2@registry.example.com"}},
				Format:  model.DockerConfig, Consumer: model.Docker, Resolution: model.Resolved,
				Definition: definition("https://registry.example.com", ""),
				Report:     report(false),
			},
			{
				Sources: []model.Source{{File: "a:b,c/" + hostile + ".yaml", Line: 1, Object: hostile}},
				Format:  model.Kubernetes, Consumer: model.ArgoCD, Resolution: model.Unresolved, Reason: model.UnresolvedTemplate,
				Detail:     model.Detail("The password of https://bob:hunter2@evil.test is a template. " + hostile),
				Definition: definition("https://bob:hunter2@evil.test/"+hostile, hostile),
			},
			{
				Sources: []model.Source{{File: "-"}},
				Format:  model.RegistryDefinition, Resolution: model.Resolved,
				Definition: definition("https://slow.example.com", "charts"),
				NotChecked: "The scan was interrupted. " + hostile,
			},
			{
				Sources: []model.Source{{File: "../outside.yaml", Line: 2}},
				Format:  model.RegistryDefinition, Resolution: model.Resolved,
				Definition: definition("bob:hunter2@example.com:x", "charts"),
				DefinitionProblems: []regcheck.Problem{{Field: "endpoint", Problem: "must be a host"}, {Field: "auth.password",
					Problem: hostile}},
			},
			{
				Sources: []model.Source{{File: "/etc/containerd/certs.d/hosts.toml", Line: 7}},
				Format:  model.ContainerdHosts, Consumer: model.Containerd, Resolution: model.Resolved,
				Definition: definition("https://listed.example.com", ""),
			},
		},
		Skipped: []model.Skipped{
			{Source: model.Source{File: "apps/argo.yaml", Line: 8, Object: "Secret argocd/git"}, Reason: model.SkipGit, Message: hostile},
		},
		Problems: []model.Problem{
			{Source: model.Source{File: "apps/secret.yaml", Line: 5, Object: "bob:hunter2@registry.example.com/a"},
				Reason:  model.ProblemInvalidBase64,
				Message: "The image podinfo:6.7@sha256:0123 is at \"bob:hunter2@registry.example.com\". " + hostile},
		},
	}
	r.Summarize()
	return r
}

// definition has the secret hunter2 in each member that may have one.
func definition(endpoint, content string) regcheck.Definition {
	return regcheck.Definition{Endpoint: endpoint, BaseContentPath: content, Auth: &regcheck.Auth{
		Type: regcheck.Basic, Username: "bob", Password: "hunter2-password", Token: "hunter2-token",
		TLS: regcheck.TLS{Enabled: true, CA: "hunter2-ca", Certificate: "hunter2-certificate", Key: secret.String("hunter2-key")},
	}}
}

func report(valid bool) *regcheck.Report {
	r := &regcheck.Report{
		Valid: valid, Registry: "https://hunter2.example.com", Duration: 1234 * time.Millisecond, DurationMS: 1234,
		Certificates: []regcheck.Certificate{{NotAfter: time.Date(2027, 5, 22, 10, 0, 0, 0, time.UTC)}},
		Stages: []regcheck.StageResult{
			{Name: regcheck.StageTLS, Status: regcheck.OK, Duration: 12 * time.Millisecond, Detail: hostile},
			{Name: regcheck.StageAuth, Status: regcheck.Failed, Duration: 1500 * time.Microsecond, Detail: hostile},
			{Name: regcheck.StageContent, Status: regcheck.Skipped},
		},
		Warnings: []regcheck.Warning{{Code: regcheck.WarnCertificateExpiresSoon, Message: "\"registry\" is valid until 2027-05-22. " +
			hostile}},
	}
	if !valid {
		r.Code, r.Reason, r.Stage = regcheck.CodeAuthFailed, regcheck.ReasonRefused, regcheck.StageAuth
		r.Message = "The credentials were rejected. The registry wrote: no user bob with hunter2-password, aHVudGVyMi1wYXNzd29yZA==. " +
			hostile
		r.Hint = "Correct the username and password at https://bob:hunter2@registry.example.com/login."
	}
	return r
}
