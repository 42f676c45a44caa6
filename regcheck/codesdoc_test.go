package regcheck_test

import (
	"bytes"

	"os"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
)

const codesPage = "../docs/codes.md"

// The page is made from the table, and this keeps it the table's.
func TestThePageOfCodesIsTheTables(t *testing.T) {
	var page bytes.Buffer
	if err := regcheck.WriteCodesDoc(&page); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(codesPage, page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(codesPage)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, page.Bytes()) {
		t.Errorf("%s is not what the table says; run: make docs", codesPage)
	}
}
