package cli

import "testing"

func TestVersionOf(t *testing.T) {
	for _, tt := range []struct{ name, stamped, module, want string }{
		{"release", "0.1.0", "(devel)", "0.1.0"},
		{"make build after a tag", "v0.1.0-3-g967856c", "", "0.1.0-3-g967856c"},
		{"make build without a tag", "967856c", "v0.0.0-20261122041500-967856c0d4fa+dirty", "967856c"},
		{"go install of a tag", "", "v0.1.0", "0.1.0"},
		{"go install of a commit", "", "v0.0.0-20261122041500-967856c0d4fa", "0.0.0-20261122041500-967856c0d4fa"},
		{"go build without version control", "", "(devel)", "dev"},
		{"no build information", "", "", "dev"},
	} {
		if got := versionOf(tt.stamped, tt.module); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
