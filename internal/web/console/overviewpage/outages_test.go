package overviewpage

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/service/registries"
)

// Registries of one host that fail for one reason are one line, with the oldest failure; other hosts and reasons are others.
func TestOutages(t *testing.T) {
	at := time.Now()
	failing := func(endpoint, code string, hours int) registries.Summary {
		var r registries.Summary
		r.Endpoint, r.Health.State.Code, r.Health.Since = endpoint, code, at.Add(time.Duration(-hours)*time.Hour)
		return r
	}
	groups := Outages([]registries.Summary{failing("https://a.example.com/x", "one", 1), failing("b.example.com:5000", "one", 2),
		failing("a.example.com/y", "one", 3), failing("https://a.example.com", "two", 4)})
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprint(g.Host, " ", g.State.Code, " ", len(g.Registries), " ", at.Sub(g.Since)))
	}
	want := []string{"a.example.com one 2 3h0m0s", "b.example.com:5000 one 1 2h0m0s", "a.example.com two 1 4h0m0s"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
