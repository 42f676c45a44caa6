package console

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
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

// withQuery returns the address of the page with that value, as views.WithQuery.
func (c *call) withQuery(name, value string) string { return views.WithQuery(c.URL, name, value) }

// Lists continue after a position, so the address of a page has the positions of the pages before it too.
const (
	positionSeparator = "."  // not in base64
	maxPositions      = 2000 // bytes
)

// pageRequest returns which page of a list is shown.
func (c *call) pageRequest() paging.Request {
	all := c.query("continue")
	return paging.Request{Continue: all[strings.LastIndex(all, positionSeparator)+1:]}
}

// pagerOf returns the addresses of the pages around this one.
func pagerOf[T any](c *call, page paging.Page[T]) (p views.Pager) {
	before := c.query("continue")
	if before != "" {
		p.Previous = c.withQuery("continue", before[:max(strings.LastIndex(before, positionSeparator), 0)])
	}
	if page.Continue != "" {
		for len(before) > maxPositions {
			_, before, _ = strings.Cut(before, positionSeparator)
		}
		p.Next = c.withQuery("continue", strings.TrimPrefix(before+positionSeparator+page.Continue, positionSeparator))
	}
	p.Position = views.Positions(page.Offset, len(page.Items), page.Count)
	return p
}

// listPage reads a list to its end, and returns the rows of the page whose number is in its address. read returns the rows after one, as
// the lists of the domain do. Only the rows of the page stay in memory.
func listPage[T any](address *url.URL, read func(after T) ([]T, bool, error), matches func(T) bool) (rows []T, p views.Pager, err error) {
	start := views.ListPages.Start(address, math.MaxInt)
	rows, total, err := readPage(start, read, matches)
	if actual := views.ListPages.Start(address, total); err == nil && start > actual { // the list has become shorter
		start = actual
		rows, total, err = readPage(start, read, matches)
	}
	return rows, views.ListPages.Pager(address, start, len(rows), total), err
}

// readPage returns the rows of the page after the first ones, and how many rows all pages have.
func readPage[T any](start int, read func(after T) ([]T, bool, error), matches func(T) bool) (rows []T, total int, err error) {
	for row, err := range paging.All(read) {
		if err != nil {
			return nil, 0, err
		}
		if !matches(row) {
			continue
		}
		if total >= start && len(rows) < views.ListPages.Rows {
			rows = append(rows, row)
		}
		total++
	}
	return rows, total, nil
}

// filter is the search field above a list.
type filter struct {
	Label, Action, Value string

	canonical string // of Value
}

// newFilter returns the search field with the text that was entered.
func (c *call) newFilter(label, action string) filter {
	value := c.query("filter")
	return filter{label, action, value, names.Canonical(value)}
}

// matches reports whether one of the texts contains that of the filter, in any letter case.
func (f filter) matches(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(names.Canonical(text), f.canonical) })
}

// confirmation asks before an action that cannot be undone.
type confirmation struct{ Question, Text, Action, Button, Cancel string }

func (c *call) confirm(asked confirmation) error {
	return c.show("confirm.html", asked.Question, asked)
}

// showForm shows a page that consists of a form.
func (c *call) showForm(title string, f *forms.Form) error {
	return c.show("form.html", title, f.Focus())
}

// showFormAgain shows the form with the problems of its values.
func (c *call) showFormAgain(err error, title string, f *forms.Form) error {
	return c.showAgain(err, "form.html", title, f.Refuse(c, err))
}

// pathOf returns the address of one item of a list, or of an action on it.
func pathOf(list, uid string, action ...string) string {
	return strings.Join(append([]string{list, url.PathEscape(uid)}, action...), "/")
}
