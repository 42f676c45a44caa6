// Package spelling finds the known names that are most similar to a misspelled one.
package spelling

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

const (
	maxPrefixes     = 3    // returned
	maxCompared     = 2000 // prefixes
	maxComparedText = 96   // bytes of each: the time to compare grows with the square
)

// Hint returns how to correct an unknown path, as the end of a sentence: "; did you mean auth.tls.ca?". It is empty if no known path is
// similar.
func Hint(path string, known []string) string {
	switch near := Field(path, known); near {
	case "":
		return ""
	case path: // {"auth.type": …}
		return "; use nested objects"
	default:
		return "; did you mean " + near + "?"
	}
}

// Field returns the known path whose name is most similar to that of an unknown one, "" if none is: a typing error, another
// case, the beginning of a name, or the name of a field of another object.
func Field(path string, known []string) (nearest string) {
	object, name := splitField(path)
	limit, best := max(1, len(name)/3), 0
	for _, candidate := range known {
		in, other := splitField(candidate)
		d := distance(strings.ToLower(name), strings.ToLower(other))
		if len(name) > 2 && strings.HasPrefix(strings.ToLower(other), strings.ToLower(name)) {
			d = min(d, 1)
		}
		cost := 2 * d
		if in != object {
			cost++
		}
		if d <= limit && (nearest == "" || cost < best) {
			nearest, best = candidate, cost
		}
	}
	return nearest
}

func splitField(path string) (object, name string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

// Prefixes returns the prefixes of repositories that are most similar to a path, at most three, and not the path itself. They
// have as many components as the path.
func Prefixes(path string, repositories []string) []string {
	depth := strings.Count(path, "/") + 1
	best := map[string]int{}
	for _, name := range repositories {
		parts := strings.Split(name, "/")
		if len(parts) > depth {
			parts = parts[:depth]
		}
		prefix := strings.Join(parts, "/")
		if _, known := best[prefix]; !known && prefix != path && len(prefix) <= len(path)+16 && len(prefix) >= len(path)-16 {
			best[prefix] = distance(strings.ToLower(prefix), strings.ToLower(path))
		}
		if len(best) == maxCompared {
			break
		}
	}
	prefixes := slices.SortedFunc(maps.Keys(best), func(a, b string) int {
		return cmp.Or(cmp.Compare(best[a], best[b]), cmp.Compare(a, b))
	})
	return prefixes[:min(len(prefixes), maxPrefixes)]
}

// distance is Levenshtein's, on bounded texts.
func distance(a, b string) int {
	a, b = a[:min(len(a), maxComparedText)], b[:min(len(b), maxComparedText)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := left
			if a[i] != b[j] {
				change++
			}
			left = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
