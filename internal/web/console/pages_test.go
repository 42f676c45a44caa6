package console

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// admin returns the administrator of the world.
func (w *world) admin(t *testing.T) (p auth.Principal) {
	t.Helper()
	err := w.db.View(t.Context(), func(tx *store.Tx) error {
		org, err := tx.Orgs.ByName(t.Context(), "acme")
		user, errUser := tx.Users.ByEmail(t.Context(), org.UID, email)
		p = auth.Principal{UserUID: user.UID, OrgUID: org.UID, OrgName: org.Name, Email: email, Role: auth.RoleAdmin}
		return errors.Join(err, errUser)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Lists of users have pages, which a filter reduces, and are small with many users.
func TestPagesOfUsers(t *testing.T) {
	w := mustWorld(t, false)
	cookie, p := w.mustLogin(), w.admin(t)
	for i := range 130 {
		input := directory.NewUser{Email: fmt.Sprintf("u%03d@acme.example", i), WithoutPassword: true,
			PersonName: directory.PersonName{FirstName: strings.Repeat("Ä", 100), LastName: fmt.Sprint("<b>", i%2)}}
		if _, err := w.Directory.CreateUser(t.Context(), p, audit.Origin{}, input); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		query, first, last, position string
		rows                         int
	}{
		{"", "admin@acme.example", "u048@acme.example", "1–50 of 131", 50},
		{"?page=2", "u049@acme.example", "u098@acme.example", "51–100 of 131", 50},
		{"?page=3", "u099@acme.example", "u129@acme.example", "101–131 of 131", 31},
		{"?page=2&filter=%3CB%3E1", "u101@acme.example", "u129@acme.example", "51–65 of 65", 15},
		{"?page=x", "admin@acme.example", "u048@acme.example", "1–50 of 131", 50},
		{"?page=-1", "admin@acme.example", "u048@acme.example", "1–50 of 131", 50},
		{"?filter=ADMIN", "admin@acme.example", "admin@acme.example", "", 1},
		{"?filter=none%00&notice=x", "No user matches the filter.", "", "", 0},
		{"?page=9", "u099@acme.example", "u129@acme.example", "101–131 of 131", 31},
		{"?page=99999999999999999999", "u099@acme.example", "u129@acme.example", "101–131 of 131", 31},
		{"?page=9&filter=none", "No user matches the filter.", "", "", 0},
	} {
		got := w.send("GET", pathUsers+tt.query, "", "Cookie", cookie)
		page := got.Body.String()
		if got.Code != http.StatusOK || strings.Count(page, `<th scope="row">`) != tt.rows || !strings.Contains(page, tt.first) ||
			!strings.Contains(page, tt.last) ||
			!strings.Contains(page, tt.position) || len(page) > 100_000 || strings.Contains(page, "<b>") {
			t.Errorf("%s: %d, %d bytes\n%s", tt.query, got.Code, len(page), page)
		}
	}
	page := w.send("GET", pathUsers+"?page=2&filter=u&notice=userDeleted", "", "Cookie", cookie).Body.String()
	for _, link := range []string{`rel="prev" href="/console/users?filter=u&amp;page=1"`,
		`rel="next" href="/console/users?filter=u&amp;page=3"`} {
		if !strings.Contains(page, link) {
			t.Errorf("the page lacks %s", link)
		}
	}
}

// The audit log names objects and the fields that changed, is filtered by user and object, and its file has no formulas.
func TestAuditLogNamesWhatChanged(t *testing.T) {
	w := mustWorld(t, false)
	cookie, p := w.mustLogin(), w.admin(t)
	form := "name=Harbor&endpoint=https://a.example.com&authType=basic&username=u&password=hunter2"
	created := w.send("POST", pathNewRegistry, form, "Cookie", cookie)
	path := strings.TrimSuffix(created.Header().Get("Location"), "?notice=registrySaved")
	changed := w.send("POST", path+"/edit", strings.Replace(form, "hunter2", "hunter3", 1)+"&baseContentPath=charts&version=1", "Cookie",
		cookie)
	if changed.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", changed.Code, changed.Body)
	}
	uid := strings.TrimPrefix(path, pathRegistries+"/")
	for query, want := range map[string]int{"": 5, "?object=" + uid: 2, "?actor=" + p.UserUID: 3, "?actor=" + email: 3,
		"?actor=" + email + "&action=registry.update": 1, "?object=nothing": 0} {
		page := w.send("GET", pathAudit+query, "", "Cookie", cookie).Body.String()
		if got := strings.Count(page, `<th scope="row">`); got < want || query != "" && got > want {
			t.Errorf("%s: %d records, want %d", query, got, want)
		}
	}
	page := w.send("GET", pathAudit+"?action=registry.update&outcome=succeeded", "", "Cookie", cookie).Body.String()
	for _, want := range []string{">Harbor</a>", ">Content path, Password<", "/console/audit.csv?action=registry.update"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	if unknown := w.send("GET", pathAudit+"?actor=absent@acme.example", "", "Cookie", cookie); unknown.Code != http.StatusBadRequest {
		t.Errorf("an unknown user: %d", unknown.Code)
	}
	file := w.send("GET", pathAudit+".csv", "", "Cookie", cookie)
	text := file.Body.String()
	if !strings.Contains(text, ",succeeded,,baseContentPath auth.password,"+email+","+uid+",Harbor,") ||
		strings.Contains(text+page, "hunter") {
		t.Errorf("%v %s", file.Header(), text)
	}
	if cells := csvCells(audit.Record{ActorName: "=cmd|x", Object: "https://a.example.com"}); cells[6] != "=cmd|x" ||
		cells[7] != "https://a.example.com" {
		t.Errorf("%q", cells)
	}
}

// A member filters by its own email. Whether another user exists is not revealed, and the form stays.
func TestMemberFiltersTheAuditLog(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.member(t, "member@acme.example")
	for actor, want := range map[string]int{"Member@acme.example": http.StatusOK, "": http.StatusOK, email: http.StatusBadRequest,
		"absent@acme.example": http.StatusBadRequest} {
		got := w.send("GET", pathAudit+"?actor="+actor, "", "Cookie", cookie)
		page := got.Body.String()
		if got.Code != want || !strings.Contains(page, `value="`+actor+`"`) ||
			strings.Contains(page, "must be your own email") != (want == http.StatusBadRequest) ||
			strings.Contains(page, ">auth.login</a>") != (want == http.StatusOK) {
			t.Errorf("%s: %d\n%s", actor, got.Code, page)
		}
	}
}

// The pages of the audit log continue at a position, and have the way back.
func TestPagesOfAuditRecords(t *testing.T) {
	w := mustWorld(t, false)
	cookie, p, now := w.mustLogin(), w.admin(t), time.Now()
	err := w.db.InTx(t.Context(), func(tx *store.Tx) error {
		for i := range 120 {
			record := p.AuditRecord(audit.Origin{}, audit.RegistryDelete)
			record.UID, record.At, record.Object, record.Outcome = audit.NewUID(), now.Add(-time.Duration(i)*time.Second),
				fmt.Sprintf("<i>%03d", i), audit.Succeeded
			if err := tx.Audits.Append(t.Context(), record); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	address, want := pathAudit+"?action=registry.delete", []string{"1–50 of 120", "51–100 of 120", "101–120 of 120"}
	for i, position := range want {
		page := w.send("GET", address, "", "Cookie", cookie).Body.String()
		if !strings.Contains(page, position) || !strings.Contains(page, fmt.Sprintf("&lt;i&gt;%03d", i*50)) || len(page) > 100_000 {
			t.Fatalf("page %d at %s:\n%s", i, address, page)
		}
		if next := link(page, "next"); next != "" {
			address = next
		}
	}
	for _, position := range []string{want[1], want[0]} {
		address = link(w.send("GET", address, "", "Cookie", cookie).Body.String(), "prev")
		if page := w.send("GET", address, "", "Cookie", cookie).Body.String(); !strings.Contains(page, position) ||
			!strings.Contains(page, `value="registry.delete" selected`) {
			t.Errorf("%s lacks %s:\n%s", address, position, page)
		}
	}
}

// link returns the address of the previous or next page, empty if there is none.
func link(page, rel string) string {
	_, rest, _ := strings.Cut(page, `rel="`+rel+`" href="`)
	address, _, _ := strings.Cut(rest, `"`)
	return strings.ReplaceAll(address, "&amp;", "&")
}

// Audit records lead to their objects where these have a page that the caller may open.
func TestPageOfTheObjectOfAnAuditRecord(t *testing.T) {
	const uid = "5d23ade2-d0d9-4b36-b142-060a3ee00180"
	for _, tt := range []struct {
		action        audit.Action
		object        string
		admin, member string
	}{
		{audit.RegistryWatch, uid, pathRegistries + "/" + uid, pathRegistries + "/" + uid},
		{audit.APIKeyCreate, uid, pathKeys + "/" + uid, pathKeys + "/" + uid},
		{audit.PasswordChange, uid, pathUsers + "/" + uid, ""},
		{audit.ProjectUpdate, uid, pathProjects + "/" + uid, ""},
		{audit.RegistryDelete, uid, "", ""},
		{audit.RegistryValidate, "https://r.example.com", "", ""},
		{audit.Login, uid, "", ""},
	} {
		for role, want := range map[auth.Role]string{auth.RoleAdmin: tt.admin, auth.RoleMember: tt.member} {
			if got := objectPath(auth.Principal{Role: role}, audit.Record{Action: tt.action, Object: tt.object}); got != want {
				t.Errorf("%s of %s for %s: %q, want %q", tt.action, tt.object, role, got, want)
			}
		}
	}
	ofAnother := audit.Record{Action: audit.APIKeyCreate, Object: uid, ActorUID: "another"}
	for role, want := range map[auth.Role]string{auth.RoleAdmin: pathKeys + "/" + uid, "auditor": ""} {
		if got := objectPath(auth.Principal{UserUID: "u", Role: role}, ofAnother); got != want {
			t.Errorf("a key of another user for %s: %q", role, got)
		}
	}
}

// Only administrators of the only organization see the settings, which are those of all organizations.
func TestSettings(t *testing.T) {
	w := mustWorld(t, false)
	w.configure(func(c *Config) {
		c.Settings = []Setting{{Name: "database-url", Value: "postgres://u:<masked>@h/d", Source: "environment"}}
	})
	cookie := w.mustLogin()
	got := w.send("GET", pathSettings, "", "Cookie", cookie)
	if page := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(page, "postgres://u:&lt;masked&gt;@h/d") ||
		!strings.Contains(page, "environment") {
		t.Errorf("%d %s", got.Code, page)
	}
	if _, err := w.Directory.CreateOrg(t.Context(), auth.Operator(), audit.Origin{}, "Other"); err != nil {
		t.Fatal(err)
	}
	got = w.send("GET", pathSettings, "", "Cookie", cookie)
	if page := got.Body.String(); got.Code != http.StatusForbidden || strings.Contains(page, "postgres://") ||
		!strings.Contains(page, "regwarden config") {
		t.Errorf("with two organizations: %d %s", got.Code, page)
	}
}

// linkKey finds links to the pages of keys.
var linkKey = regexp.MustCompile(`<a href="/console/api-keys/[0-9a-f-]{36}">`)

// An auditor sees when keys of others expire, without links to their pages, which it may not open.
func TestKeysOfOthersHaveNoLinkForAnAuditor(t *testing.T) {
	w := mustWorld(t, false)
	user := directory.NewUser{Email: "auditor@acme.example", Password: password, Role: "auditor"}
	if _, err := w.Directory.CreateUser(t.Context(), w.admin(t), audit.Origin{}, user); err != nil {
		t.Fatal(err)
	}
	auditor := w.send("POST", pathLogin, strings.Replace(loginForm(password), "admin%40", "auditor%40", 1)).Result().Cookies()[0]
	admin, ofAuditor := w.mustLogin(), auditor.Name+"="+auditor.Value
	expires := time.Now().AddDate(0, 0, 9).Format(time.DateOnly)
	for name, cookie := range map[string]string{"of-admin": admin, "of-auditor": ofAuditor} {
		if got := w.send("POST", pathKeys+"/new", "name="+name+"&expiresAt="+expires, "Cookie", cookie); got.Code != http.StatusCreated {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
	for _, path := range []string{pathOverview, "/console/expiry"} {
		for cookie, links := range map[string]int{admin: 2, ofAuditor: 1} {
			page := w.send("GET", path, "", "Cookie", cookie).Body.String()
			if got := len(linkKey.FindAllString(page, -1)); got != links ||
				!strings.Contains(page, "of-admin") || !strings.Contains(page, ">of-auditor</a>") {
				t.Errorf("%s has %d links, want %d: %s", path, got, links, page)
			}
		}
	}
}

// A key can be limited to each project, however many there are.
func TestFormOfAKeyOffersAllProjects(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	for i := range 25 {
		input := directory.NewProject{Name: fmt.Sprintf("Project %d", i)}
		if _, err := w.Directory.CreateProject(t.Context(), w.admin(t), audit.Origin{}, input); err != nil {
			t.Fatal(err)
		}
	}
	form := w.send("GET", pathKeys+"/new", "", "Cookie", cookie).Body.String()
	for i := range 25 {
		if name := fmt.Sprintf(">Project %d</option>", i); strings.Count(form, name) != 1 {
			t.Errorf("the form lacks %s", name)
		}
	}
}

// A new API key is in one response only, which browsers must not store.
func TestCreatedKeyIsShownOnce(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	created := w.send("POST", pathKeys+"/new", "name=ci&expiresAt=2099-01-31", "Cookie", cookie)
	_, rest, _ := strings.Cut(created.Body.String(), "data-once>")
	key, _, _ := strings.Cut(rest, "<")
	if created.Code != http.StatusCreated || !strings.HasPrefix(key, "rwk_") || strings.Count(created.Body.String(), key) != 1 ||
		created.Header().Get("Location") != "" {
		t.Fatalf("%d %v %s", created.Code, created.Header(), created.Body)
	}
	again := w.send("POST", pathKeys+"/new", "name=ci&expiresAt=2099-01-31", "Cookie", cookie)
	list := w.send("GET", pathKeys, "", "Cookie", cookie)
	if again.Code != http.StatusConflict || strings.Contains(again.Body.String(), key) || strings.Contains(list.Body.String(), key) ||
		!strings.Contains(list.Body.String(), key[:8]) {
		t.Errorf("%d %s\n%s", again.Code, again.Body, list.Body)
	}
	keys, _, err := w.Auth.APIKeys.List(t.Context(), w.admin(t), auth.APIKey{})
	if want := time.Date(2099, 2, 1, 0, 0, 0, 0, time.UTC); err != nil || len(keys) != 1 || !keys[0].ExpiresAt.Equal(want) {
		t.Errorf("stored %+v, %v", keys, err)
	}
}
