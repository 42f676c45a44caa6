package cli

import (
	"slices"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/regcheck"
)

func TestLevels(t *testing.T) {
	warned := model.Registry{Report: &regcheck.Report{Valid: true, Warnings: []regcheck.Warning{{}}}}
	all := []command.FailOn{command.FailOnNotValid, command.FailOnWarning, command.FailOnUnresolved, command.FailOnNotice}
	for _, tt := range []struct {
		name   string
		result model.Result
		fails  []command.FailOn
	}{
		{"nothing", model.Result{}, nil},
		{"not valid", model.Result{Summary: model.Summary{NotValid: 1}}, all},
		{"problem", model.Result{Summary: model.Summary{Problems: 1}}, all},
		{"warning", model.Result{Registries: []model.Registry{warned}}, all[1:]},
		{"unresolved", model.Result{Summary: model.Summary{Unresolved: 1}}, all[2:]},
		{"notice", model.Result{Registries: []model.Registry{{Notices: []model.Notice{{}}}}}, all[3:]},
		{"skipped", model.Result{Summary: model.Summary{Skipped: 1}}, nil},
	} {
		for _, level := range append(all, command.FailOnNever) {
			if got, want := failsAt(level, tt.result), slices.Contains(tt.fails, level); got != want {
				t.Errorf("%s at %s: %t, want %t", tt.name, level, got, want)
			}
		}
	}
}
