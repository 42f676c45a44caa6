package bench

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// visits is a registry at many paths, one for each kept definition, which notes when each was checked. It answers
// Basic credentials at once, so that what is measured is the watch.
type visits struct {
	mu   sync.Mutex
	seen map[string][]time.Time // by path: when each check began
}

// sameCheck is less than two checks of one definition are apart, and more than the requests of one.
const sameCheck = 2 * time.Second

// visited is what the registry saw in a time.
type visited struct {
	Paths  int // with a check at least
	Checks int
	Gaps   []time.Duration // between two checks of one path, sorted
	Ages   []time.Duration // from the last check of each path until now, sorted
}

// answer is asked with nothing, and answers with the registry's address; or with a moment (RFC 3339), and answers
// with what it saw since then, as JSON.
func (v *visits) answer(asked string) (string, error) {
	if asked != "" {
		since, err := time.Parse(time.RFC3339Nano, asked)
		return instance.JSON(v.since(since)), err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = http.Serve(listener, http.HandlerFunc(v.serve)) }() //nolint:gosec // for one client, our own
	return "http://" + listener.Addr().String(), nil
}

func (v *visits) serve(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutSuffix(r.URL.Path, "/v2/")
	if !ok {
		http.NotFound(w, r)
		return
	}
	v.note(path)
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if _, password, _ := r.BasicAuth(); password != recordPassword {
		w.Header().Set("WWW-Authenticate", `Basic realm="visits"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func (v *visits) note(path string) {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	all := v.seen[path]
	if n := len(all); n == 0 || now.Sub(all[n-1]) > sameCheck {
		v.seen[path] = append(all, now)
	}
}

// since counts the checks from a moment on. A gap counts when its later end is in that time.
func (v *visits) since(from time.Time) (seen visited) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	for _, all := range v.seen {
		before := seen.Checks
		seen.Ages = append(seen.Ages, now.Sub(all[len(all)-1]))
		for i, at := range all {
			if at.Before(from) {
				continue
			}
			seen.Checks++
			if i > 0 {
				seen.Gaps = append(seen.Gaps, at.Sub(all[i-1]))
			}
		}
		if seen.Checks > before {
			seen.Paths++
		}
	}
	slices.Sort(seen.Gaps)
	slices.Sort(seen.Ages)
	return seen
}

// pathOf is where the registry of one definition is.
func pathOf(i int) string { return "/team/" + strconv.Itoa(i) }
