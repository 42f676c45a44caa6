package csvtext

import (
	"strings"
	"testing"
)

func TestNoCellIsAFormula(t *testing.T) {
	var b strings.Builder
	w := New(&b)
	w.Row("=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "a=b", "", "a,\"b")
	w.Flush()
	if want := "'=1+1,'+1,'-1,'@SUM(A1),'\tx,\"'\r=1\",a=b,,\"a,\"\"b\"\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
