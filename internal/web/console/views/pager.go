package views

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/regwarden/regwarden/internal/service/paging"
)

// Pager has the addresses of the pages of a list; empty where there is none.
type Pager struct{ Previous, Next, Position string }

// PageRows is the number of rows of a page of a list that is read whole.
const PageRows = 50

// maxPage prevents an overflow.
const maxPage = 1_000_000

// PageNumber returns which page an address is of, 1 if it does not say it.
func PageNumber(address *url.URL) int {
	number, err := strconv.Atoi(address.Query().Get("page"))
	if err != nil || number < 1 || number > maxPage {
		return 1
	}
	return number
}

// Part returns the rows of the page of an address, and the pages around it. The last page stands for those after it: the list has become
// shorter.
func Part[T any](address *url.URL, all []T) ([]T, Pager) {
	number := min(PageNumber(address), LastPage(len(all)))
	from := (number - 1) * PageRows
	rows := all[from:min(from+PageRows, len(all))]
	return rows, Numbered(address, number, len(rows), len(all))
}

// LastPage returns the number of the last page of a list with that many rows.
func LastPage(total int) int { return max((total+PageRows-1)/PageRows, 1) }

// Numbered returns the pages around one that shows so many of all rows.
func Numbered(address *url.URL, number, shown, total int) (p Pager) {
	if number > 1 {
		p.Previous = WithQuery(address, "page", strconv.Itoa(number-1))
	}
	if number < LastPage(total) {
		p.Next = WithQuery(address, "page", strconv.Itoa(number+1))
	}
	p.Position = Positions((number-1)*PageRows+shown, shown, int64(total))
	return p
}

// WithQuery returns the address of a page with that value, or without it if it is empty. The page itself starts again, since the
// positions in a list depend on its filter and order.
func WithQuery(address *url.URL, name, value string) string {
	query := address.Query()
	query.Del("notice")
	query.Del("continue")
	query.Set(name, value)
	if value == "" {
		query.Del(name)
	}
	if len(query) == 0 {
		return address.Path
	}
	return address.Path + "?" + query.Encode()
}

// Positions describes which items of a list a page shows, the last of which is at offset.
func Positions(offset, shown int, count int64) string {
	of := "of"
	if count >= paging.MaxCount {
		of = "of at least"
	}
	return fmt.Sprintf("%d–%d %s %d", offset-shown+1, offset, of, max(count, int64(offset)))
}
