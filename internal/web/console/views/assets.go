package views

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
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
