// The race detector makes reading all files fifteen times slower and has nothing to find here.

//go:build !race

package archtest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// clean lists the paths (pathspecs of git) that have none of the words in words.txt: everything except texts that must
// stay, such as samples of the files of other programs.
var clean = []string{
	".",
	":!internal/archtest/words*", ":!internal/storage/store/migrations", ":!LICENSE", ":!definitions/testdata",
}

//go:embed words.txt
var wordList string

type exception struct{ file, phrase string }

type rule struct {
	pattern *regexp.Regexp
	instead string
}

// list has the rules of words.txt. Rules for single words are matched against each distinct word once, which takes most of
// the time otherwise.
type list struct {
	words, phrases []rule
	anyPhrase      *regexp.Regexp
	exceptions     []exception
	instead        map[string]string // by word; "" is allowed
}

// readWords reads the format that words.txt describes.
func readWords(text string) *list {
	l := &list{instead: map[string]string{}}
	var phrases []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if allowed, ok := strings.CutPrefix(line, "allow "); ok {
			allowed, _, _ = strings.Cut(allowed, " # ")
			file, phrase, _ := strings.Cut(allowed, " ")
			l.exceptions = append(l.exceptions, exception{file, phrase})
			continue
		}
		pattern, instead, ok := strings.Cut(line, " -> ")
		if !ok || line[0] == '#' {
			continue
		}
		r := rule{regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`), instead}
		if strings.ContainsAny(pattern, " -.") {
			phrases = append(phrases, pattern)
			l.phrases = append(l.phrases, r)
		} else {
			l.words = append(l.words, r)
		}
	}
	l.anyPhrase = regexp.MustCompile(`(?i)\b(?:` + strings.Join(phrases, "|") + `)\b`)
	return l
}

// find returns the words and phrases of a line that are not allowed, with what to write instead.
func (l *list) find(line string) (found []string) {
	line = separated(line)
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return !unicode.IsLetter(r) }) {
		instead, known := l.instead[word]
		if !known {
			instead = advice(l.words, word)
			l.instead[word] = instead
		}
		if instead != "" {
			found = append(found, word+": write "+instead)
		}
	}
	for _, phrase := range l.anyPhrase.FindAllString(line, -1) {
		found = append(found, phrase+": write "+advice(l.phrases, phrase))
	}
	return found
}

func advice(rules []rule, text string) string {
	for _, r := range rules {
		if r.pattern.MatchString(text) {
			return r.instead
		}
	}
	return ""
}

var camelCase = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// separated returns a line with the words of its names separated by blanks.
func separated(line string) string {
	line = camelCase.ReplaceAllString(line, "$1$3 $2$4")
	return strings.ReplaceAll(line, "_", " ")
}

// trackedFiles returns the text files below the paths, relative to root, that are in version control.
func trackedFiles(t *testing.T, root string, paths ...string) []string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", root, "ls-files", "-z", "--"}, paths...)...).Output()
	if err != nil {
		t.Fatalf("list tracked files: %v", err)
	}
	return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
}

func TestCleanDirectoriesHaveNoWordOfTheList(t *testing.T) {
	l := readWords(wordList)
	root := filepath.Join("..", "..")
	files := trackedFiles(t, root, clean...)
	if len(l.words) < 40 || len(l.phrases) < 10 || len(files) < len(clean) {
		t.Fatalf("%d words, %d phrases and %d files were read", len(l.words), len(l.phrases), len(files))
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) || !utf8.Valid(content) {
			continue // deleted and not yet committed, or not text
		}
		text := string(content)
		for _, e := range l.exceptions {
			if e.file == "*" || e.file == file {
				text = strings.ReplaceAll(text, e.phrase, "")
			}
		}
		number := 0
		for line := range strings.Lines(text) {
			number++
			for _, found := range l.find(line) {
				t.Errorf("%s:%d: %s", file, number, found)
			}
		}
	}
}

func TestWordsAreFoundInNamesAndText(t *testing.T) {
	l := readWords(wordList)
	for line, want := range map[string]bool{
		"func (s *session) proveNobody()":         true,
		"// it was kept for later":                true,
		"func TestMended_twice(t *testing.T)":     true,
		"// it waits for ever":                    true,
		"the amended and bespoken recommendation": false,
		"// a stored definition is recommended":   false,
		"is no longer there":                      false,
		"// colored output":                       false,
	} {
		if found := l.find(line); (len(found) > 0) != want {
			t.Errorf("%q: %q", line, found)
		}
	}
}
