package argorepo

// Place is where an object is.
type Place struct {
	// Namespace is that of the object. An object without one counts in all.
	Namespace string
	// Anywhere makes the objects of all namespaces count.
	Anywhere bool
	// Scopes are its file, its directory and others around it. The last one has all objects.
	Scopes []string
}

// anyNamespace is the name for all namespaces together.
const anyNamespace = "*"

// Value is what an Index has. Same reports whether it makes no difference which of two is used.
type Value[V any] interface{ Same(other V) bool }

// Index finds values by the name and the place of what has them. The zero value is empty.
type Index[V Value[V]] struct {
	entries map[entryKey][]V
}

type entryKey struct{ scope, namespace, name string }

// Add adds a value.
func (x *Index[V]) Add(at Place, name string, v V) {
	if x.entries == nil {
		x.entries = map[entryKey][]V{}
	}
	for _, scope := range at.Scopes {
		for _, namespace := range []string{at.Namespace, anyNamespace} {
			key := entryKey{scope, namespace, name}
			x.entries[key] = addDistinct(x.entries[key], v)
		}
	}
}

// addDistinct adds a value that differs. Two are enough to know that there are several.
func addDistinct[V Value[V]](all []V, v V) []V {
	if len(all) == 0 || len(all) == 1 && !all[0].Same(v) {
		return append(all, v)
	}
	return all
}

// Find returns the value with the name in the first scope that has one, and how many different ones this scope has: none, one, or two for
// several.
func (x *Index[V]) Find(from Place, name string) (found V, count int) {
	namespaces := []string{from.Namespace, ""}
	if from.Anywhere || from.Namespace == "" {
		namespaces = []string{anyNamespace}
	}
	for _, scope := range from.Scopes {
		var all []V
		for _, namespace := range namespaces {
			for _, v := range x.entries[entryKey{scope, namespace, name}] {
				all = addDistinct(all, v)
			}
		}
		if len(all) > 0 {
			return all[0], len(all)
		}
	}
	return found, 0
}
