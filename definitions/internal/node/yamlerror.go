package node

import (
	"errors"
	"strings"
)

// hideAlias replaces the one kind of parser errors that repeats a value of the file: a password that begins with * or & and is not
// quoted is an alias or an anchor to YAML.
func hideAlias(err error) error {
	if err == nil || !strings.Contains(err.Error(), "anchor") {
		return err
	}
	return errors.New("an alias is not defined; quote values that begin with * or &")
}
