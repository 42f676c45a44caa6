package server

import (
	"bufio"
	"encoding/json"
	"io"
)

// items is the body {"items":[…]} of a list that may be long: its items are made and encoded one by one as they
// are sent, so that an answer of megabytes takes neither the memory nor the time of a copy.
type items[T any] struct {
	count int
	at    func(int) T
}

func (l items[T]) writeTo(w io.Writer) error {
	out := bufio.NewWriterSize(w, 32<<10)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_, _ = out.WriteString(`{"items":[`) // what fails here fails in Flush
	for i := range l.count {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		if err := encoder.Encode(l.at(i)); err != nil {
			return err
		}
	}
	_, _ = out.WriteString("]}\n")
	return out.Flush()
}
