package cli

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/service/auditchain"
)

func TestVerificationCountsInWords(t *testing.T) {
	for want, r := range map[string]auditchain.Result{
		"1 audit record fits the chain: 1 organization, 1 batch.\n1 problem.": {Records: 1, Orgs: 1, Batches: 1, Problems: 1},

		"2 audit records fit the chain: 0 organizations, 2 batches.\n1 record is not linked": {Records: 2, Batches: 2, Unlinked: 1},
	} {
		var out strings.Builder
		printVerification(&out, r, "")
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
