package console_test

import (
	"bytes"
	"cmp"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/test/healthhistory"
)

var (
	screenshots = flag.String("screenshots", "", "directory to write the images of the documentation to, instead of testing")
	page        = flag.String("page", "", "file in pages, without .mjs, to test alone")
	long        = flag.Bool("long", false, "test every page in every color scheme at every width")
)

// teams and uses make the names of the 60 registries of the images.
var (
	teams = strings.Fields("billing catalog checkout edge identity ledger media orders payments platform risk search security shop support")
	uses  = []string{"charts", "images", "staging", "tools"}
)

// faulty are those of them that fail, and how many of their last checks did, and one whose credentials expire.
var faulty = map[string]struct {
	endpoint, username, password, content string // empty: those of the test registry
	code                                  regcheck.Code
	failures                              int
}{
	"edge-staging":     {endpoint: "https://127.0.0.1:5443", code: regcheck.CodeUnreachable, failures: 1},
	"payments-charts":  {password: "rotated in spring", code: regcheck.CodeAuthFailed, failures: 9},
	"payments-images":  {password: "rotated in spring", code: regcheck.CodeAuthFailed, failures: 9},
	"payments-staging": {password: "rotated in spring", code: regcheck.CodeAuthFailed, failures: 9},
	"search-tools":     {username: expiringUser, password: expiringPassword},
	"shop-charts":      {content: "charts/shop", code: regcheck.CodeContentNotFound, failures: 2},
}

const historyChecks = 120

// startShown stores the registries of the images with 30 days of history, checks the failing ones, and returns the address of
// the service.
func startShown(t *testing.T, s service) string {
	t.Helper()
	server := start(t, "", "--watch-interval", "0")
	admin, names := newAdmin(t, server), map[string]string{}
	for _, team := range teams {
		for _, use := range uses {
			name, r := team+"-"+use, s.Registry
			one := faulty[name]
			r.Endpoint, r.Username = cmp.Or(one.endpoint, r.Endpoint), cmp.Or(one.username, r.Username)
			r.Password, r.Content = cmp.Or(one.password, r.Password), cmp.Or(one.content, r.Content)
			names[admin.storeRegistry(name, r)] = name
		}
	}
	server.Stop(syscall.SIGTERM)
	healthhistory.Add(t, server.DataDir, healthhistory.Days(30, historyChecks), func(uid string, i int) (store.HealthResult, bool) {
		one := faulty[names[uid]]
		if i >= historyChecks-one.failures || one.failures > 2 && i%50 > 46 {
			return store.HealthResult{Code: string(one.code)}, true
		}
		return store.HealthResult{Valid: true}, true
	})
	server = start(t, server.DataDir)
	admin = newAdmin(t, server)
	for uid, name := range names {
		if _, ok := faulty[name]; ok {
			admin.check(uid)
		}
	}
	return server.URL
}

// GitHub shows images of the console about 1,000 px wide, in the colors of the reader, and loads all of a page.
func TestImagesOfTheConsole(t *testing.T) {
	images, err := filepath.Glob("../../docs/images/*.png")
	if err != nil || len(images) == 0 {
		t.Fatal(images, err)
	}
	for _, name := range images {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil || shown.Width != 1280 || len(data) > 150_000 {
			t.Errorf("%s: %d px wide, %d bytes: %v", name, shown.Width, len(data), err)
		}
		other := strings.TrimSuffix(name, ".png") + "-dark.png"
		if before, dark := strings.CutSuffix(name, "-dark.png"); dark {
			other = before + ".png"
		}
		if !slices.Contains(images, other) {
			t.Errorf("%s is missing", other)
		}
	}
}
