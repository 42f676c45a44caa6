package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

var pathParameter = lazyregexp.New(`\{(\w+)\}`)

// curl returns a command that sends the smallest request. Parts of the path are variables of the shell.
func (r *reader) curl(o Operation, content ordered[media]) string {
	command := []string{fmt.Sprintf(`curl -sS --fail-with-body -X %s "$REGWARDEN_SERVER%s"`, o.Method,
		pathParameter.Get().ReplaceAllString(o.Path, "$$$1"))}
	if !o.Anonymous {
		command = append(command, `-H "ApiKey: $REGWARDEN_API_KEY"`)
	}
	if len(content) > 0 {
		first := content[0]
		command = append(command, "-H 'Content-Type: "+first.Key+"'")
		if first.Key == "application/json" {
			body, _ := json.Marshal(r.example("", first.Value.Schema)) // strings and maps of them
			command = append(command, "-d '"+strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", "'", `'\''`).Replace(string(body))+"'")
		} else {
			command = append(command, "--data-binary @file")
		}
	}
	return strings.Join(command, " \\\n  ")
}

// example returns a value with the required members only. Values to fill in are <in brackets>.
func (r *reader) example(name string, s *schema) any {
	switch {
	case s == nil:
		return map[string]any{}
	case s.Ref != "":
		found, err := r.Components.Schemas.find(nameOf(s.Ref))
		if err != nil {
			return nil
		}
		return r.example(name, found)
	case len(s.values()) > 0:
		return firstNotEmpty(s.values())
	case len(s.OneOf) > 0:
		return r.example(name, s.OneOf[len(s.OneOf)-1])
	case slices.Contains(s.Type, "array"):
		return []any{r.example(strings.TrimSuffix(name, "s"), s.Items)}
	case len(s.Properties) > 0 || len(s.AllOf) > 0 || slices.Contains(s.Type, "object"):
		return r.exampleObject(s)
	case slices.Contains(s.Type, "boolean"):
		return true
	case slices.Contains(s.Type, "integer") || slices.Contains(s.Type, "number"):
		return 1
	}
	return "<" + name + ">"
}

func (r *reader) exampleObject(s *schema) any {
	object := map[string]any{}
	for _, part := range append(s.AllOf, s) {
		if part != s {
			if members, ok := r.example("", part).(map[string]any); ok {
				maps.Copy(object, members)
			}
		}
		for _, member := range part.Properties {
			if slices.Contains(part.Required, member.Key) {
				object[member.Key] = r.example(member.Key, member.Value)
			}
		}
	}
	return object
}

func firstNotEmpty(values []any) any {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}
