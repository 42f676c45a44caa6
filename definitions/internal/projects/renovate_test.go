package projects

import "testing"

// TestRankOfHostRules: a host weighs more than a type, and both more than either.
func TestRankOfHostRules(t *testing.T) {
	for rule, want := range map[[2]string]int{{"", ""}: 0, {"docker", ""}: 1, {"", "one.test"}: 2, {"docker", "one.test"}: 3} {
		if got := (hostRule{hostType: rule[0], matchHost: rule[1]}).rank(); got != want {
			t.Errorf("%q: %d, want %d", rule, got, want)
		}
	}
}
