package views

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

const minCompressed = 1 << 10 // bytes of a page; a smaller one is one packet anyway

var pageWriters = sync.Pool{New: func() any {
	writer, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails for unknown levels only
	return writer
}}

// CompressPage compresses a page if the browser accepts it, and sets the headers that say so. The size of a compressed page says whether it
// repeats a text: pages that contain what was sent, and maybe a secret, are not compressed (BREACH). These are the responses to forms,
// which also have the secrets that are shown once (data-once), and to addresses with a query.
func CompressPage(h http.Header, r *http.Request, page []byte) []byte {
	if r.Method != http.MethodGet || r.URL.RawQuery != "" || len(page) < minCompressed || bytes.Contains(page, []byte("data-once")) {
		return page
	}
	h.Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r) {
		return page
	}
	writer := pageWriters.Get().(*gzip.Writer)
	defer pageWriters.Put(writer)
	var out bytes.Buffer
	writer.Reset(&out)
	_, _ = writer.Write(page) // never fails (bytes.Buffer)
	_ = writer.Close()
	h.Set("Content-Encoding", "gzip")
	return out.Bytes()
}

func compress(plain []byte) []byte {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	_, _ = writer.Write(plain) // never fails (bytes.Buffer)
	_ = writer.Close()
	return out.Bytes()
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name == "gzip" {
			return strings.Trim(weight, " 0.") != "q="
		}
	}
	return false
}
