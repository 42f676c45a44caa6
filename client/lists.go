package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/regcheck"
)

// maxPage is the maximum size of a page.
const maxPage = 500

// Collect returns all items of a list.
func Collect[T any](list iter.Seq2[T, error]) ([]T, error) {
	items := []T{}
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// ReportOf returns the report of a definition that Validate refused, nil for other errors.
func ReportOf(err error) *regcheck.Report {
	refused, ok := errors.AsType[*api.Error](err)
	if !ok || refused.Status != http.StatusUnprocessableEntity {
		return nil
	}
	report := new(regcheck.Report)
	if json.Unmarshal(refused.Details, report) != nil {
		return nil
	}
	return report
}

// list returns the items of a response with all items.
func list[Page, Item any](ctx context.Context, c *Client, r request, items func(*Page) []Item) iter.Seq2[Item, error] {
	r.lists = allItems
	return pages(ctx, c, r, func(page *Page) ([]Item, string) { return items(page), "" })
}

// pages returns the items of a list, which it requests page by page. read returns the items of a page, and where the next page
// begins.
func pages[Page, Item any](ctx context.Context, c *Client, r request, read func(*Page) ([]Item, string)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		r := r // the list may be read again
		r.lists, r.received = max(r.lists, onePage), new(int64)
		for {
			page, err := fetch[Page](ctx, c, r)
			if err == nil && c.maxList > 0 && *r.received > c.maxList {
				err = fmt.Errorf("%s: the list is larger than %d MiB", c.name(r), c.maxList>>20)
			}
			if err != nil {
				yield(*new(Item), err)
				return
			}
			items, next := read(page)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			r = r.at(next)
		}
	}
}

// at returns the request of the page that begins there.
func (r request) at(position string) request {
	values := query("continue", position)
	for name := range r.query {
		if name != "continue" {
			values[name] = r.query[name]
		}
	}
	r.query = values
	return r
}

// pageSize is the value of "limit" for a list of at most this many items, 0 for all.
func pageSize(limit int) string {
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	return strconv.Itoa(limit)
}

// first returns the item that matches, or an error like that of a uid that does not exist.
func first[T any](list iter.Seq2[T, error], kind, name string, matches func(T) bool) (*T, error) {
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		if matches(item) {
			return &item, nil
		}
	}
	return nil, &api.Error{Status: http.StatusNotFound, Code: "ResourceNotFound", Message: kind + " " + strconv.Quote(name) + " not found."}
}
