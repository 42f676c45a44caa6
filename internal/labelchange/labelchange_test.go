package labelchange

import "testing"

func TestParse(t *testing.T) {
	got, err := Parse([]string{"team=a", "empty=", " eq=a=b ", "old-"})
	if err != nil || len(got) != 4 || *got["team"] != "a" || *got["empty"] != "" || *got["eq"] != "a=b" || got["old"] != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range [][]string{nil, {"team"}, {"=a"}, {"-"}, {""}} {
		if _, err := Parse(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
