// Package passwordrules finds passwords that are easy to guess.
package passwordrules

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

const minUnpredictable = 5 // different characters outside of the block list

// predictable reports whether a password consists of common words, repetitions and keyboard sequences.
func predictable(password string) bool { return unpredictableChars(password) < minUnpredictable }

// Common passwords of the required length combine common parts. So the block list has parts: words,
// years, and three neighbors on a keyboard, in the alphabet or in the digits.
const (
	blockedWords = `administrator admin autumn baseball batman changeme change cloud company computer contrasena december default docker
		dragon football freedom friday geheim guest harbor hello iloveyou internet january jordan kubernetes letmein login love master
		michael monday monkey motdepasse mustang password passwort passwd pass please princess registry root secret server shadow signin
		spring starwars summer sunshine superman temp test trustno user welcome whatever willkommen winter word`
	rows = `abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop asdfghjkl zxcvbnm qwertzuiop yxcvbnm azertyuiop qsdfghjklm wxcvbn
		1qaz2wsx3edc4rfv5tgb q1w2e3r4t5y6 !@#$%^&*() !"§$%&/()=`
)

var (
	withoutBlocked    = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(blockList()...) })
	leetSubstitutions = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")
)

// blockList returns the arguments of a replacer that removes blocked parts. Of two words at the same position the first
// is removed.
func blockList() (pairs []string) {
	for word := range strings.FieldsSeq(blockedWords) {
		pairs = append(pairs, word, "")
	}
	for year := 1900; year < 2100; year++ {
		pairs = append(pairs, strconv.Itoa(year), "")
	}
	for row := range strings.FieldsSeq(rows) {
		for keys := []rune(row); len(keys) >= 3; keys = keys[1:] {
			forward := slices.Clone(keys[:3])
			backward := slices.Clone(forward)
			slices.Reverse(backward)
			pairs = append(pairs, string(forward), "", string(backward), "")
		}
	}
	return pairs
}

// unpredictableChars counts the different characters of a password outside of blocked parts.
func unpredictableChars(password string) int {
	rest := withoutBlocked().Replace(strings.ToLower(password))
	rest = withoutBlocked().Replace(leetSubstitutions.Replace(rest))
	different := map[rune]bool{}
	for _, r := range rest {
		if !unicode.IsSpace(r) {
			different[r] = true
		}
	}
	return len(different)
}
