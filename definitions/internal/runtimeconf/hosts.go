package runtimeconf

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// Hosts is hosts.toml, with containerd's types: it rejects a file with others.
type Hosts struct {
	HostTable
	Server string               `toml:"server"`
	Hosts  map[string]HostTable `toml:"host"`
}

// HostTable has the settings of a host.
type HostTable struct {
	Capabilities []string       `toml:"capabilities"`
	CA           any            `toml:"ca"`
	Client       any            `toml:"client"`
	SkipVerify   *bool          `toml:"skip_verify"`
	Header       map[string]any `toml:"header"`
	OverridePath bool           `toml:"override_path"`
	DialTimeout  string         `toml:"dial_timeout"`
}

// Problem returns why containerd rejects a table, and with it the whole file; nil if it does not.
func (t HostTable) Problem(address string, n *node.Node) *Problem {
	for _, capability := range t.Capabilities {
		if !slices.Contains([]string{"pull", "resolve", "push", "referrers"}, strings.ToLower(capability)) {
			return &Problem{LineOf(n.Get("capabilities"), n), unknownCapability,
				fmt.Sprintf("The capability %s is unknown; use pull, resolve and push.", shown(capability))}
		}
	}
	_, errCA := FileNames(t.CA)
	_, errClient := FilePairs(t.Client)
	_, errTimeout := time.ParseDuration(t.DialTimeout)
	_, errURL := HostURL(address)
	switch {
	case errCA != nil:
		return &Problem{LineOf(n.Get("ca"), n), wrongShape, "ca must be the name of a file, or a list of names."}
	case errClient != nil:
		return &Problem{LineOf(n.Get("client"), n), wrongShape,
			"client must be the name of a file, a list of names, or a list of pairs of certificate and key."}
	case !validHeader(t.Header):
		return &Problem{LineOf(n.Get("header"), n), wrongShape, "The values of header must be texts, or lists of texts."}
	case errTimeout != nil && t.DialTimeout != "":
		return &Problem{LineOf(n.Get("dial_timeout"), n), wrongShape, "dial_timeout must be a duration such as 5s."}
	case errURL != nil:
		return &Problem{LineOf(n), noHost, fmt.Sprintf("The address %s is not a URL.", shown(address))}
	}
	return nil
}

func validHeader(header map[string]any) bool {
	for _, value := range header {
		if _, err := FileNames(value); err != nil {
			return false
		}
	}
	return true
}

var errShape = errors.New("wrong type")

// FileNames reads a text or a list of texts.
func FileNames(value any) (names []string, err error) {
	switch value := value.(type) {
	case nil:
	case string:
		names = append(names, value)
	case []any:
		for _, item := range value {
			name, ok := item.(string)
			if !ok {
				return nil, errShape
			}
			names = append(names, name)
		}
	default:
		return nil, errShape
	}
	return names, err
}

// FilePairs reads client certificates: one file, a list of files, or a list of pairs.
func FilePairs(value any) (pairs [][2]string, err error) {
	list, isList := value.([]any)
	if !isList {
		names, err := FileNames(value)
		for _, name := range names {
			pairs = append(pairs, [2]string{name, ""})
		}
		return pairs, err
	}
	for _, item := range list {
		names, err := FileNames(item)
		_, isPair := item.([]any)
		switch {
		case err != nil || isPair != (len(names) == 2):
			return nil, errShape
		case isPair:
			pairs = append(pairs, [2]string(names))
		default:
			pairs = append(pairs, [2]string{names[0], ""})
		}
	}
	return pairs, nil
}

// HostURL reads an address as containerd does, for which everything that begins with http is a URL.
func HostURL(written string) (*url.URL, error) {
	if !strings.HasPrefix(written, "http") {
		written = "https://" + written
	}
	return url.Parse(written)
}
