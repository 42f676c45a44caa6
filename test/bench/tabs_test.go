package bench

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	openTabs = 200
	tabsMB   = 20
)

// tabPauses are those after which a page of a registry that waits for its check asks again: see static/registry.js.
var tabPauses = []time.Duration{time.Second, time.Second, time.Second, 2 * time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second,
	5 * time.Second}

// measureTabs opens live pages of a registry within 5 s, each with a connection of its own as in a browser of its own, and returns by
// how many MB the memory of the service grows: what is used without garbage when all tabs are open, and the most that the process has
// while they follow a check.
func measureTabs(b *testing.B, server *instance.Server, address, cookie string) (used, most float64) {
	b.Helper()
	usedBefore := usedMB(b, server)
	time.Sleep(5 * time.Second) // the runtime returns the memory of the garbage
	residentBefore := server.ResidentKiB()
	var open, tabs sync.WaitGroup
	ended := make(chan struct{})
	open.Add(openTabs)
	for i := range openTabs {
		tabs.Go(func() {
			time.Sleep(5 * time.Second * time.Duration(i) / openTabs)
			followCheck(b, address, cookie, &open, ended)
		})
	}
	followed := make(chan struct{})
	go func() { open.Wait(); close(followed) }()
	for following := true; following; {
		most = max(most, float64(server.ResidentKiB()-residentBefore)*1024/1e6)
		select {
		case <-followed:
			following = false
		case <-time.After(100 * time.Millisecond):
		}
	}
	used = usedMB(b, server) - usedBefore
	close(ended)
	tabs.Wait()
	return used, most
}

var usedMemory = regexp.MustCompile(`(?m)^go_memstats_(heap_alloc|stack_inuse)_bytes (\S+)$`)

// usedMB returns the memory that the service uses after a garbage collection: heap and stacks.
func usedMB(b *testing.B, server *instance.Server) (sum float64) {
	b.Helper()
	getPage(b, server.URLOf(b, "Profiles")+"heap?gc=1", "", "")
	for _, found := range usedMemory.FindAllStringSubmatch(server.Metrics(b), -1) {
		value, err := strconv.ParseFloat(found[2], 64)
		noError(b, err)
		sum += value / 1e6
	}
	if sum == 0 {
		b.Fatal("the metrics have no figures of memory")
	}
	return sum
}

// followCheck is what a tab does: after the last request it stays open until ended is closed.
func followCheck(b *testing.B, address, cookie string, open *sync.WaitGroup, ended chan struct{}) {
	connection := &http.Transport{MaxConnsPerHost: 1}
	defer connection.CloseIdleConnections()
	defer func() { open.Done(); <-ended }()
	for i := range len(tabPauses) + 1 {
		if i > 0 {
			time.Sleep(tabPauses[i-1])
		}
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
		if err != nil {
			b.Error(err)
			return
		}
		request.Header.Set("Cookie", cookie)
		response, err := connection.RoundTrip(request) // compressed, as for browsers
		if err != nil {
			b.Error(err)
			return
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			b.Errorf("%s: %d, %v", address, response.StatusCode, err)
			return
		}
	}
}
