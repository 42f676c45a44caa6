package server

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/regwarden/regwarden/internal/service/paging"
)

const (
	// pieceBytes is how much of a list is encoded before it is sent. A smaller response does not count for the budget.
	pieceBytes = 32 << 10
	// listBytes is the memory of a longer list: a page of records and a piece. The page sizes of the store depend on
	// it.
	listBytes = 512 << 10
)

// items is the body {"items":[…]} of a list that may be long. It is read page by page and sent piece by piece, so that
// a large response to a slow client needs little memory.
type items[T any] struct {
	read func(after T) (page []T, more bool, err error) // the zero value starts at the first page
	show func(T) any                                    // nil omits the item
	tail func() any                                     // an object whose members follow the items; nil for none
}

// listOf returns items without a tail as a handler's response.
func listOf[T any](read func(after T) (page []T, more bool, err error), show func(T) any) (response, error) {
	return response{http.StatusOK, items[T]{read: read, show: show}}, nil
}

// recordsPage is the page size of a list with a limit.
const recordsPage = 100

// limitedPages reads a list of at most limit records in pages of at most size.
func limitedPages[T any](limit, size int, read func(limit int, after T) (page []T, more bool, err error)) func(after T) ([]T, bool, error) {
	left := limit
	return func(after T) ([]T, bool, error) {
		page, more, err := read(min(left, size), after)
		left -= len(page)
		return page, more && left > 0, err
	}
}

// countedList is a list of at most request.Limit items, which read returns in pages, and of which clients can continue.
func countedList[T any](request *paging.Request, tail listTail, read func() (paging.Page[T], error), show func(T) any) items[T] {
	tail.ListMeta.Limit = cmp.Or(request.Limit, paging.DefaultLimit)
	return items[T]{
		read: limitedPages(tail.ListMeta.Limit, recordsPage, func(limit int, _ T) ([]T, bool, error) {
			request.Limit = limit
			page, err := read()
			if !request.Uncounted {
				tail.ListMeta.Count = page.Count
			}
			tail.ListMeta.Continue, tail.ListMeta.Offset = page.Continue, page.Offset
			request.Continue, request.Uncounted = page.Continue, true
			return page.Items, page.Continue != "", err
		}),
		show: show,
		tail: func() any { return tail },
	}
}

func (l items[T]) writeTo(out *outgoing) error {
	piece := pieces{out: out}
	_, _ = piece.WriteString(`{"items":[`) // writing to a bytes.Buffer never fails
	first := true
	for item, err := range paging.All(l.read) {
		if err != nil {
			return err
		}
		shown := l.show(item)
		if shown == nil {
			continue
		}
		if !first {
			_ = piece.WriteByte(',')
		}
		first = false
		if err := piece.encode(shown); err != nil {
			return err
		}
	}
	_ = piece.WriteByte(']')
	if err := l.writeTail(&piece); err != nil {
		return err
	}
	_, _ = piece.WriteString("}\n")
	_, err := out.Write(piece.Bytes())
	return err
}

func (l items[T]) writeTail(piece *pieces) error {
	if l.tail == nil {
		return nil
	}
	members, err := encodeJSON(l.tail())
	if err != nil {
		return fmt.Errorf("encode the members after a list: %w", err)
	}
	_ = piece.WriteByte(',')
	_, _ = piece.Write(members[1 : len(members)-1])
	return nil
}

// pieces is the part of a list that is encoded and not yet sent.
type pieces struct {
	bytes.Buffer
	out *outgoing
}

func (p *pieces) encode(item any) error {
	if quick, ok := item.(interface{ appendJSON([]byte) []byte }); ok {
		_, _ = p.Write(quick.appendJSON(p.AvailableBuffer()))
	} else if err := json.MarshalWrite(&p.Buffer, item, encoding); err != nil {
		return err
	}
	if p.Len() < pieceBytes {
		return nil
	}
	if err := p.out.hold(listBytes); err != nil {
		return err
	}
	_, err := p.out.Write(p.Bytes())
	p.out.clearReadDeadline()
	p.Reset()
	return err
}
