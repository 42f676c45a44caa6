package console

import (
	"fmt"
	"strings"
	"unicode"
)

// query returns a value of the page's address, without characters that databases refuse.
func (c *call) query(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(c.URL.Query().Get(name), ""))
}

// withQuery returns the address of the page with that value, or without it if it is empty. The page itself starts again, since the
// positions in a list depend on its filter and order.
func (c *call) withQuery(name, value string) string {
	query := c.URL.Query()
	query.Del("notice")
	query.Del("continue")
	query.Set(name, value)
	if value == "" {
		query.Del(name)
	}
	return c.URL.Path + strings.TrimSuffix("?"+query.Encode(), "?")
}

// Lists continue after a position, so the address of a page has the positions of the pages before it too.
const (
	positionSeparator = "."  // not in base64
	maxPositions      = 2000 // bytes
)

// position returns where the page of a list begins: empty for the first.
func (c *call) position() string {
	all := c.query("continue")
	return all[strings.LastIndex(all, positionSeparator)+1:]
}

// pager returns the addresses of the pages around one that shows items up to offset, with the position of the next one.
func (c *call) pager(next string, shown, offset int, count int64) (p pager) {
	before := c.query("continue")
	if before != "" {
		p.Previous = c.withQuery("continue", before[:max(strings.LastIndex(before, positionSeparator), 0)])
	}
	if next != "" {
		for len(before) > maxPositions {
			_, before, _ = strings.Cut(before, positionSeparator)
		}
		p.Next = c.withQuery("continue", strings.TrimPrefix(before+positionSeparator+next, positionSeparator))
	}
	p.Position = positions(offset, shown, count)
	return p
}

// maxCounted is up to where lists are counted.
const maxCounted = 10_000

// positions describes which items of a list a page shows.
func positions(offset, shown int, count int64) string {
	of := "of"
	if count >= maxCounted {
		of = "of at least"
	}
	return fmt.Sprintf("%d–%d %s %d", offset-shown+1, offset, of, max(count, int64(offset)))
}
