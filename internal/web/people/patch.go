package people

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
)

const maxOperations = 1000 // of one patch

// patchOperation is one of a JSON Patch. Move and copy are not needed for lists of texts.
type patchOperation api.PatchOperation

func badPatch(problem string) error {
	return fault.InvalidField("body", problem)
}

// operationsProblem returns why no team can be changed by operations, nil if some could.
func operationsProblem(operations []patchOperation) error {
	for i, o := range operations {
		if !slices.Contains([]string{"add", "replace", "remove", "test"}, o.Op) {
			return badPatch("has an operation other than add, replace, remove and test, at " + strconv.Itoa(i))
		}
	}
	return nil
}

// patched stores in to what operations make of a document.
func patched(document any, operations []patchOperation, to any) error {
	encoded, err := json.Marshal(document)
	if err != nil {
		return err
	}
	var tree any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		return err
	}
	for i, o := range operations {
		names := strings.Split(o.Path, "/")
		ok := len(names) > 1 && names[0] == ""
		if ok {
			tree, ok = o.apply(tree, names[1:])
		}
		if !ok {
			return badPatch("has an operation that does not apply to the team, at " + strconv.Itoa(i))
		}
	}
	if encoded, err = json.Marshal(tree); err == nil {
		err = json.Unmarshal(encoded, to)
	}
	if err != nil {
		return badPatch("makes a team whose fields have other types")
	}
	return nil
}

var unescaped = strings.NewReplacer("~1", "/", "~0", "~")

// apply returns the changed value, and false if there is nothing to change. Its parents are changed in place.
func (o patchOperation) apply(value any, names []string) (any, bool) {
	name := unescaped.Replace(names[0])
	switch in := value.(type) {
	case map[string]any:
		if len(names) == 1 {
			return o.applyToObject(in, name)
		}
		child, there := o.apply(in[name], names[1:])
		in[name] = child
		return in, there
	case []any:
		if len(names) == 1 {
			return o.applyToArray(in, name)
		}
	}
	return value, false
}

func (o patchOperation) applyToObject(in map[string]any, name string) (any, bool) {
	child, there := in[name]
	changed := maps.Clone(in)
	switch o.Op {
	case "remove":
		delete(changed, name)
	case "test":
		return in, there && reflect.DeepEqual(child, o.Value)
	default:
		changed[name] = o.Value
	}
	return changed, there || o.Op == "add"
}

func (o patchOperation) applyToArray(in []any, name string) (any, bool) {
	at, err := strconv.Atoi(name)
	if name == "-" && o.Op == "add" {
		at, err = len(in), nil
	}
	if err != nil || at < 0 || at > len(in) || at == len(in) && o.Op != "add" {
		return in, false
	}
	switch o.Op {
	case "add":
		return slices.Insert(slices.Clone(in), at, o.Value), true
	case "remove":
		return slices.Delete(slices.Clone(in), at, at+1), true
	case "replace":
		in[at] = o.Value
	}
	return in, o.Op == "replace" || reflect.DeepEqual(in[at], o.Value)
}
