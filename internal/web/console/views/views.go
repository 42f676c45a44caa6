// Package views has what pages look like: templates, styles, scripts and icons, all embedded, and the drawings and texts in them. Templates
// escape what they show.
package views

import (
	"cmp"
	"embed"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/words"
	"github.com/regwarden/regwarden/regcheck"
)

//go:embed templates icons
var templateFiles embed.FS

// Views are the pages and the files that they use.
type Views struct {
	Assets
	pages map[string]func() (*template.Template, error) // by the names of their files, each with the layout and the parts that pages share
}

// sharedFiles are the layout and the parts.
var sharedFiles = []string{"templates/layout.html", "templates/parts.html", "templates/definition.html", "templates/result.html"}

// Read reads the embedded files. Times on pages are relative to now.
func Read(now func() time.Time) (*Views, error) {
	assets, err := readAssets()
	if err != nil {
		return nil, err
	}
	icons, err := readIcons()
	if err != nil {
		return nil, err
	}
	shared, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"asset":        assets.url,
		"icon":         icons.find,
		"ago":          func(at time.Time) template.HTML { return words.Ago(at, now(), false) },
		"Ago":          func(at time.Time) template.HTML { return words.Ago(at, now(), true) }, // begins a cell or a sentence
		"date":         func(at time.Time) string { return at.UTC().Format(time.DateOnly) },
		"capital":      words.Capital,
		"count":        words.Count,
		"fix":          fix,
		"sentence":     sentence,
		"stage":        func(name string) string { return stageLabel(regcheck.Stage(name)) },
		"label":        forms.Label,
		"labels":       forms.Labels,
		"option":       forms.OptionLabel,
		"identity":     forms.Identity,
		"bars":         Stages,
		"stages":       usualStages,
		"milliseconds": Milliseconds,
		"place":        Place,
		"short":        Short,
	}).ParseFS(templateFiles, sharedFiles...)
	if err != nil {
		return nil, err
	}
	pages, err := readPages(shared)
	return &Views{assets, pages}, err
}

// readPages returns the pages, each of which is read when it is first shown: copies of what they share are most of the memory of an idle
// server.
func readPages(shared *template.Template) (map[string]func() (*template.Template, error), error) {
	files, err := fs.Glob(templateFiles, "templates/*.html")
	all := map[string]func() (*template.Template, error){}
	for _, file := range files {
		if slices.Contains(sharedFiles, file) {
			continue
		}
		all[path.Base(file)] = sync.OnceValues(func() (*template.Template, error) {
			page, err := shared.Clone()
			if err != nil {
				return nil, err
			}
			return page.ParseFS(templateFiles, file)
		})
	}
	return all, err
}

// Execute writes the page with the name of its file.
func (v *Views) Execute(out io.Writer, name string, layout Layout) error {
	read, ok := v.pages[name]
	if !ok {
		return errors.New("there is no template " + name)
	}
	page, err := read()
	if err != nil {
		return err
	}
	return page.ExecuteTemplate(out, "layout", layout)
}

// Layout is what is around the data of a page.
type Layout struct {
	Title     string
	Nav       []NavEntry
	Principal auth.Principal // the zero value without a session
	Role      string         // of the principal, by its name
	Notice    string
	Theme     string // "" for that of the system
	Here      string // the address of the page, for forms that lead back to it
	Failing   int    // how many registries fail
	Data      any
}

// Empty is a list without entries: what to do next, and the page and label of the link that does it.
type Empty struct{ Text, Path, Action string }

// NavEntry is an entry of the navigation.
type NavEntry struct {
	Label, Path, Icon string
	Current           bool
}

type iconSet map[string]template.HTML

func readIcons() (iconSet, error) {
	files, err := fs.Glob(templateFiles, "icons/*.svg")
	icons := iconSet{}
	for _, file := range files {
		text, err := templateFiles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		icons[strings.TrimSuffix(path.Base(file), ".svg")] = template.HTML(strings.TrimSpace(string(text))) // #nosec G203 -- a file of ours
	}
	return icons, err
}

func (i iconSet) find(name string) (template.HTML, error) {
	icon, ok := i[name]
	if !ok {
		return "", errors.New("there is no icon " + name)
	}
	return icon, nil
}

const maxShownText = 300 // characters of a text of a scanned file

// entryOf returns the row of a health status in the table of codes.
func entryOf(state store.HealthResult) (entry regcheck.Entry, found bool) {
	for _, e := range regcheck.Entries() {
		if e.Warning == "" && string(e.Code) == state.Code && string(e.Reason) == state.Reason {
			return e, true
		}
	}
	return entry, false
}

// fix returns what to do about a health status: that of its code, which its page makes more precise.
func fix(state store.HealthResult) string {
	if e, found := entryOf(state); found {
		return forms.Audience.Show(e.Hint)
	}
	return state.Hint
}

// sentence returns what the code of a health status means, for several registries.
func sentence(state store.HealthResult) string {
	if e, found := entryOf(state); found {
		return forms.Audience.Show(e.Sentence)
	}
	return state.Message
}

// Place returns where a file has a definition.
func Place(source model.Source) string { return Short(cmp.Or(source.InFile(), source.File)) }

// Short returns the beginning of a text of a file.
func Short(text string) string {
	if len(text) <= maxShownText {
		return text
	}
	return strings.ToValidUTF8(text[:maxShownText], "") + "…"
}
