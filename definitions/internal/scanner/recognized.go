package scanner

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"sync"
)

// foreign are extensions of files that define nothing, whatever words are in them: programs, documentation, pictures and archives.
// They are opened only if they are given.
var foreign = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for _, extension := range strings.Fields(`md markdown mdx rst adoc asciidoc html htm css scss sass less svg xml xsd pdf tex po pot
		go ts tsx jsx mjs cjs vue svelte py pyi rb java kt kts scala groovy c h cc cpp hpp cs fs rs swift m php pl pm lua r jl ex exs erl hs
		clj dart sql proto graphql wasm sum mod rego cue star bzl patch diff snap map csv tsv ipynb
		png jpg jpeg gif ico webp bmp tiff mp3 mp4 mov avi webm woff woff2 ttf eot otf
		zip gz tgz bz2 xz zst tar jar war class so dylib dll exe o a bin db sqlite pyc dat`) {
		known["."+extension] = true
	}
	return known
})

// isForeign reports whether a file of a walk is not opened.
func isForeign(name string) bool {
	return foreign()[strings.ToLower(path.Ext(name))] && !strings.HasPrefix(path.Base(name), ".")
}

// isBinary reports whether the file is not text. UTF-16 begins with a byte order mark.
func (f *File) isBinary() bool {
	start := f.Data[:min(len(f.Data), 1024)]
	return bytes.IndexByte(start, 0) >= 0 && !bytes.HasPrefix(start, []byte("\xff\xfe")) && !bytes.HasPrefix(start, []byte("\xfe\xff"))
}

// Extension returns the extension of the file in lower case, "" for standard input.
func (f *File) Extension() string { return strings.ToLower(path.Ext(f.Path)) }

// IsWalked reports whether the file was found in a directory. The user did not name it, so that its syntax is of interest only if it
// is certain that a known program reads it.
func (f *File) IsWalked() bool { return f.found }

// HasName reports whether the last elements of the path match one of the patterns, which are those of path.Match. The tree of a file that
// is named itself begins at its directory, so that the directories above are in its name only.
func (f *File) HasName(patterns ...string) bool {
	name := f.Path
	if f.found && !f.embedded && f.Scanner.Options.SkipUnknown {
		name = f.Name
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool { return hasName(name, pattern) })
}

// hasName is path.Match for the last elements of a path, after what is literal at the end of the pattern was compared: every file is
// compared with many patterns.
func hasName(name, pattern string) bool {
	i, j := len(pattern), len(name)
	for ; i > 0 && strings.IndexByte(`*?[]\`, pattern[i-1]) < 0; i, j = i-1, j-1 {
		if j == 0 || name[j-1] != pattern[i-1] {
			return false
		}
	}
	if i == 0 {
		return j == 0 || name[j-1] == '/'
	}
	at := len(name)
	for range strings.Count(pattern, "/") + 1 {
		at = strings.LastIndexByte(name[:max(at, 0)], '/')
	}
	matched, err := path.Match(pattern, name[at+1:])
	return err == nil && matched
}

// isProven reports whether name or content prove that a known program reads the file: then what it cannot parse is a problem. The content
// is that of the document in this line.
func (f *File) isProven(line int) bool {
	if !f.found || f.Scanner.Options.Format != "" || slices.ContainsFunc(f.Scanner.Formats,
		func(r Reader) bool { return f.HasName(r.Names...) }) {
		return true
	}
	if !f.isData() && f.Extension() != "" || !bytes.Contains(f.Data, []byte("kubernetes.io/dockerc")) {
		return false
	}
	document := documentAt(f.Data, line)
	return bytes.Contains(document, []byte("Secret")) && bytes.Contains(document, []byte("kind")) &&
		bytes.Contains(document, []byte("kubernetes.io/dockerc"))
}

// isData reports whether the file is JSON or YAML by its name.
func (f *File) isData() bool { return IsOneOf(f.Extension(), ".json", ".yaml", ".yml") }

// documentAt returns the YAML document of a text that has this line.
func documentAt(text []byte, line int) []byte {
	begin, at := 0, 0
	for n := 1; at < len(text); n++ {
		end := bytes.IndexByte(text[at:], '\n') + 1
		if end == 0 {
			end = len(text) - at
		}
		if bytes.HasPrefix(text[at:], []byte("---")) {
			if n > line {
				return text[begin:at]
			}
			begin = at
		}
		at += end
	}
	return text[begin:]
}
