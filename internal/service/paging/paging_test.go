package paging_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/regwarden/regwarden/internal/service/paging"
)

// A list is read from page to page, up to its end, an error, or where its reader stops.
func TestAllPages(t *testing.T) {
	failed := errors.New("not reached")
	pages := map[int][]int{0: {1, 2}, 2: {}, 3: {4}}
	for _, tt := range []struct {
		name      string
		more      func(after int) bool
		fails     int // after this item
		stop      int // at this item
		want      []int
		wantReads []int
		wantErr   error
	}{
		{name: "one page", more: func(int) bool { return false }, fails: -1, want: []int{1, 2}, wantReads: []int{0}},
		{name: "an empty page", more: func(after int) bool { return after == 0 }, fails: -1, want: []int{1, 2}, wantReads: []int{0, 2}},
		{name: "an error", more: func(int) bool { return true }, fails: 2, want: []int{1, 2}, wantReads: []int{0, 2}, wantErr: failed},
		{name: "a reader that stops", more: func(int) bool { return true }, fails: -1, stop: 1, want: []int{1}, wantReads: []int{0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got, reads []int
			var end error
			for item, err := range paging.All(func(after int) ([]int, bool, error) {
				reads = append(reads, after)
				if after == tt.fails {
					return nil, true, failed
				}
				return pages[after], tt.more(after), nil
			}) {
				if end = err; err != nil {
					continue
				}
				if got = append(got, item); item == tt.stop {
					break
				}
			}
			if !slices.Equal(got, tt.want) || !slices.Equal(reads, tt.wantReads) || !errors.Is(end, tt.wantErr) {
				t.Errorf("items %v, want %v; read after %v, want %v; error %v, want %v", got, tt.want, reads, tt.wantReads, end, tt.wantErr)
			}
		})
	}
}
