package scanreport

import (
	"strings"
	"sync"
	"unicode"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	home = "https://github.com/regwarden/regwarden"
	docs = home + "/blob/main/docs/"

	// InvalidDefinition is the code of a complete definition that cannot be used.
	InvalidDefinition = "invalidDefinition"
)

// rule is what an entry or a remark is about. Its id is stable.
type rule struct{ id, name, sentence, fix, page string }

// ruleOf returns the rule of a code and its reason, or of a kind and its word.
func ruleOf(kind, word string) rule {
	id := strings.Trim(kind+"/"+word, "/")
	if r, ok := rules()[id]; ok {
		return r
	}
	id = "other/" + strings.Map(func(r rune) rune {
		if r == '/' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, id)
	return rule{id: id, name: pascalCase(id), sentence: "The documentation has no entry for this code.", page: docs + "codes.md"}
}

// rules returns all rules by id.
var rules = sync.OnceValue(func() map[string]rule {
	all := map[string]rule{}
	add := func(kind, word string, r rule) {
		r.id = strings.Trim(kind+"/"+word, "/")
		r.name = pascalCase(r.id)
		all[r.id] = r
	}
	service := wording.Engine()
	for _, e := range regcheck.Entries() {
		kind, word, heading := string(e.Code), string(e.Reason), strings.Trim(string(e.Code)+"-"+string(e.Reason), "-")
		if e.Warning != "" {
			kind, word, heading = "warning", string(e.Warning), string(e.Warning)
		}
		add(kind, word, rule{sentence: service.Show(e.Sentence), fix: service.Show(e.Hint), page: docs + "codes.md#" +
			strings.ToLower(heading)})
	}
	kinds := []string{string(unresolved), string(skipped), string(problem), "notice"} // in the order of the lists
	for i, list := range model.WordLists() {
		anchor := strings.ReplaceAll(strings.ToLower(list.Title), " ", "-")
		for _, w := range list.Words {
			add(kinds[i], w.Word, rule{sentence: w.Meaning, page: docs + "scan.md#" + anchor})
		}
	}
	for word, sentence := range map[string]string{
		InvalidDefinition:  "The definition cannot be used.",
		string(notChecked): "The registry could not be checked. The definition is not the cause.",
		string(listed):     "The definition was found. It was not checked.",
		string(valid):      "The definition is valid.",
	} {
		add("", word, rule{sentence: sentence, page: docs + "scan.md"})
	}
	return all
})

// pascalCase returns the name of a rule, such as ProblemInvalidBase64 for problem/invalidBase64.
func pascalCase(id string) string {
	var name strings.Builder
	for _, part := range strings.Split(id, "/") {
		runes := []rune(part)
		if len(runes) > 0 {
			runes[0] = unicode.ToUpper(runes[0])
		}
		name.WriteString(string(runes))
	}
	return name.String()
}

// ownWords returns the words of our own texts. A username that is one of them is not masked: it would make the texts unreadable.
var ownWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for _, r := range rules() {
		for _, word := range strings.FieldsFunc(r.sentence+" "+r.fix, func(r rune) bool {
			return !unicode.IsLetter(r) &&
				!unicode.IsDigit(r)
		}) {
			words[word] = true
		}
	}
	return words
})
