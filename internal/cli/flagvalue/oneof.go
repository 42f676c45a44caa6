package flagvalue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// oneOf is a value of a closed list.
type oneOf[T ~string] struct {
	value   *T
	allowed []T
}

// OneOf defines a flag for a value of a closed list, which shells complete.
func OneOf[T ~string](flags *pflag.FlagSet, value *T, name string, standard T, allowed []T, usage string) {
	OneOfP(flags, value, name, "", standard, allowed, usage)
}

// OneOfP is OneOf for a flag with a letter.
func OneOfP[T ~string](flags *pflag.FlagSet, value *T, name, letter string, standard T, allowed []T, usage string) {
	*value = standard
	flags.VarP(oneOf[T]{value, allowed}, name, letter, usage)
}

func (o oneOf[T]) Set(text string) error {
	if !slices.Contains(o.allowed, T(text)) {
		return fmt.Errorf("must be one of %s, not %q", strings.Join(o.Values(), ", "), text)
	}
	*o.value = T(text)
	return nil
}

func (o oneOf[T]) String() string {
	if o.value == nil { // pflag compares a default with the zero value
		return ""
	}
	return string(*o.value)
}

func (o oneOf[T]) Type() string { return "string" }

// Values lists the values for completion.
func (o oneOf[T]) Values() []string {
	texts := make([]string, len(o.allowed))
	for i, value := range o.allowed {
		texts[i] = string(value)
	}
	return texts
}
