package chartindex

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// kind is the type of a member. Helm reads YAML strictly: a member of another type, or one that it does not know, makes the whole index
// unusable.
type kind uint8

const (
	text      kind = iota // a string: 1.10 without quotes is a number
	scalarAny             // a number or a boolean is taken as a string
	boolean
	date
	texts
	scalars // as scalarAny
	textMap
	scalarMap // as scalarAny
	anyMap
	anyList
	maintainers
	dependencies
)

// The members of Helm's IndexFile, ChartVersion, Maintainer and Dependency.
var (
	indexMembers = map[string]kind{"apiVersion": scalarAny, "generated": date, "serverInfo": anyMap, "publicKeys": scalars,
		"annotations": scalarMap}

	versionMembers = map[string]kind{
		"name": text, "home": text, "version": text, "description": text, "icon": text, "apiVersion": text, "condition": text,
		"tags": text, "appVersion": text, "kubeVersion": text, "type": text, "digest": scalarAny, "checksum": scalarAny,
		"engine": scalarAny, "tillerVersion": scalarAny, "url": scalarAny,
		"sources": texts, "keywords": texts, "urls": scalars, "deprecated": boolean,
		"removed": boolean, "created": date, "annotations": textMap, "maintainers": maintainers, "dependencies": dependencies,
	}
	maintainerMembers = map[string]kind{"name": text, "email": text, "url": text}
	dependencyMembers = map[string]kind{"name": text, "version": text, "repository": text, "condition": text, "alias": text,
		"tags": texts, "enabled": boolean, "import-values": anyList}
)

const errAnchors = unread("it has anchors or keys of another kind than text")

// members calls each with the members of an object.
func (c *collector) members(object *yaml.Node, where string, each func(key string, value *yaml.Node) error) error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(object.Content); i += 2 {
		key, value := object.Content[i], object.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || value.Kind == yaml.AliasNode {
			return errAnchors
		}
		if seen[key.Value] && !c.lax {
			return invalid("it has %s twice", path(where, key.Value))
		}
		seen[key.Value] = true
		if err := each(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

func path(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

// member checks the type of a member.
func (c *collector) member(known map[string]kind, key, where string, value *yaml.Node) error {
	k, exists := known[key]
	at := path(where, key)
	switch {
	case !exists && c.lax, isNull(value):
		return nil
	case !exists:
		return invalid("Helm does not know the field %s", at)
	}
	return c.check(k, at, value)
}

func (c *collector) check(k kind, at string, value *yaml.Node) error {
	switch k {
	case texts, scalars, anyList:
		return c.list(k, at, value)
	case textMap, scalarMap, anyMap:
		if value.Kind != yaml.MappingNode {
			return invalid("%s is not an object", at)
		}
		return c.members(value, at, func(key string, value *yaml.Node) error {
			if k == anyMap || isNull(value) {
				return nil
			}
			return c.scalar(elementKind(k), path(at, key), value)
		})
	case maintainers:
		return c.objects(maintainerMembers, at, value)
	case dependencies:
		return c.objects(dependencyMembers, at, value)
	default:
		return c.scalar(k, at, value)
	}
}

// elementKind returns the type of the elements of a list or object.
func elementKind(k kind) kind {
	if k == texts || k == textMap {
		return text
	}
	return scalarAny
}

func (c *collector) list(k kind, at string, value *yaml.Node) error {
	if value.Kind != yaml.SequenceNode {
		return invalid("%s is not a list", at)
	}
	if slices.ContainsFunc(value.Content, func(n *yaml.Node) bool { return n.Kind == yaml.AliasNode }) {
		return errAnchors
	}
	for _, element := range value.Content {
		if k == anyList || isNull(element) {
			continue
		}
		if err := c.scalar(elementKind(k), at, element); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) objects(known map[string]kind, at string, value *yaml.Node) error {
	if value.Kind != yaml.SequenceNode {
		return invalid("%s is not a list", at)
	}
	for _, object := range value.Content {
		if isNull(object) {
			continue
		}
		if object.Kind != yaml.MappingNode {
			return invalid("%s has an element that is not an object", at)
		}
		err := c.members(object, at, func(key string, value *yaml.Node) error { return c.member(known, key, at, value) })
		if err != nil {
			return err
		}
	}
	return nil
}

// booleans are those of YAML 1.1, which Helm reads.
var booleans = []string{"y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE",
	"on", "On", "ON", "off", "Off", "OFF"}

func (c *collector) scalar(k kind, at string, value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode {
		return invalid("%s is not a single value", at)
	}
	quoted := value.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	isBoolean := !quoted && slices.Contains(booleans, value.Value)
	if k == boolean && !isBoolean {
		return invalid("%s is not true or false", at)
	}
	isString := !isBoolean && value.Tag != "!!int" && value.Tag != "!!float"
	if !isString && (k == text || k == scalarAny && c.lax) {
		return invalid("%s is a number, true or false, and must be in quotes: %.40s", at, value.Value)
	}
	if k == date {
		if _, err := time.Parse(time.RFC3339, value.Value); err != nil {
			return invalid("%s is not a time such as 2026-01-02T15:04:05Z", at)
		}
	}
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
