package flagvalue

import (
	"slices"

	"github.com/spf13/cobra"
)

// Nearest returns the known name that differs least from name, in at most so many letters, or "". Of several, one with the same first
// letter is rather meant. It uses cobra's suggestions.
func Nearest(name string, known []string, typos int) string {
	names := &cobra.Command{}
	for _, k := range known {
		names.AddCommand(&cobra.Command{Use: k, Run: func(*cobra.Command, []string) {}})
	}
	for names.SuggestionsMinimumDistance = 1; names.SuggestionsMinimumDistance <= typos; names.SuggestionsMinimumDistance++ {
		if like := names.SuggestionsFor(name); len(like) > 0 {
			same := slices.IndexFunc(like, func(l string) bool { return l[0] == name[0] })
			return like[max(same, 0)]
		}
	}
	return ""
}
