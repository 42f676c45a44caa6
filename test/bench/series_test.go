package bench

import (
	"fmt"
	"slices"
)

// series are figures that were taken again and again, in turn with each other: the machine's moods meet all of them.
type series map[string][]float64

func (s series) add(name string, figure float64) { s[name] = append(s[name], figure) }

// median is the middle one.
func (s series) median(name string) float64 { return median(s[name]) }

func median(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// ratio is the median of one figure over another of the same round.
func (s series) ratio(name, over string) float64 {
	all := make([]float64, len(s[name]))
	for i := range all {
		all[i] = s[name][i] / s[over][i]
	}
	return median(all)
}

// spread tells the median, and the least and the most.
func (s series) spread(name, format string) string {
	figures := s[name]
	if len(figures) == 0 {
		return ""
	}
	return fmt.Sprintf(format+" ("+format+" to "+format+")", s.median(name), slices.Min(figures), slices.Max(figures))
}
