// Package scanreport_test reads the reports of scans back with the schemas and parsers of the programs that read them in pipelines.
package scanreport_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// special are texts with a meaning in one of the formats.
var special = []string{
	"", " ", "\x00", "\x1b[31m", "\r\n", "\n::error::x", "::stop-commands::x", "##[error]x", "%0A", "%25", "%3A", ":", ",", "a,line=1",
	"::", "]]>", "</testcase>",
	"&#0;", "<![CDATA[", "<!--", "|", "\\|", "\\", "`", "``` \n", "[a](https://evil.test)", "![a](b)", "https://evil.test",
	"www.evil.test", "a@evil.test",
	"<img src=x>", "# EOF\n", "\"", "\\\"", "\\n", "{", "}", "{0}", "\ufffd", "\ufffe", "\uffff", "\ud7ff", "\ue000", "\u2028",
	"\u202e", "\u0085", "\U0010ffff",
	"\xff", "\xc3\x28", "../", "/", "C:\\x", "file:///x", "~", "?", "#", "a=b", "$(x)", "${{ x }}", "- ", "1. ", "***", "--- |", "\t",
}

// text is any text, often with special parts.
func text() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		joined := ""
		for _, part := range rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(special), rapid.String(), anyBytes()), 0, 4).Draw(t, "parts") {
			joined += part
		}
		return joined
	})
}

func anyBytes() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) })
}

func source() *rapid.Generator[model.Source] {
	return rapid.Custom(func(t *rapid.T) model.Source {
		return model.Source{File: text().Draw(t, "file"), Line: rapid.IntRange(0, 3).Draw(t, "line"), Object: text().Draw(t, "object")}
	})
}

func registry() *rapid.Generator[model.Registry] {
	return rapid.Custom(func(t *rapid.T) model.Registry {
		r := model.Registry{
			Sources: rapid.SliceOfN(source(), 0, 3).Draw(t, "sources"), Format: model.Format(text().Draw(t, "format")),
			Consumer: model.Consumer(text().Draw(t, "consumer")), Resolution: model.Resolved,
			Definition: regcheck.Definition{
				Endpoint:        rapid.OneOf(text(), rapid.Just("https://registry.example.com")).Draw(t, "endpoint"),
				BaseContentPath: text().Draw(t, "content"),
				Auth:            &regcheck.Auth{Username: text().Draw(t, "username"), Password: secret.String(text().Draw(t, "password"))},
			},
		}
		for range rapid.IntRange(0, 2).Draw(t, "notices") {
			r.Notices = append(r.Notices, model.Notice{Code: model.NoticeCode(text().Draw(t, "notice")),
				Message: text().Draw(t, "message")})
		}
		switch rapid.SampledFrom([]string{"unresolved", "problems", "not checked", "listed", "checked", "checked"}).Draw(t, "outcome") {
		case "unresolved":
			r.Resolution, r.Reason = model.Unresolved, model.UnresolvedReason(text().Draw(t, "reason"))
			r.Detail = model.Detail(text().Draw(t, "detail"))
		case "problems":
			r.DefinitionProblems = []regcheck.Problem{{Field: text().Draw(t, "field"), Problem: text().Draw(t, "problem")}}
		case "not checked":
			r.NotChecked = "x" + text().Draw(t, "why")
		case "checked":
			r.Report = report().Draw(t, "report")
		}
		return r
	})
}

func report() *rapid.Generator[*regcheck.Report] {
	return rapid.Custom(func(t *rapid.T) *regcheck.Report {
		r := &regcheck.Report{
			Valid: rapid.Bool().Draw(t, "valid"), Code: regcheck.Code(text().Draw(t, "code")),
			Reason:  regcheck.Reason(text().Draw(t, "reason")),
			Message: text().Draw(t, "message"), Hint: text().Draw(t, "hint"), Registry: text().Draw(t, "registry"),
			Duration:     time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "duration")),
			Certificates: []regcheck.Certificate{{NotAfter: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "expires"), 0)}},
			Stages: []regcheck.StageResult{
				{Name: regcheck.StageTLS, Status: regcheck.OK, Duration: time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "tls")),
					Detail: text().Draw(t, "detail")},
				{Name: regcheck.StageContent, Status: regcheck.Skipped},
			},
		}
		for range rapid.IntRange(0, 2).Draw(t, "warnings") {
			r.Warnings = append(r.Warnings,
				regcheck.Warning{Code: regcheck.WarningCode(text().Draw(t, "warning")), Message: text().Draw(t, "message")})
		}
		return r
	})
}

func result() *rapid.Generator[model.Result] {
	return rapid.Custom(func(t *rapid.T) model.Result {
		r := model.Result{Registries: rapid.SliceOfN(registry(), 0, 4).Draw(t, "registries")}
		for range rapid.IntRange(0, 2).Draw(t, "problems") {
			r.Problems = append(r.Problems,
				model.Problem{Source: source().Draw(t, "source"), Reason: model.ProblemNotYAML, Message: text().Draw(t, "message")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "skipped") {
			r.Skipped = append(r.Skipped, model.Skipped{Source: source().Draw(t, "source"), Reason: model.SkipGit,
				Message: text().Draw(t, "message")})
		}
		return r
	})
}

// counts are how many entries each kind of report must have.
type counts struct {
	entries     int // of the step summary
	annotations int
	cases       int // of JUnit
	failures    int
	errors      int
	issues      int // of SARIF and GitLab
	skipped     int
	checked     int // of OpenMetrics
}

func count(r model.Result) (c counts) {
	for _, found := range r.Registries {
		c.entries++
		places := max(len(found.Sources), 1)
		c.cases += places
		remarks := len(found.Notices)
		if found.Report != nil {
			remarks += len(found.Report.Warnings)
			c.checked++
		}
		reported := 1
		switch {
		case found.Resolution == model.Unresolved:
		case found.NotChecked != "":
			c.errors += places
		case len(found.DefinitionProblems) > 0, found.Report != nil && !found.Report.Valid:
			c.failures += places
		default:
			reported = 0
		}
		c.annotations += reported + remarks
		c.issues += places * (reported + remarks)
	}
	problems := len(r.Problems)
	c.entries, c.cases, c.failures = c.entries+problems+len(r.Skipped), c.cases+problems+len(r.Skipped), c.failures+problems
	c.annotations, c.issues, c.skipped = c.annotations+problems, c.issues+problems, len(r.Skipped)
	return c
}
