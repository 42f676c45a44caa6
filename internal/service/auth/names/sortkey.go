package names

import (
	"strings"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

var digits = lazyregexp.New(`[0-9]+`)

// SortKey returns a text for a canonical name. Byte by byte, these texts have the natural order of the names: numbers in them compare by
// their value, so that "registry-2" is before "registry-10", and all else as in the names. Different names have different keys: of names
// that differ only by leading zeros, the one without them is first, and the others are letter by letter.
//
// Stored keys have this form, so another one needs a migration.
func SortKey(canonical string) string {
	zeros := false
	key := digits.Get().ReplaceAllStringFunc(canonical, func(number string) string {
		value := strings.TrimLeft(number, "0")
		zeros = zeros || len(value) < len(number) && number != "0"
		return digitCount(len(value)) + value
	})
	if zeros {
		key += "\x01" + canonical // before all characters of names
	}
	return key
}

// digitCount writes a number so that the texts of greater numbers are greater, and none begins with another one. It consists of digits,
// which compare with other characters as the number in the name does.
func digitCount(n int) string {
	const most = 9
	return strings.Repeat("9", n/most) + string(rune('0'+n%most))
}
