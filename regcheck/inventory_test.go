package regcheck_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/inventory"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// listing is an inventory of a server of the kit, and what its sink was handed.
type listing struct {
	*inventory.Inventory
	report *regcheck.Report
	list   []inventory.Repository
}

// login is goodLogin with more fields.
func login(fields string) string {
	return `{` + fields + `"auth":{"type":"basic","username":"${user}","password":"${password}"}}`
}

func mustList(t *testing.T, g *regchecktest.Registry, definition string, from inventory.Cursor, limits inventory.Limits) listing {
	t.Helper()
	c, d := mustRow(t, g, definition)
	var l listing
	var err error
	l.report, l.Inventory, err = inventory.List(t.Context(), c, regcheck.MustParse(t, d), from, limits, func(r inventory.Repository) error {
		l.list = append(l.list, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if faults := checkSecrets(g, l.report, errors.New(l.text())); len(faults) > 0 {
		t.Error(faults)
	}
	return l
}

// names are the repositories, each with its tags and their kinds.
func (l listing) names() (names []string) {
	for _, r := range l.list {
		text := r.Name
		for _, tag := range r.Tags {
			text += " " + tag.Name + "=" + string(tag.Kind)
		}
		names = append(names, text)
	}
	return names
}

// text is everything that came from the registry.
func (l listing) text() string {
	text := fmt.Sprint(l.list)
	if l.Inventory != nil {
		text += fmt.Sprint(l.Notes, l.Stopped)
	}
	return text
}

func chart(name string) string { return name + " 1.2.3=helm 1.3.0_build.7=helm" }

const pack = "packs/spectro-packs/archive/calico 3.27.0=pack"

// The listed part of each kind of registry: all of it, the content below a path, or only the path.
func TestInventory(t *testing.T) {
	charts := []string{chart("charts/nginx"), chart("charts/redis"), chart("charts/team/web")}
	zarf := "packages/podinfo 6.4.0=zarf"
	all := append(append([]string{chart("acme-project/charts/nginx")}, charts...), "empty/none", "images/alpine 3.20=other", zarf,
		pack, chart("public/hello"))
	for _, row := range []struct {
		server, definition string
		want               []string
		note               string // a part of the only one; empty: none
	}{
		{"htpasswd", login(`"baseContentPath":"charts",`), charts, ""},
		{"htpasswd-http2", login(`"baseContentPath":"/charts/",`), charts, ""},
		{"bearer", login(`"baseContentPath":"charts",`), charts, ""},
		{"bearer-other-host", login(`"baseContentPath":"charts/team",`), charts[2:], ""},
		{"open", `{"baseContentPath":"charts/nginx","auth":{"type":"noAuth"}}`, charts[:1], ""},
		{"htpasswd", login(``), all, ""},
		{"htpasswd", login(`"baseContentPath":"packages","providerType":"zarf",`), []string{zarf}, ""},
		{"htpasswd", login(`"baseContentPath":"packs","providerType":"pack",`), []string{pack}, ""},
		{"htpasswd", login(`"baseContentPath":"packs","providerType":"helm",`), []string{pack}, ""},
		{"htpasswd", login(`"providerType":"pack","baseContentPath":"charts",`), charts, "no packs below charts/spectro-packs/archive"},
		{"catalog-max-entries", login(`"baseContentPath":"charts",`), charts, ""},
		{"dockerhub", login(`"baseContentPath":"charts/nginx",`), charts[:1], "Only charts/nginx is listed"},
		{"dockerhub", login(``), nil, "there is no baseContentPath"},
		{"ghcr", login(`"baseContentPath":"charts/nginx",`), charts[:1], "Only charts/nginx is listed"},
		{"ghcr", `{"baseContentPath":"public/hello","auth":{"type":"noAuth"}}`, []string{chart("public/hello")},
			"Only public/hello is listed"},
		{"harbor", login(`"baseContentPath":"charts",`), charts, ""},
		{"harbor", `{"baseContentPath":"charts","auth":{"type":"basic","username":"${robot}","password":"${robotPassword}"}}`, nil,
			"charts itself is not a repository"},
		{"acr", login(`"baseContentPath":"charts/nginx",`), charts[:1], ""},
		{"gitea", login(`"baseContentPath":"charts/nginx",`), charts[:1], ""},
		{"quay", login(`"baseContentPath":"charts",`), charts, ""},
		{"scopeless-content", login(`"baseContentPath":"charts/nginx",`), charts[:1], "Only charts/nginx is listed"},
		{"charts-basic", login(`"kind":"chartRepository",`), chartVersions, ""},
		{"charts-basic", login(`"kind":"chartRepository","baseContentPath":"nginx:1.2.0",`), chartVersions[:1], ""},
		{"charts-open", `{"kind":"chartRepository","auth":{"type":"noAuth"}}`, chartVersions, ""},
		{"charts-long-names", `{"kind":"chartRepository","auth":{"type":"noAuth"}}`,
			[]string{"nginx 1.2.3=helm", "ü" + strings.Repeat("a", 253) + " 1.0.0=helm"}, "too many characters: 2."},
	} {
		g := regchecktest.Start(t, row.server)
		l := mustList(t, g, row.definition, inventory.Cursor{}, inventory.Limits{})
		name := row.server + " " + row.definition
		if l.Inventory == nil {
			t.Errorf("%s: %s", name, outcomeLine(l.report, nil))
			continue
		}
		if diff := cmp.Diff(row.want, l.names()); diff != "" {
			t.Errorf("%s: %v\n%s", name, l.Notes, diff)
		}
		if !l.Complete || row.note == "" && len(l.Notes) > 0 || row.note != "" && !strings.Contains(strings.Join(l.Notes, "\n"), row.note) {
			t.Errorf("%s: complete %v, stopped %q, notes %q, want %q", name, l.Complete, l.Stopped, l.Notes, row.note)
		}
		for _, r := range l.list {
			for _, tag := range r.Tags {
				if tag.Problem != "" || len(tag.Digest) != len("sha256:")+64 {
					t.Errorf("%s: %s: %+v", name, r.Name, tag)
				}
			}
		}
	}
}

// chartVersions is what the chart repositories of the kit have.
var chartVersions = []string{"nginx 1.2.3=helm 1.2.0=helm 2.0.0-rc.1=helm", "redis 18.0.0=helm"}

// The limits of a list are those of chart repositories too. It continues after a chart.
func TestInventoryOfChartsIsLimited(t *testing.T) {
	g := regchecktest.Start(t, "charts-open")
	const definition = `{"kind":"chartRepository","auth":{"type":"noAuth"}}`
	for _, row := range []struct {
		from   inventory.Cursor
		limits inventory.Limits
		want   string
		note   string
	}{
		{inventory.Cursor{}, inventory.Limits{RepositoryTags: 1},
			"[nginx 1.2.3=helm redis 18.0.0=helm] Only the first 1 of its versions are listed.", ""},
		{inventory.Cursor{}, inventory.Limits{Repositories: 1},
			"[nginx 1.2.3=helm 1.2.0=helm 2.0.0-rc.1=helm] ", "first 1 charts with 3 versions"},
		{inventory.Cursor{}, inventory.Limits{Tags: 2}, "[nginx 1.2.3=helm 1.2.0=helm] ", "first 1 charts with 2 versions"},
		{inventory.Cursor{After: "nginx", Repositories: 1, Tags: 3}, inventory.Limits{}, "[redis 18.0.0=helm] ", ""},
	} {
		l := mustList(t, g, definition, row.from, row.limits)
		if got := fmt.Sprint(l.names(), " ", l.list[0].Problem); got != row.want || !l.Complete ||
			!strings.Contains(strings.Join(l.Notes, " "), row.note) || (row.note == "") != (len(l.Notes) == 0) {
			t.Errorf("%+v: %q, %q, want %q", row.limits, got, l.Notes, row.want)
		}
	}
}

// A definition that is not valid is reported and not listed.
func TestInventoryOfInvalidDefinition(t *testing.T) {
	g := regchecktest.Start(t, "htpasswd")
	if l := mustList(t, g, wrongLogin, inventory.Cursor{}, inventory.Limits{}); l.report.Code != regcheck.CodeAuthFailed ||
		l.Inventory != nil || l.list != nil {
		t.Errorf("%s %+v", outcomeLine(l.report, nil), l)
	}
}

// An inventory continues after its cursor, and two calls list the same as one.
func TestInventoryContinuesAfterCursor(t *testing.T) {
	g := regchecktest.Start(t, "bearer")
	whole := mustList(t, g, login(``), inventory.Cursor{}, inventory.Limits{})
	for i := range whole.list {
		broken := errors.New("the store is away")
		c, d := mustRow(t, g, login(``))
		var got []inventory.Repository
		_, _, err := inventory.List(t.Context(), c, regcheck.MustParse(t, d),
			inventory.Cursor{}, inventory.Limits{}, func(r inventory.Repository) error {
				if len(got) == i {
					return broken
				}
				got = append(got, r)
				return nil
			})
		if !errors.Is(err, broken) {
			t.Fatalf("after %d: %v", i, err)
		}
		cursor := inventory.Cursor{Repositories: i}
		for _, r := range got {
			cursor.After = r.Name
			cursor.Tags += len(r.Tags)
		}
		rest := mustList(t, g, login(``), cursor, inventory.Limits{})
		if diff := cmp.Diff(whole.list, append(got, rest.list...)); diff != "" {
			t.Errorf("broken off after %d: %s", i, diff)
		}
		if diff := cmp.Diff(whole.Cursor, rest.Cursor); diff != "" {
			t.Errorf("broken off after %d: %s", i, diff)
		}
	}
}

// The limits are enforced and reported.
func TestInventoryLimits(t *testing.T) {
	g := regchecktest.Start(t, "htpasswd")
	for _, row := range []struct {
		limits       inventory.Limits
		repositories int
		tags         int
		note         string
	}{
		{inventory.Limits{Repositories: 2}, 2, 4, "more than 2 repositories"},
		{inventory.Limits{Tags: 3}, 2, 3, "the first 2 repositories with 3 tags"},
		{inventory.Limits{RepositoryTags: 1}, 3, 3, "more than 1 tag; only the first are listed"},
	} {
		l := mustList(t, g, login(`"baseContentPath":"charts",`), inventory.Cursor{}, row.limits)
		if l.Cursor.Repositories != row.repositories || l.Cursor.Tags != row.tags || !l.Complete || !strings.Contains(l.text(), row.note) {
			t.Errorf("%+v: %+v %q", row.limits, l.Cursor, l.text())
		}
	}
	l := mustList(t, g, login(`"baseContentPath":"charts",`), inventory.Cursor{}, inventory.Limits{Time: time.Nanosecond})
	if l.Complete || l.Stopped == "" || len(l.list) != 0 {
		t.Errorf("no time at all: %+v %q", l.Inventory, l.list)
	}
}
