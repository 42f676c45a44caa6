package registries

import (
	"fmt"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
)

// A page continues where the one before ended, also when registries were deleted in between, and counts the whole list.
func TestSearchContinues(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		uids := make([]string, 5)
		for i := range uids {
			one := input(fmt.Sprint("ÄR", []int{0, 1, 2, 9, 10}[i]))
			one.Labels = map[string]string{"team": fmt.Sprint(`"<`, i%2), "note": `"team":"x"`, `,"stage`: "a", "last": `,"stage":"a"`}
			uids[i] = k.mustCreate(t, one)
		}
		for _, sort := range []Sort{"", "health", "since", "expiry"} {
			q := Query{Name: "är", Sort: sort, Request: paging.Request{Limit: 2}}
			var got []string
			for offset := 2; ; offset += 2 {
				page, err := k.Search(t.Context(), k.Member, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range page.Items {
					got = append(got, r.Name)
				}
				if page.Count != 5 || page.Offset != min(offset, 5) || (page.Continue == "") != (page.Offset == 5) {
					t.Errorf("%s: page of %d with %+v", sort, len(page.Items), page)
				}
				if q.Continue = page.Continue; q.Continue == "" {
					break
				}
			}
			if strings.Join(got, " ") != "ÄR0 ÄR1 ÄR2 ÄR9 ÄR10" {
				t.Errorf("%s: %q", sort, got)
			}
		}
		for label, count := range map[string]int{`team="<0`: 3, `team="<1`: 2, "team": 5, `team="<`: 0, `TEAM="<0`: 0, "team=x": 0,
			"eam": 0, "note": 5, "": 5, "stage=a": 0, "stage": 0, `,"stage=a`: 5, `,"stage`: 5} {
			page, err := k.Search(t.Context(), k.Member, Query{Label: label})
			if err != nil || len(page.Items) != count || page.Count != int64(count) {
				t.Errorf("label %s: %d registries of %d, want %d, %v", label, len(page.Items), page.Count, count, err)
			}
		}
		page, err := k.Search(t.Context(), k.Member, Query{Request: paging.Request{Limit: 2}})
		if err != nil {
			t.Fatal(err)
		}
		for _, uid := range uids[:2] {
			if err := k.Delete(t.Context(), k.Admin, audit.Origin{}, uid); err != nil {
				t.Fatal(err)
			}
		}
		page, err = k.Search(t.Context(), k.Member, Query{Request: paging.Request{Limit: 2, Continue: page.Continue, Uncounted: true}})
		if err != nil || len(page.Items) != 2 || page.Items[0].Name != "ÄR2" || page.Offset != 4 || page.Count != 0 {
			t.Errorf("after a deletion: %+v, %v", page, err)
		}
		if counts, err := k.CountHealth(t.Context(), k.Operator()); counts.Unknown != 3 || err != nil {
			t.Errorf("counts %+v, %v", counts, err)
		}
		if page, err := k.Search(t.Context(), k.OtherAdmin, Query{}); len(page.Items) != 0 || page.Count != 0 || err != nil {
			t.Errorf("another organization: %+v, %v", page, err)
		}
		if _, err := k.Search(t.Context(), auth.Operator(), Query{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("an operator without an organization: %v", err)
		}
		if _, err := k.Search(t.Context(), k.Member, Query{Sort: "size"}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("an unknown order: %v", err)
		}
	})
}

// A cursor that a caller made up is refused, and never a query that a database refuses.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{"", "x", "MAoxCg", "MgowCg", "MAoxCmEAYg"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		after, offset, err := readCursor(text)
		if err != nil || text == "" {
			return
		}
		again, offsetAgain, err := readCursor(paging.Cursor(offset, position(after)))
		if err != nil || again != after || offsetAgain != offset || strings.ContainsRune(after.Name, 0) {
			t.Errorf("%q is %+v after %d, and again %+v after %d, %v", text, after, offset, again, offsetAgain, err)
		}
	})
}
