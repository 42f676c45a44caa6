package console

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/internal/auth"
)

const pageRows = 50 // of lists that are read whole

// listPage reads a list to its end, and returns the rows of the page whose number is in the address. read returns the rows after one, as
// the lists of the domain do. Only the rows of the page stay in memory.
func listPage[T any](c *call, read func(after T) ([]T, bool, error), matches func(T) bool) (rows []T, p pager, err error) {
	number := c.pageNumber()
	start, total := (number-1)*pageRows, 0
	var last T
	for more := true; more; {
		var next []T
		if next, more, err = read(last); err != nil {
			return nil, pager{}, err
		}
		for _, row := range next {
			last = row
			if !matches(row) {
				continue
			}
			if total >= start && len(rows) < pageRows {
				rows = append(rows, row)
			}
			total++
		}
	}
	return rows, c.numberedPager(number, total), nil
}

// maxPage prevents an overflow.
const maxPage = 1_000_000

func (c *call) pageNumber() int {
	number, err := strconv.Atoi(c.FormValue("page"))
	if err != nil || number < 1 || number > maxPage {
		return 1
	}
	return number
}

// numberedPager returns the addresses of the pages around one.
func (c *call) numberedPager(number, total int) (p pager) {
	count := (total + pageRows - 1) / pageRows
	if number > 1 {
		p.Previous = c.pageAddress(max(min(number-1, count), 1))
	}
	if number < count {
		p.Next = c.pageAddress(number + 1)
	}
	p.Position = fmt.Sprintf("Page %d of %d", number, max(count, 1))
	return p
}

func (c *call) pageAddress(number int) string {
	query := c.URL.Query()
	query.Del("notice")
	query.Set("page", strconv.Itoa(number))
	return c.URL.Path + "?" + query.Encode()
}

// filter is the search field above a list.
type filter struct {
	Label, Action, Value string

	canonical string // of Value
}

const filterName = "filter"

// newFilter returns the search field with the text that was entered.
func (c *call) newFilter(label, action string) filter {
	value := c.query(filterName)
	return filter{label, action, value, auth.Canonical(value)}
}

// matches reports whether one of the texts contains that of the filter, in any letter case.
func (f filter) matches(texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(auth.Canonical(text), f.canonical) {
			return true
		}
	}
	return false
}

// confirmation asks before an action that cannot be undone.
type confirmation struct{ Question, Text, Action, Button, Cancel string }

func (c *call) confirm(asked confirmation) error {
	return c.show("confirm.html", asked.Question, asked)
}

// showForm shows a page that consists of a form.
func (c *call) showForm(title string, f *form) error { return c.show("form.html", title, f) }

// showFormAgain shows the form with the problems of its values.
func (c *call) showFormAgain(err error, title string, f *form) error {
	return c.showAgain(err, "form.html", title, f.refused(c, err))
}

// pathOf returns the address of one item of a list, or of an action on it.
func pathOf(list, uid string, action ...string) string {
	return strings.Join(append([]string{list, url.PathEscape(uid)}, action...), "/")
}
