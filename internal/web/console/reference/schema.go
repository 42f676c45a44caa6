package reference

import (
	"fmt"
	"slices"
	"strings"
)

// Schema is an object, or a value of another type.
type Schema struct {
	Row

	Rows []Row // of its members
}

// Row is a member of an object, or a parameter. Name is the path to it: auth.tls.ca, items[].uid.
type Row struct {
	Name        string
	Required    bool
	Types       []Type
	Description Text
	Rules       []string
}

// Type is a type that a value may have.
type Type struct{ Text, Schema string } // Schema is the name of the schema that Text ends with, or empty

func (r *reader) row(name string, s *schema, required bool, description string) Row {
	if s == nil {
		s = &schema{}
	}
	if description == "" {
		description = s.Description
	}
	return Row{name, required, r.types(s), textOf(description), s.rules()}
}

func (r *reader) schema(name string, s *schema) Schema {
	if s == nil {
		s = &schema{}
	}
	return Schema{r.row(name, s, false, ""), r.rows("", s)}
}

// rows returns the members of a schema, except those that a named schema has.
func (r *reader) rows(prefix string, s *schema) (rows []Row) {
	for _, member := range s.Properties {
		name := prefix + member.Key
		rows = append(rows, r.row(name, member.Value, slices.Contains(s.Required, member.Key), ""))
		rows = append(rows, r.rows(name+".", member.Value)...)
	}
	for _, part := range s.AllOf {
		rows = append(rows, r.rows(prefix, part)...)
	}
	if s.Items != nil {
		rows = append(rows, r.rows(strings.TrimSuffix(prefix, ".")+"[].", s.Items)...)
	}
	if further := s.Additional.schema; further != nil {
		rows = append(rows, r.rows(prefix+"*.", further)...)
	}
	return rows
}

func (r *reader) types(s *schema) (types []Type) {
	if s.Ref != "" {
		r.schemas[nameOf(s.Ref)] = true
		return []Type{{Schema: nameOf(s.Ref)}}
	}
	for _, part := range slices.Concat(s.OneOf, s.AllOf) {
		for _, one := range r.types(part) {
			if !slices.Contains(types, one) && (len(s.AllOf) == 0 || one.Schema != "") {
				types = append(types, one)
			}
		}
	}
	for _, name := range s.Type {
		types = append(types, r.single(s, name)...)
	}
	if len(types) == 0 && len(s.values()) > 0 {
		types = []Type{{Text: "string"}}
	}
	return types
}

// single returns one type that the schema names.
func (r *reader) single(s *schema, name string) []Type {
	switch {
	case name == "array" && s.Items != nil:
		return r.each("list of ", s.Items)
	case name == "object" && s.Additional.schema != nil:
		return r.each("map of ", s.Additional.schema)
	case s.Format != "" && name != "null":
		return []Type{{Text: name + " (" + s.Format + ")"}}
	}
	return []Type{{Text: name}}
}

func (r *reader) each(of string, s *schema) []Type {
	all := r.types(s)
	if len(all) == 0 {
		all = []Type{{Text: "values"}}
	}
	for i := range all {
		all[i].Text = of + all[i].Text
	}
	return all
}

// values returns the only values that a schema allows.
func (s *schema) values() []any {
	if s.Const != nil {
		return []any{s.Const}
	}
	return s.Enum
}

// rules returns what a value must comply with, in words.
func (s *schema) rules() (rules []string) {
	if values := s.values(); len(values) > 0 {
		rules = append(rules, "One of "+joined(values)+".")
		if len(values) == 1 {
			rules[0] = "Always " + joined(values) + "."
		}
	}
	if s.Default != nil {
		rules = append(rules, "Default "+joined([]any{s.Default})+".")
	}
	for _, limit := range []struct {
		least, greatest *int
		unit            string
	}{{s.Minimum, s.Maximum, ""}, {s.MinLength, s.MaxLength, " characters"}, {s.MinItems, s.MaxItems, " entries"}} {
		if limit.least != nil && *limit.least == 1 && limit.unit != "" {
			rules = append(rules, "Must not be empty.")
		} else if limit.least != nil && *limit.least > 0 {
			rules = append(rules, fmt.Sprintf("At least %d%s.", *limit.least, limit.unit))
		}
		if limit.greatest != nil {
			rules = append(rules, fmt.Sprintf("At most %d%s.", *limit.greatest, limit.unit))
		}
	}
	if s.Pattern != "" {
		rules = append(rules, "Matches "+s.Pattern)
	}
	return rules
}

func joined(values []any) string {
	var all []string
	for _, value := range values {
		text := fmt.Sprint(value)
		if text == "" {
			text = `""`
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// use notes the named schemas that a schema refers to.
func (r *reader) use(s *schema) {
	if s != nil {
		r.types(s)
		r.rows("", s)
	}
}

// usedSchemas returns the schemas that the group uses, also those that only other schemas use, in the order of the file.
func (r *reader) usedSchemas() (used []Schema) {
	for before := -1; before != len(r.schemas); {
		before = len(r.schemas)
		for _, one := range r.Components.Schemas {
			if r.schemas[one.Key] {
				r.use(one.Value)
			}
		}
	}
	for _, one := range r.Components.Schemas {
		if r.schemas[one.Key] {
			used = append(used, r.schema(one.Key, one.Value))
		}
	}
	return used
}
