package scanner

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// Embedded reads a file that is a text in f, such as one that cloud-init writes to path. Its lines are those of f, unless it is encoded.
func (f *File) Embedded(path string, text *node.Node, encoding string) {
	if !text.IsText() {
		return
	}
	if encoding == "" || encoding == "text/plain" {
		f.EmbeddedText(path, []byte(text.Text()), max(text.TextLine()-1, 0))
		return
	}
	if data, ok := f.decode(text.Text(), encoding); ok {
		f.EmbeddedText(path, data, max(text.Line-1, 0))
	}
}

// EmbeddedText is Embedded for a text behind that many lines of f.
func (f *File) EmbeddedText(path string, text []byte, before int) {
	if f.embedded || path == "" || IsTemplate(path) {
		return
	}
	of := &File{Scanner: f.Scanner, Name: f.Name, Path: strings.TrimPrefix(path, "/"), found: true, embedded: true, before: before,
		Data: text}
	of.Scanner.read(of)
	of.forget()
}

// Limits of embedded files that are compressed: of one, and of all together.
const (
	maxEmbedded     = 128 << 10
	maxDecompressed = 1 << 20
)

// decode decodes a text by the names that cloud-init and Cluster API have for encodings: base64, b64, gzip+base64, gz+b64 and so on.
func (f *File) decode(text, encoding string) (data []byte, ok bool) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	switch {
	case err != nil || !strings.Contains(encoding, "b64") && !strings.Contains(encoding, "base64"):
		return nil, false
	case !strings.Contains(encoding, "gz"):
		return data, true
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil || f.Scanner.decompressed > maxDecompressed {
		return nil, false
	}
	data, err = io.ReadAll(io.LimitReader(r, maxEmbedded))
	f.Scanner.decompressed += len(data)
	return data, err == nil
}
