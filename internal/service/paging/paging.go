// Package paging reads lists page by page.
package paging

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/regwarden/regwarden/internal/fault"
)

// Limits of a list.
const (
	DefaultLimit = 50
	MaxLimit     = 500
	MaxCount     = 10_000 // counting reads all rows
)

// Request selects a page of a list.
type Request struct {
	Limit     int    // 0 is DefaultLimit
	Continue  string // Page.Continue of the previous page
	Uncounted bool   // omits Page.Count
}

// Page is a part of a list.
type Page[T any] struct {
	Items    []T
	Continue string // Request.Continue of the next page; empty if there is none
	Count    int64  // items of the whole list, counted up to MaxCount
	Offset   int    // items before the next page
}

// Problems returns the problems of a request, where cursor is the result of reading its cursor.
func (r Request) Problems(cursor error) (problems []fault.Field) {
	if r.Limit < 0 || r.Limit > MaxLimit {
		problems = append(problems, fault.Field{Field: "limit", Problem: fmt.Sprintf("must be 1–%d", MaxLimit)})
	}
	if cursor != nil {
		problems = append(problems, fault.Field{Field: "continue", Problem: "must be the value that the previous page returned"})
	}
	return problems
}

// Read reads the page after offset items. The texts that position returns for its last item become the next page's cursor.
func Read[T any](r Request, offset int, count func(limit int) (int64, error), list func(limit int) ([]T, error),
	position func(last T) []string) (page Page[T], err error) {
	if !r.Uncounted {
		if page.Count, err = count(MaxCount); err != nil {
			return page, err
		}
	}
	limit := cmp.Or(r.Limit, DefaultLimit)
	// One item beyond the page shows whether there is a next page.
	page.Items, err = list(limit + 1)
	more := len(page.Items) > limit
	page.Items = page.Items[:min(len(page.Items), limit)]
	page.Offset = offset + len(page.Items)
	if more {
		page.Continue = Cursor(page.Offset, position(page.Items[limit-1]))
	}
	return page, err
}

// All returns the items of a whole list. read returns those after an item, and whether there may be more; the zero value begins the list.
// An error ends it.
func All[T any](read func(after T) (page []T, more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last T
		for more := true; more; {
			var page []T
			var err error
			if page, more, err = read(last); err != nil {
				yield(last, err)
				return
			}
			for _, last = range page {
				if !yield(last, nil) {
					return
				}
			}
		}
	}
}

// Cursor returns the text from which a list continues. No text of a position has a newline.
func Cursor(offset int, position []string) string {
	texts := append([]string{strconv.Itoa(offset)}, position...)
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(texts, "\n")))
}

// cursorTexts is how many texts the position of a cursor has.
const cursorTexts = 2

// ReadCursor returns what Request.Continue has: the offset, and the position. Its texts are empty for an empty cursor.
func ReadCursor(text string) (offset int, position []string, err error) {
	if text == "" {
		return 0, make([]string, cursorTexts), nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	texts := strings.Split(string(raw), "\n")
	if err != nil || len(texts) != 1+cursorTexts || !utf8.Valid(raw) || strings.Contains(string(raw), "\x00") {
		return 0, nil, errors.New("not a cursor")
	}
	if offset, err = strconv.Atoi(texts[0]); err != nil || offset < 0 {
		return 0, nil, errors.New("not an offset of a cursor")
	}
	return offset, texts[1:], nil
}
