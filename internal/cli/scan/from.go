package scan

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
)

// maxCredentialFile is the size of a file of credentials.
const maxCredentialFile = 8 << 20

// Lookup returns the definition that a consumer uses for a reference, and the reasoning, one sentence per step. file is a path, Stdin, or
// "" for the locations where the consumer looks, in their order: the first that has an entry for the reference decides.
func Lookup(file, reference string, stdin io.Reader, o model.Options, e model.Environment) (model.Registry, []string, error) {
	switch file {
	case "":
		return lookupInLocations(reference, o, e)
	case Stdin:
		data, err := readLimited(stdin)
		if err != nil {
			return model.Registry{}, nil, err
		}
		return definitions.Lookup(stdinName, data, reference, o)
	}
	data, err := readCredentialFile(file)
	if err != nil {
		return model.Registry{}, nil, cannotRead(file, err)
	}
	return definitions.Lookup(file, data, reference, o)
}

func lookupInLocations(reference string, o model.Options, e model.Environment) (found model.Registry, steps []string, err error) {
	consumer := cmp.Or(o.As, definitions.ConsumerOf(o.Format))
	locations := definitions.Locations(consumer, e)
	if !slices.ContainsFunc(locations, func(l model.Location) bool { return l.Format == o.Format }) {
		return found, nil, fmt.Errorf("give the file: %s does not look for the format %s in a location of its own", consumer, o.Format)
	}
	var names []string
	read := false
	for _, l := range locations {
		name, data, err := readLocation(l, e)
		names = append(names, name)
		if errors.Is(err, fs.ErrNotExist) {
			steps = append(steps, name+" does not exist.")
			continue
		}
		if err != nil {
			return found, steps, cannotRead(name, err)
		}
		own := o
		own.Format, own.As, read = l.Format, consumer, true
		r, more, err := definitions.Lookup(name, data, reference, own)
		if err != nil {
			return found, steps, err
		}
		found, steps = r, append(append(steps, "Reading "+name+"."), more...)
		if decides(l, r) {
			break
		}
	}
	if !read {
		return found, steps, fmt.Errorf("no file of credentials in %s; give the file", strings.Join(names, ", "))
	}
	return found, steps, nil
}

// decides reports whether the consumer looks no further. docker ignores a variable that it does not understand.
func decides(l model.Location, r model.Registry) bool {
	if l.Variable != "" && r.Reason == model.UnresolvedIncomplete {
		return false
	}
	return !slices.ContainsFunc(r.Notices, func(n model.Notice) bool { return n.Code == model.NoticeNoMatchingCredentials })
}

func readLocation(l model.Location, e model.Environment) (name string, data []byte, err error) {
	if l.Variable != "" {
		return "the variable " + l.Variable, []byte(e.Getenv(l.Variable)), nil
	}
	data, err = readCredentialFile(l.Path)
	return l.Path, data, err
}

// readCredentialFile reads a file, also through a symbolic link, since the user or the consumer names it.
func readCredentialFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readLimited(file)
}

func readLimited(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxCredentialFile+1))
	if err == nil && len(data) > maxCredentialFile {
		err = errors.New("larger than 8 MiB")
	}
	return data, err
}
