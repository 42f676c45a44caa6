package scim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/internal/web/people"
)

const maxOperations = 1000 // of one PATCH

// Operations of a PATCH.
const (
	opAdd     = "add"
	opReplace = "replace"
	opRemove  = "remove"
)

// operation is one of a PATCH. Entra ID writes op with a capital, and Okta leaves out the path.
type operation struct {
	op    string
	at    path
	value any
}

// readPatch reads the operations of a PATCH.
func readPatch(c people.Call) ([]operation, error) {
	var sent struct {
		Operations []struct {
			Op    string `json:"op"`
			Path  string `json:"path"`
			Value any    `json:"value"`
		} `json:"Operations"`
	}
	body, err := c.Body()
	if err != nil {
		return nil, err
	}
	if wrong, err := strictjson.Decode(body, &sent); err != nil || len(wrong) > 0 {
		return nil, orFields(err, wrong)
	}
	if n := len(sent.Operations); n == 0 || n > maxOperations {
		return nil, fault.InvalidField("Operations", fmt.Sprintf("must have 1–%d entries", maxOperations))
	}
	operations := make([]operation, 0, len(sent.Operations))
	for i, o := range sent.Operations {
		next := operation{op: strings.ToLower(o.Op), value: o.Value}
		if !slices.Contains([]string{opAdd, opReplace, opRemove}, next.op) {
			return nil, fault.InvalidField(fmt.Sprintf("Operations[%d].op", i), "must be one of add, replace, remove")
		}
		if next.op == opRemove && o.Path == "" {
			return nil, fault.InvalidField("path", "is required to remove")
		}
		if o.Path != "" {
			if next.at, err = parsePath(o.Path); err != nil {
				return nil, err
			}
		}
		operations = append(operations, next)
	}
	return operations, nil
}

func orFields(err error, wrong []fault.Field) error {
	if err != nil {
		return err
	}
	return fault.InvalidFields(wrong...)
}

// readResource reads a resource as an operation that sets each of its attributes.
func readResource(c people.Call) (operation, error) {
	body, err := c.Body()
	if err != nil {
		return operation{}, err
	}
	sent := map[string]any{}
	if wrong, err := strictjson.Decode(body, &sent); err != nil || len(wrong) > 0 {
		return operation{}, orFields(err, wrong)
	}
	return operation{op: opReplace, value: sent}, nil
}

// each calls set for each attribute of an operation without a path. A name must not be there twice in two spellings.
func (o operation) each(set func(operation) error) error {
	values, ok := o.value.(map[string]any)
	if !ok {
		return fault.InvalidField("value", "must be an object where there is no path")
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at, err := parsePath(name)
		if err != nil {
			continue // no attribute of ours
		}
		lower := strings.ToLower(name)
		if seen[lower] {
			return fault.InvalidField("body", "has a member twice: "+lower)
		}
		seen[lower] = true
		if err := set(operation{op: o.op, at: at, value: values[name]}); err != nil {
			return err
		}
	}
	return nil
}

// text returns the value of an attribute that is a text; removed and null are the empty one.
func (o operation) text(field string) (string, error) {
	if o.op == opRemove || o.value == nil {
		return "", nil
	}
	text, ok := o.value.(string)
	if !ok {
		return "", fault.InvalidField(field, "must be a string")
	}
	return text, nil
}

// truth returns the value of an attribute that is true or false. Entra ID sends the texts "True" and "False".
func (o operation) truth(field string) (bool, error) {
	if is, ok := o.value.(bool); ok && o.op != opRemove {
		return is, nil
	}
	text, _ := o.value.(string)
	switch {
	case o.op != opRemove && strings.EqualFold(text, "true"):
		return true, nil
	case o.op != opRemove && strings.EqualFold(text, "false"):
		return false, nil
	}
	return false, fault.InvalidField(field, "must be true or false")
}
