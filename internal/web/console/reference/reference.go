// Package reference reads the OpenAPI description of the API into what pages show of it: operations by group, and the
// schemas and errors that each group uses.
package reference

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Reference is the whole description.
type Reference struct {
	Description          Text
	Credentials, Headers []Described
	Groups               []Group
}

// Described is a name with its meaning.
type Described struct {
	Name        string
	Description Text
}

// Group has the operations of one tag.
type Group struct {
	Described

	Operations []Operation
	Schemas    []Schema
	Errors     []Error
}

// Operation is a method of a path.
type Operation struct {
	ID, Method, Path, Summary string
	Description               Text
	Anonymous                 bool // needs no credentials
	Parameters                []Parameter
	Bodies                    []Body
	Responses                 []Response
	Errors                    []ErrorRef
	Curl                      string
}

// Parameter is a part of the path, of the query or of the header.
type Parameter struct {
	Row

	In string
}

// Body is what a request or a response contains.
type Body struct {
	MediaType string
	Schema    Schema
}

// Response is a response to an operation alone.
type Response struct {
	Status      string
	Description Text
	Bodies      []Body
}

// ErrorRef is a response that operations share.
type ErrorRef struct{ Status, Name string }

// Error is what an ErrorRef stands for.
type Error struct {
	Described

	Codes []string // values of the member code
}

// Read reads a description.
func Read(openAPI []byte) (*Reference, error) {
	r := reader{}
	if err := yaml.Unmarshal(openAPI, &r.document); err != nil {
		return nil, fmt.Errorf("read the description of the API: %w", err)
	}
	all := &Reference{Description: textOf(r.Info.Description)}
	for _, one := range r.Components.SecuritySchemes {
		all.Credentials = append(all.Credentials, Described{one.Value.Name, textOf(one.Value.Description)})
	}
	for _, one := range r.Components.Headers {
		if one.Key != "RefusedAuditUid" { // the same header as AuditUid
			all.Headers = append(all.Headers, Described{one.Key, textOf(one.Value.Description)})
		}
	}
	for _, tag := range r.Tags {
		group, err := r.group(tag.Name, tag.Description)
		if err != nil {
			return nil, fmt.Errorf("read the description of the API: %w", err)
		}
		all.Groups = append(all.Groups, group)
	}
	return all, nil
}

// Group returns a group by its name.
func (r *Reference) Group(name string) (Group, bool) {
	at := slices.IndexFunc(r.Groups, func(g Group) bool { return g.Name == name })
	if at < 0 {
		return Group{}, false
	}
	return r.Groups[at], true
}

// reader turns the description of one group into a Group, and notes which schemas and errors it uses.
type reader struct {
	document

	schemas, errors map[string]bool
}

func (r *reader) group(name, description string) (Group, error) {
	r.schemas, r.errors = map[string]bool{}, map[string]bool{}
	g := Group{Described: Described{name, textOf(description)}}
	for _, atPath := range r.Paths {
		for _, method := range atPath.Value {
			if !slices.Contains(method.Value.Tags, name) {
				continue
			}
			one, err := r.operation(strings.ToUpper(method.Key), atPath.Key, method.Value)
			if err != nil {
				return g, err
			}
			g.Operations = append(g.Operations, one)
		}
	}
	g.Errors = r.usedErrors()
	g.Schemas = r.usedSchemas()
	return g, nil
}

func (r *reader) operation(method, path string, o operation) (Operation, error) {
	one := Operation{ID: o.OperationID, Method: method, Path: path, Summary: o.Summary, Description: textOf(o.Description),
		Anonymous: o.Security != nil && len(*o.Security) == 0, Bodies: r.bodies(o.RequestBody.Content)}
	for _, p := range o.Parameters {
		if p.Ref != "" {
			found, err := r.Components.Parameters.find(nameOf(p.Ref))
			if err != nil {
				return one, err
			}
			p = found
		}
		one.Parameters = append(one.Parameters, Parameter{r.row(p.Name, p.Schema, p.Required, p.Description), p.In})
	}
	for _, status := range o.Responses {
		if ref := status.Value.Ref; ref != "" {
			r.errors[nameOf(ref)] = true
			one.Errors = append(one.Errors, ErrorRef{status.Key, nameOf(ref)})
			continue
		}
		one.Responses = append(one.Responses, Response{status.Key, textOf(status.Value.Description), r.bodies(status.Value.Content)})
	}
	one.Curl = r.curl(one, o.RequestBody.Content)
	return one, nil
}

func (r *reader) bodies(content ordered[media]) (bodies []Body) {
	for _, one := range content {
		bodies = append(bodies, Body{one.Key, r.schema("", one.Value.Schema)})
	}
	return bodies
}

func (r *reader) usedErrors() (used []Error) {
	for _, one := range r.Components.Responses {
		if !r.errors[one.Key] {
			continue
		}
		shared := Error{Described: Described{one.Key, textOf(one.Value.Description)}}
		for _, body := range one.Value.Content {
			r.use(body.Value.Schema)
			shared.Codes = append(shared.Codes, codes(body.Value.Schema)...)
		}
		used = append(used, shared)
	}
	return used
}

// codes returns the values that a schema allows for the member code.
func codes(s *schema) (all []string) {
	if s == nil {
		return nil
	}
	for _, part := range append(s.AllOf, s) {
		if code, err := part.Properties.find("code"); err == nil {
			for _, value := range code.values() {
				all = append(all, fmt.Sprint(value))
			}
		}
	}
	return all
}

// nameOf returns the name at the end of a reference.
func nameOf(ref string) string { return path.Base(ref) }
