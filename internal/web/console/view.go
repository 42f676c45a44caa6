package console

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/service/auth"
)

//go:embed views/templates views/icons
var templateFiles embed.FS

// templates are the pages by the names of their files, each with the layout and the parts that pages share.
type templates map[string]*template.Template

// sharedFiles are the layout and the parts.
var sharedFiles = []string{"views/templates/layout.html", "views/templates/parts.html", "views/templates/definition.html",
	"views/templates/result.html"}

func (s *Console) parseTemplates() (templates, error) {
	icons, err := readIcons()
	if err != nil {
		return nil, err
	}
	shared, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"asset":        s.static.url,
		"icon":         icons.find,
		"ago":          func(at time.Time) template.HTML { return ago(at, s.Now()) },
		"date":         func(at time.Time) string { return at.UTC().Format("2 Jan 2006") },
		"count":        count,
		"labels":       inLabels,
		"option":       optionLabel,
		"bars":         stageBars,
		"milliseconds": milliseconds,
		"place":        place,
		"short":        short,
	}).ParseFS(templateFiles, sharedFiles...)
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(templateFiles, "views/templates/*.html")
	if err != nil {
		return nil, err
	}
	all := templates{}
	for _, file := range files {
		if slices.Contains(sharedFiles, file) {
			continue
		}
		page, err := shared.Clone()
		if err == nil {
			all[path.Base(file)], err = page.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (t templates) execute(out io.Writer, name string, v view) error {
	page, ok := t[name]
	if !ok {
		return errors.New("there is no template " + name)
	}
	return page.ExecuteTemplate(out, "layout", v)
}

// view is what the layout shows around the data of a page.
type view struct {
	Title     string
	Nav       []navEntry
	Principal auth.Principal // the zero value without a session
	Notice    string
	Theme     string // "" for that of the system
	Here      string // the address of the page, for forms that lead back to it
	Data      any
}

// empty is a list without entries: what to do next, and the page and label of the link that does it.
type empty struct{ Text, Path, Action string }

// pager has the addresses of the pages of a list; empty where there is none.
type pager struct{ Previous, Next, Position string }

type navEntry struct {
	Label, Path, Icon string
	Current           bool
}

func (c *call) view(title string, data any) view {
	v := view{Title: title, Principal: c.principal, Notice: notices[c.URL.Query().Get("notice")], Data: data, Here: pathOverview}
	if theme := c.cookie(themeCookie); themes[theme] {
		v.Theme = theme
	}
	if c.Method == "GET" {
		v.Here = ownPage(withoutNotice(c.URL))
	}
	if c.principal.UserUID == "" {
		return v
	}
	for _, r := range c.console.nav {
		if r.permission == "" || c.principal.Can(r.permission) {
			target := strings.TrimSuffix(r.path, "{$}")
			v.Nav = append(v.Nav, navEntry{r.label, target, r.icon, isWithin(c.URL.Path, target)})
		}
	}
	return v
}

// isWithin reports whether a page is that of the navigation's entry, or below it.
func isWithin(page, entry string) bool {
	return page == entry || entry != pathOverview && strings.HasPrefix(page, entry+"/")
}

// notices are the messages that a page may show after a redirect, by the name in its address.
var notices = map[string]string{
	"ended":        "Your session has ended. Log in again.",
	"loggedOut":    "You are logged out.",
	"notChanged":   "Your session has ended, so nothing was changed. Log in and try again.",
	"maybeChanged": "Your session has ended. Log in with your new password; if it is refused, the password was not changed.",

	"keySaved":       "The API key is saved.",
	"keyActivated":   "The API key is active.",
	"keyDeactivated": "The API key is not active any more.",
	"keyDeleted":     "The API key is deleted.",

	"projectCreated": "The project is created.",
	"projectRenamed": "The project has a new name.",
	"projectDeleted": "The project is deleted.",

	"userCreated":     "The user is created.",
	"userSaved":       "The user is saved.",
	"roleSet":         "The role is set.",
	"projectsSet":     "The projects are set.",
	"userPasswordSet": "The password is set. The sessions of the user have ended.",
	"userDisabled":    "The user is disabled. Its sessions have ended.",
	"userEnabled":     "The user can log in again.",
	"userDeleted":     "The user is deleted.",

	"sessionEnded":    "The session has ended.",
	"othersEnded":     "Your other sessions have ended.",
	"passwordChanged": "Your password is changed. Your other sessions have ended.",

	"registrySaved":   "The registry is stored.",
	"registryChecked": "The check has ended.",
	noticeDue:         "The registry is due for a check, which has not ended yet.",
	"registryDeleted": "The registry is deleted.",
	"syncRequested":   "The content is synchronized as soon as the limits of your requests allow it.",

	"channelCreated": "The channel is stored. Send a test to try it.",
	"channelChanged": "The channel is changed.",
	"channelDeleted": "The channel is deleted.",
}

type iconSet map[string]template.HTML

func readIcons() (iconSet, error) {
	files, err := fs.Glob(templateFiles, "views/icons/*.svg")
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

// ago returns a time relative to now, with the exact one on hover. The zero value is never.
func ago(at, now time.Time) template.HTML {
	if at.IsZero() {
		return "never"
	}
	text := "just now"
	switch gap := now.Sub(at); {
	case gap >= time.Minute:
		text = inWords(gap) + " ago"
	case gap < 0:
		text = "in " + inWords(-gap)
	}
	at = at.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, at.Format(time.RFC3339), at.Format("Mon, 2 Jan 2006 15:04:05 MST"), text)) // #nosec G203 -- contains only formatted times
}

// inWords returns a duration in its largest unit. It rounds, and up to two of a unit it uses the next smaller one, since "1 month"
// says too little of 59 days. Seconds are rounded up.
func inWords(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}} {
		if d >= 2*unit.length {
			return count(int(d.Round(unit.length)/unit.length), unit.name)
		}
	}
	if d >= time.Minute {
		return count(int(d.Round(time.Minute)/time.Minute), "minute")
	}
	return count(int((d+time.Second-1)/time.Second), "second")
}

// count returns a number with its noun, which gets an s in the plural.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
