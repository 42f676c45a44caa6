// Package reports shows reports of checks to other audiences, and encodes them as they are stored: their JSON, and in one more member the
// templates of texts that name fields.
package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck"
)

// texts are the templates of a report, empty for texts without names.
type texts struct {
	Message    regcheck.Text   `json:"message,omitempty"`
	Hint       regcheck.Text   `json:"hint,omitempty"`
	Details    []regcheck.Text `json:"details"` // of the stages
	Warnings   []regcheck.Text `json:"warnings"`
	Messages   []regcheck.Text `json:"messages"` // of the references
	References []regcheck.Text `json:"references"`
}

// member begins the member with the templates, the last one. No text has it, since quotes in texts are escaped.
const member = `,"texts":{`

// Encode returns what is stored of a report.
func Encode(r *regcheck.Report) ([]byte, error) {
	public, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode a report: %w", err)
	}
	t := texts{Message: named(r.MessageText), Hint: named(r.HintText)}
	for _, stage := range r.Stages {
		t.Details = append(t.Details, named(stage.DetailText))
	}
	for _, warning := range r.Warnings {
		t.Warnings = append(t.Warnings, named(warning.Text))
	}
	for _, one := range r.References {
		t.Messages, t.References = append(t.Messages, named(one.MessageText)), append(t.References, named(one.HintText))
	}
	templates, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode the texts of a report: %w", err)
	}
	return append(append(public[:len(public)-1], member...), append(templates[1:], '}')...), nil
}

// named returns a text with names, else none: it is the same for everyone.
func named(t regcheck.Text) regcheck.Text {
	if strings.Contains(string(t), "{") {
		return t
	}
	return ""
}

// Public returns the JSON of a stored report.
func Public(stored []byte) json.RawMessage {
	at := bytes.LastIndex(stored, []byte(member))
	if at < 0 {
		return stored // of an earlier version, or none
	}
	return append(stored[:at:at], '}')
}

// Decode returns a stored report with its templates.
func Decode(stored []byte) (*regcheck.Report, error) {
	r, t := &regcheck.Report{}, struct{ Texts texts }{}
	if err := json.Unmarshal(stored, r); err != nil {
		return nil, fmt.Errorf("decode a report: %w", err)
	}
	if err := json.Unmarshal(stored, &t); err != nil {
		return nil, fmt.Errorf("decode the texts of a report: %w", err)
	}
	r.MessageText, r.HintText = t.Texts.Message, t.Texts.Hint
	for i := range min(len(r.Stages), len(t.Texts.Details)) {
		r.Stages[i].DetailText = t.Texts.Details[i]
	}
	for i := range min(len(r.Warnings), len(t.Texts.Warnings)) {
		r.Warnings[i].Text = t.Texts.Warnings[i]
	}
	for i := range min(len(r.References), len(t.Texts.Messages), len(t.Texts.References)) {
		r.References[i].MessageText, r.References[i].HintText = t.Texts.Messages[i], t.Texts.References[i]
	}
	return r, nil
}

// Show returns a report for an audience. What has no template, such as what an earlier version stored, stays as it is.
func Show(report *regcheck.Report, a regcheck.Audience) *regcheck.Report {
	r := *report
	r.Message, r.Hint = show(a, r.MessageText, r.Message), show(a, r.HintText, r.Hint)
	r.Stages, r.Warnings, r.References = slices.Clone(r.Stages), slices.Clone(r.Warnings), slices.Clone(r.References)
	for i, stage := range r.Stages {
		r.Stages[i] = ShowStage(stage, a)
	}
	for i, w := range r.Warnings {
		r.Warnings[i].Message = show(a, w.Text, w.Message)
	}
	for i, one := range r.References {
		r.References[i].Message, r.References[i].Hint = show(a, one.MessageText, one.Message), show(a, one.HintText, one.Hint)
	}
	return &r
}

// ShowStage returns the outcome of a stage for an audience.
func ShowStage(stage regcheck.StageResult, a regcheck.Audience) regcheck.StageResult {
	stage.Detail = show(a, stage.DetailText, stage.Detail)
	return stage
}

func show(a regcheck.Audience, text regcheck.Text, shown string) string {
	if text == "" {
		return shown
	}
	return a.Show(text)
}
