package flagvalue

import "github.com/spf13/cobra"

// Nearest returns the known name that differs least from name, in at most so many letters, or "". It uses cobra's suggestions.
func Nearest(name string, known []string, typos int) string {
	names := &cobra.Command{}
	for _, k := range known {
		names.AddCommand(&cobra.Command{Use: k, Run: func(*cobra.Command, []string) {}})
	}
	for names.SuggestionsMinimumDistance = 1; names.SuggestionsMinimumDistance <= typos; names.SuggestionsMinimumDistance++ {
		if like := names.SuggestionsFor(name); len(like) > 0 {
			return like[0]
		}
	}
	return ""
}
