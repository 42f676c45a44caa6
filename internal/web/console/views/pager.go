package views

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/regwarden/regwarden/internal/service/paging"
)

// Pager has the addresses of the pages of a list; empty where there is none.
type Pager struct{ Previous, Next, Position string }

// Numbered are the pages of a list whose addresses have their numbers.
type Numbered struct {
	Parameter string // of the address
	Rows      int    // of a page
	Fragment  string // of the address, where the list is not the whole page
}

// ListPages are the pages of a list that is read whole.
var ListPages = Numbered{Parameter: "page", Rows: 50}

// Start returns how many of all rows come before the page of an address: the first page if it does not say which, and the last one for
// those after it, since the list may have become shorter.
func (n Numbered) Start(address *url.URL, total int) int {
	number, _ := strconv.Atoi(address.Query().Get(n.Parameter)) // the greatest number for a number that is too great
	return min(max(number, 1)-1, (max(total, 1)-1)/n.Rows) * n.Rows
}

// Pager returns the pages around the one that shows so many of all rows after the first ones.
func (n Numbered) Pager(address *url.URL, from, shown, total int) Pager {
	p := Pager{Position: Positions(from+shown, shown, int64(total))}
	number := from/n.Rows + 1
	if number > 1 {
		p.Previous = WithQuery(address, n.Parameter, strconv.Itoa(number-1)) + n.Fragment
	}
	if from+n.Rows < total {
		p.Next = WithQuery(address, n.Parameter, strconv.Itoa(number+1)) + n.Fragment
	}
	return p
}

// Part returns the rows of the page of an address, and the pages around it.
func Part[T any](address *url.URL, all []T) ([]T, Pager) {
	from := ListPages.Start(address, len(all))
	rows := all[from:min(from+ListPages.Rows, len(all))]
	return rows, ListPages.Pager(address, from, len(rows), len(all))
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
