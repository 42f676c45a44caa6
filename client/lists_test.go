package client_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
)

// Each list of a server that is not to be trusted ends, before its values take much memory. The first row of each kind is a long list that
// is accepted.
func TestLengthsOfLists(t *testing.T) {
	items := func(w http.ResponseWriter, item string, n int, next string) {
		respond(w, 200, `{"items":[`+strings.Repeat(item+",", n-1)+item+`],"listmeta":{"continue":"`+next+`"}}`)
	}
	text := `{"metadata":{"name":"` + strings.Repeat("a,[{", 10<<10) + `"}}`
	for _, tt := range []struct {
		name string
		send func(http.ResponseWriter)
		want string // a part of the error of a list in pages; empty for none
		all  string // of a list without pages
	}{
		{"500 items of 40 KiB", func(w http.ResponseWriter) { items(w, text, 500, "") }, "", ""},
		{"empty objects", func(w http.ResponseWriter) { items(w, "{}", 1_000_000, "") }, "more than 200000 values",
			"more than 1000000 values"},
		{"null", func(w http.ResponseWriter) { items(w, "null", 1_000_001, "") }, "more than 200000 values", "more than 1000000 values"},
		{"compressed", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
			packed := gzip.NewWriter(w)
			_, _ = io.CopyN(packed, spaces{}, 65<<20)
			_ = packed.Close()
		}, "larger than 64 MiB", "larger than 64 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) { tt.send(w) })
			c := newClient(t, server.URL, client.Config{APIKey: "k"})
			_, pagesErr := client.Collect(c.Registries.List(t.Context()))
			_, allErr := client.Collect(c.Projects.List(t.Context()))
			for _, got := range []struct {
				err  error
				want string
			}{{pagesErr, tt.want}, {allErr, tt.all}} {
				if (got.want != "") != (got.err != nil) || !strings.Contains(fmt.Sprint(got.err), got.want) {
					t.Errorf("%v, want %q", got.err, got.want)
				}
			}
		})
	}
}

// spaces is an endless text.
type spaces struct{}

func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestEndlessPages(t *testing.T) {
	requests := 0
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		respond(w, 200, fmt.Sprintf(`{"items":[{"metadata":{"name":%q}}],"listmeta":{"continue":"%d"}}`,
			strings.Repeat("a", 1<<20), requests))
	})
	list := newClient(t, server.URL, client.Config{APIKey: "k", MaxList: 4 << 20}).Registries.List(t.Context())
	for range 2 { // each reading counts from the start
		requests = 0
		got := []api.OCIRegistrySummary{}
		var last error
		for item, err := range list {
			if last = err; err == nil {
				got = append(got, item)
			}
		}
		if len(got) != 3 || requests != 4 || last == nil || !strings.Contains(last.Error(), "the list is larger than 4 MiB") {
			t.Errorf("%d items of %d requests, %v", len(got), requests, last)
		}
	}
}

// A uid names one registry, also when the name of another one is that uid: what is meant for it must not go to the other.
func TestFindPrefersUIDs(t *testing.T) {
	const uid, twin = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	summary := func(uid, name string) string { return `{"metadata":{"uid":"` + uid + `","name":"` + name + `"}}` }
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		list := []string{summary(twin, uid), summary(uid, "charts"), summary("33333333-3333-3333-3333-333333333333", "Charts-2")}
		if r.URL.Query().Get("name") != "" {
			list = list[:1]
		}
		respond(w, http.StatusOK, `{"items":[`+strings.Join(list, ",")+`]}`)
	})
	c := newClient(t, server.URL, client.Config{APIKey: "k"})
	for ref, want := range map[string]string{uid: uid, twin: twin, "99999999-9999-9999-9999-999999999999": ""} {
		found, err := c.Registries.Find(t.Context(), ref)
		if found == nil {
			found = new(api.OCIRegistrySummary)
		}
		if found.Metadata.UID != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", ref, found.Metadata.UID, err, want)
		}
	}
}
