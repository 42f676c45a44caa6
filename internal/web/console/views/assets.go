package views

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed static
var staticFiles embed.FS

// Assets are the styles and scripts, compressed once. Their path has the hash of all of them, so browsers may cache them
// forever, and scripts import each other by relative paths.
type Assets struct {
	hash  string
	files map[string]asset
}

type asset struct {
	contentType       string
	plain, compressed []byte
}

var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func readAssets() (Assets, error) {
	all, total := Assets{files: map[string]asset{}}, sha256.New()
	err := fs.WalkDir(staticFiles, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		plain, err := staticFiles.ReadFile(name)
		if err != nil {
			return err
		}
		contentType, ok := contentTypes[path.Ext(name)]
		if !ok {
			return fmt.Errorf("the type of the file %s is not known", name)
		}
		fmt.Fprintf(total, "%s %d ", name, len(plain))
		total.Write(plain)
		all.files[strings.TrimPrefix(name, "static/")] = asset{contentType, plain, compress(plain)}
		return nil
	})
	all.hash = hex.EncodeToString(total.Sum(nil)[:8])
	return all, err
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

// PathStatic is the path below which the files are.
const PathStatic = "/console/static/"

// Pattern is the pattern of http.ServeMux of the files.
func (a Assets) Pattern() string { return PathStatic + "{hash}/{file...}" }

// url returns the address of a file.
func (a Assets) url(file string) (string, error) {
	if _, ok := a.files[file]; !ok {
		return "", fmt.Errorf("there is no file %s", file)
	}
	return PathStatic + a.hash + "/" + file, nil
}

// Serve sends a file, and reports whether there is one with that name. Another hash is of another version: during an upgrade its page may
// have come from another server.
func (a Assets) Serve(w http.ResponseWriter, r *http.Request) bool {
	file, ok := a.files[r.PathValue("file")]
	if !ok {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", file.contentType)
	h.Set("Vary", "Accept-Encoding")
	if r.PathValue("hash") == a.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body := file.plain
	if acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = file.compressed
	}
	_, _ = w.Write(body) // fails only if the browser went away
	return true
}
