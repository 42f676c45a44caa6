package reference

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// document is the part of an OpenAPI 3.1 description that api/openapi.yaml uses.
type document struct {
	Info       struct{ Description string }
	Tags       []struct{ Name, Description string }
	Paths      ordered[ordered[operation]]
	Components struct {
		SecuritySchemes ordered[struct{ Name, Description string }] `yaml:"securitySchemes"`
		Parameters      ordered[parameter]
		Headers         ordered[struct{ Description string }]
		Responses       ordered[response]
		Schemas         ordered[*schema]
	}
}

type operation struct {
	Tags                 []string
	OperationID          string `yaml:"operationId"`
	Summary, Description string
	Security             *[]map[string][]string // nil: that of the document
	Parameters           []parameter
	RequestBody          struct {
		Required bool
		Content  ordered[media]
	} `yaml:"requestBody"`
	Responses ordered[response]
}

type parameter struct {
	Ref                   string `yaml:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                *schema
}

type response struct {
	Ref         string `yaml:"$ref"`
	Description string
	Content     ordered[media]
}

type media struct{ Schema *schema }

type schema struct {
	Ref                          string `yaml:"$ref"`
	Type                         list
	Format, Description, Pattern string
	Enum                         []any
	Const, Default               any
	Minimum, Maximum             *int
	MinLength                    *int `yaml:"minLength"`
	MaxLength                    *int `yaml:"maxLength"`
	MinItems                     *int `yaml:"minItems"`
	MaxItems                     *int `yaml:"maxItems"`
	Required                     []string
	Properties                   ordered[*schema]
	Items                        *schema
	AllOf                        []*schema  `yaml:"allOf"`
	OneOf                        []*schema  `yaml:"oneOf"`
	Additional                   additional `yaml:"additionalProperties"`
}

// list is a list of strings, or a single one.
type list []string

func (l *list) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*l = list{node.Value}
		return nil
	}
	return node.Decode((*[]string)(l))
}

// additional is the schema of further properties, nil if there is none.
type additional struct{ schema *schema }

func (a *additional) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return nil
	}
	return node.Decode(&a.schema)
}

// ordered is a mapping in the order of the file.
type ordered[T any] []entry[T]

type entry[T any] struct {
	Key   string
	Value T
}

func (o *ordered[T]) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d is not a mapping", node.Line)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		one := entry[T]{Key: node.Content[i].Value}
		if err := node.Content[i+1].Decode(&one.Value); err != nil {
			return err
		}
		*o = append(*o, one)
	}
	return nil
}

// find returns the value of a key, which must exist.
func (o ordered[T]) find(key string) (T, error) {
	for _, one := range o {
		if one.Key == key {
			return one.Value, nil
		}
	}
	var none T
	return none, fmt.Errorf("the description has no %s", key)
}
