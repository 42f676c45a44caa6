package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
)

// A list that is sent item by item reads as one that was encoded whole, and tells when it could not be sent.
func TestItems(t *testing.T) {
	words := []string{"a", "<b>", "ü\n"}
	for n := range len(words) + 1 {
		list := items[string]{n, func(i int) string { return words[i] }}
		var out bytes.Buffer
		if err := list.writeTo(&out); err != nil {
			t.Fatal(err)
		}
		var read struct{ Items []string }
		if err := json.Unmarshal(out.Bytes(), &read); err != nil || read.Items == nil || len(read.Items) != n || n > 1 && (read.Items[1] != words[1] || !bytes.Contains(out.Bytes(), []byte("<b>"))) {
			t.Errorf("%d items are %s, %v", n, out.Bytes(), err)
		}
		if err := list.writeTo(broken{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a connection that is gone: %v", err)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
