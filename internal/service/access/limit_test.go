package access

import "testing"

// A limit allows what its scope has, in its project only what a role can grant there, and an unknown scope nothing.
func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		limit      Limit
		permission Permission
		project    string
		want       bool
	}{
		{Limit{}, OwnAccount, "", true},
		{Limit{Scope: ScopeAll}, DeleteUsers, "", true},
		{Limit{Scope: ScopeRead}, ReadAllAudits, "", true},
		{Limit{Scope: ScopeRead}, ValidateRegistries, "", false},
		{Limit{Scope: ScopeRead}, OwnAccount, "", false},
		{Limit{Scope: ScopeCheck}, ValidateRegistries, "a", true},
		{Limit{Scope: ScopeCheck}, DeleteRegistries, "a", false},
		{Limit{Scope: ScopeRegistries}, DeleteRegistries, "", true},
		{Limit{Scope: ScopeRegistries}, ConfigureAlerts, "", false},
		{Limit{Scope: ScopeProvision}, Provision, "", true},
		{Limit{Scope: ScopeProvision}, ReadUsers, "", false},
		{Limit{Scope: ScopeProvision, Project: "a"}, Provision, "", false},
		{Limit{Scope: "unknown"}, ReadRegistries, "", false},
		{Limit{Project: "a"}, ReadRegistries, "a", true},
		{Limit{Project: "a"}, ReadRegistries, "b", false},
		{Limit{Project: "a"}, ReadRegistries, "", false},
		{Limit{Project: "a"}, CreateUsers, "a", false},
		{Limit{Project: "a"}, OwnAccount, "", false},
		{Limit{Project: "a", Scope: ScopeRead}, CreateRegistries, "a", false},
	} {
		if got := tt.limit.Allows(tt.permission, tt.project); got != tt.want {
			t.Errorf("%+v %s in %q: %t", tt.limit, tt.permission, tt.project, got)
		}
	}
	if !(Limit{}).None() || !(Limit{Scope: ScopeAll}).None() || (Limit{Scope: ScopeRead}).None() || (Limit{Project: "a"}).None() {
		t.Error("which limits are none")
	}
	if !(Limit{Project: "a"}).Sees("a") || (Limit{Project: "a"}).Sees("b") || (Limit{Scope: ScopeProvision}).Sees("a") {
		t.Error("which projects a limit shows")
	}
	if ScopeProblem("read") != "" || ScopeProblem("") != "" || ScopeProblem("write") == "" {
		t.Error("problems of scopes")
	}
}

// No scope allows what only the account of its user may do: a limited key could otherwise create one without limits.
func TestNoScopeManagesTheAccount(t *testing.T) {
	for _, d := range Scopes {
		if d.Scope != ScopeAll && (Limit{Scope: d.Scope}).Allows(OwnAccount, "") {
			t.Errorf("%s manages the account", d.Scope)
		}
	}
}
