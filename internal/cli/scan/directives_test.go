package scan

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

func TestParseDirectives(t *testing.T) {
	for _, row := range []struct {
		line  string
		codes []string
		wrong string
	}{
		{"# regwarden:ignore secretInRepository", []string{"secretInRepository"}, ""},
		{"key: value # regwarden:ignore RegistryAuthFailed, notice/plainHttp -- the test registry\r",
			[]string{"RegistryAuthFailed", "notice/plainHttp"}, ""},
		{"// regwarden:ignore RegistryTLSFailed/unknownAuthority", []string{"RegistryTLSFailed/unknownAuthority"}, ""},
		{"# regwarden:ignore", nil, "1: regwarden:ignore requires a code, such as secretInRepository"},
		{"# regwarden:ignore secretInRepo", []string{"secretInRepo"},
			`1: regwarden:ignore: "secretInRepo" is not a code; did you mean secretInRepository?`},
		{"text: regwarden:ignore secretInRepository", nil, ""},
		{"# ignore secretInRepository", nil, ""},
	} {
		codes, wrong := parseDirectives([]byte(row.line + "\n"))
		if !slices.Equal(codes[1], row.codes) || strings.Join(wrong, "") != row.wrong {
			t.Errorf("%s: %q, %q", row.line, codes[1], wrong)
		}
	}
}

// A comment on the line of an issue or above it removes that issue and no other.
func TestIgnore(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "a.yaml"), "# regwarden:ignore plainHttp\nfirst:\nsecond: # regwarden:ignore "+
		"notYAML\nthird:\n\nlast: # regwarden:ignore typo\n")
	at := func(line int) model.Source { return model.Source{File: file, Line: line} }
	r := found("one.test", "", "")
	r.Sources = []model.Source{at(2), at(4)}
	r.Notices = []model.Notice{{Code: model.NoticePlainHTTP}, {Code: model.NoticeSuspended}}
	result := model.Result{Registries: []model.Registry{r}}
	for _, line := range []int{3, 4, 5, 6} {
		result.Problems = append(result.Problems, model.Problem{Source: at(line), Reason: model.ProblemNotYAML})
	}
	wrong := Ignore(&result, nil)
	if len(wrong) != 1 || !strings.Contains(wrong[0], `a.yaml:6: regwarden:ignore: "typo" is not a code`) {
		t.Errorf("%q", wrong)
	}
	if len(result.Problems) != 2 || result.Problems[0].Source.Line != 5 || result.Summary.Ignored != 3 || result.Summary.Problems != 2 {
		t.Errorf("%+v", result)
	}
	if first, second := result.Registries[0], result.Registries[1]; len(first.Notices) != 1 || first.Sources[0].Line != 2 ||
		len(second.Notices) != 2 {
		t.Errorf("%+v", result.Registries)
	}
}

func TestIgnoreOnStandardInput(t *testing.T) {
	result := model.Result{Problems: []model.Problem{{Source: model.Source{File: stdinName, Line: 2}, Reason: model.ProblemNotYAML}}}
	Ignore(&result, []byte("# regwarden:ignore problem\n{\n"))
	if len(result.Problems) != 0 || result.Summary.Ignored != 1 {
		t.Errorf("%+v", result)
	}
}

// FuzzDirectives finds directives on lines that do not exist.
func FuzzDirectives(f *testing.F) {
	f.Add("a # regwarden:ignore b\n// regwarden:ignore c,d -- e")
	f.Fuzz(func(t *testing.T, text string) {
		codes, wrong := parseDirectives([]byte(text))
		lines := strings.Split(text, "\n")
		for line, words := range codes {
			if line < 1 || line > len(lines) || !strings.Contains(lines[line-1], directive) || slices.Contains(words, "") {
				t.Errorf("line %d of %q: %q", line, text, words)
			}
		}
		if len(wrong) > len(text) {
			t.Errorf("%d problems of %q", len(wrong), text)
		}
	})
}
