package console_test

import (
	"cmp"
	"flag"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/test/healthhistory"
)

var (
	screenshots = flag.String("screenshots", "", "directory to write the images of the documentation to, instead of testing")
	page        = flag.String("page", "", "file in pages, without .mjs, to test alone")
	long        = flag.Bool("long", false, "test every page in every color scheme at every width")
)

// shown are the registries of the images, and how many of their last checks failed.
var shown = []struct {
	name, password, content string // empty: those of the test registry
	code                    string // of the failures
	failures                int
}{
	{name: "edge-charts"}, {name: "payments-charts", password: "rotated in spring", code: "RegistryAuthFailed", failures: 9},
	{name: "platform-charts"},
	{name: "security-tools"}, {name: "shop-charts", content: "charts/shop", code: "RegistryContentNotFound", failures: 2},
	{name: "shop-staging"},
}

const historyChecks = 120

// startShown stores the registries of the images with 30 days of history, checks the failing ones, and returns the address of
// the service.
func startShown(t *testing.T, s service) string {
	t.Helper()
	server := start(t, "", "--watch-interval", "0")
	admin, failures, codes := newAdmin(t, server), map[string]int{}, map[string]string{}
	for _, one := range shown {
		r := s.Registry
		r.Password, r.Content = cmp.Or(one.password, r.Password), cmp.Or(one.content, r.Content)
		uid := admin.storeRegistry(one.name, r)
		failures[uid], codes[uid] = one.failures, one.code
	}
	server.Stop(syscall.SIGTERM)
	healthhistory.Add(t, server.DataDir, healthhistory.Days(30, historyChecks), func(uid string, i int) (store.HealthResult, bool) {
		if i >= historyChecks-failures[uid] || failures[uid] > 2 && i%50 > 46 {
			return store.HealthResult{Code: codes[uid]}, true
		}
		return store.HealthResult{Valid: true}, true
	})
	server = start(t, server.DataDir)
	admin = newAdmin(t, server)
	for uid, n := range failures {
		if n > 0 {
			admin.check(uid)
		}
	}
	return server.URL
}
