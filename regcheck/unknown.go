package regcheck

import (
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// NoteUnknown adds members that were sent but that no definition has to Unknown. known are the paths of those that
// exist, such as "auth.tls.ca".
func (d *Definition) NoteUnknown(unknown, known []string) {
	for _, path := range unknown {
		path = wire.CleanText(path)
		problem := "is not a field of a definition"
		switch near := nearestField(path, known); near {
		case "":
		case path: // {"auth.type": …}
			problem += "; write it as an object in an object"
		default:
			problem += "; did you mean " + near + "?"
		}
		d.Unknown = append(d.Unknown, Problem{path, problem})
	}
}

// nearestField is the known path whose name is most like the unknown one's: a typing error, another case, the
// beginning of it, or the name of a field of another object.
func nearestField(path string, known []string) (nearest string) {
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
