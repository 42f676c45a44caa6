package reports_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/regcheck"
)

// A stored report has its JSON byte for byte, and the texts for other audiences, whatever a registry sent.
func TestReportsAreStoredWithTheirTexts(t *testing.T) {
	const hint = regcheck.Text("Set {auth.tls.ca} to it.")
	r := &regcheck.Report{Message: `a,"texts":{"hint":"x"}`, Hint: "Set auth.tls.ca to it.", HintText: hint,
		MessageText: `a,"texts":{{"hint":"x"}`,
		Stages: []regcheck.StageResult{{Name: "tls", Detail: "plain", DetailText: "plain"},
			{Detail: "at endpoint", DetailText: "at {endpoint}"}},
		Warnings: []regcheck.Warning{{Message: "w endpoint", Text: "w {endpoint}"}},
		References: []regcheck.ReferenceResult{{Reference: "a:1", Message: "m endpoint", MessageText: "m {endpoint}", Hint: "h endpoint",
			HintText: "h {endpoint}"}}}
	public, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := reports.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := reports.Public(stored); string(got) != string(public) || !json.Valid(stored) {
		t.Errorf("%s, want %s", got, public)
	}
	if got := reports.Public(public); string(got) != string(public) { // of an earlier version
		t.Errorf("%s, want %s", got, public)
	}
	decoded, err := reports.Decode(stored)
	if err != nil {
		t.Fatal(err)
	}
	shown := reports.Show(decoded, regcheck.Audience{Field: func(path string) string { return "<" + path + ">" }})
	got := []string{shown.Message, shown.Hint, shown.Stages[0].Detail, shown.Stages[1].Detail, shown.Warnings[0].Message,
		shown.References[0].Message,
		shown.References[0].Hint}
	want := []string{r.Message, "Set <auth.tls.ca> to it.", "plain", "at <endpoint>", "w <endpoint>", "m <endpoint>", "h <endpoint>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if older, err := reports.Decode(public); err != nil || reports.Show(older, regcheck.Audience{}).Hint != r.Hint {
		t.Errorf("an earlier version: %+v, %v", older, err)
	}
}
