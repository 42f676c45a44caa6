package dockerauth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// rawEntry is an entry as it is written. Each consumer decodes it by its own rules.
type rawEntry struct {
	key   string
	line  int
	value *node.Node
}

// quirks are what some consumers accept and others do not.
type quirks struct {
	byteOrderMark bool
	empty         bool // nothing but white space
	trailing      bool // text follows the JSON value
	endLine       int  // of the JSON value
}

// wrongMember is a member of config.json that some consumers do not accept.
type wrongMember struct {
	Rejection
	member string // "" for the whole file
}

// unknownMember is any member but auths.
const unknownMember = "unknown"

// Parse reads config.json and auth.json (entries in "auths"), or .dockercfg if legacy is true. The error is for a file that no
// consumer can read.
func Parse(data []byte, legacy bool) (*Config, error) {
	c := &Config{legacy: legacy, most: smallEntries + len(data)/bytesPerEntry, last: map[string]int{}, helpers: map[string]string{},
		decoded: map[Rules]*decoded{}}
	text, mark := bytes.CutPrefix(data, []byte("\ufeff"))
	c.quirks.byteOrderMark = mark
	value, err := c.firstValue(text)
	if c.quirks.empty || err != nil {
		return c, err
	}
	root, err := node.JSON(value)
	if err != nil {
		return nil, err
	}
	if legacy {
		c.addEntries(root)
		return c, nil
	}
	c.readObject(root)
	return c, nil
}

// Legacy reports whether the file is a .dockercfg, whose root has the entries.
func (c *Config) Legacy() bool { return c.legacy }

// HasHelpers reports whether programs have credentials that the file does not have itself.
func (c *Config) HasHelpers() bool { return c.Store != "" || len(c.Helpers) > 0 }

// firstValue returns the first JSON value with the lines before it; some consumers ignore what follows.
func (c *Config) firstValue(text []byte) ([]byte, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := decoder.SkipValue(); errors.Is(err, io.EOF) {
		c.quirks.empty = true
		return nil, nil
	} else if err != nil {
		_, err = node.JSON(text) // its errors have a line, and no names of members
		return nil, err
	}
	end := decoder.InputOffset()
	c.quirks.trailing = len(bytes.TrimSpace(text[end:])) > 0
	c.quirks.endLine = 1 + bytes.Count(text[:end], []byte("\n"))
	return text[:end], nil
}

// readObject reads the members of config.json. Go's JSON decoder, which all consumers have, compares names without regard to case
// and merges objects of the same name.
func (c *Config) readObject(root *node.Node) {
	if !root.IsObject() {
		if !isNull(root) {
			c.reject("", root.Line, "The file is not a JSON object.")
		}
		return
	}
	for _, member := range root.Pairs() {
		switch {
		case strings.EqualFold(member.Key, "auths"):
			c.addEntries(member.Value)
		case strings.EqualFold(member.Key, "credHelpers"):
			c.addHelpers(member.Value)
		case strings.EqualFold(member.Key, "credsStore"):
			if !isString(member.Value) {
				c.reject("credsStore", member.KeyLine, "credsStore is not a string.")
			}
			c.Store, c.StoreLine = member.Value.Text(), member.KeyLine
		case strings.EqualFold(member.Key, "HttpHeaders") && !isMapOfStrings(member.Value):
			c.reject("HttpHeaders", member.KeyLine, "HttpHeaders is not an object of strings.")
		}
		if !strings.EqualFold(member.Key, "auths") {
			c.reject(unknownMember, member.KeyLine, "docker accepts nothing but auths in DOCKER_AUTH_CONFIG.")
		}
	}
}

// reject notes a wrong member, of each kind the first.
func (c *Config) reject(member string, line int, format string, args ...any) {
	if slices.ContainsFunc(c.shape, func(w wrongMember) bool { return w.member == member }) {
		return
	}
	c.shape = append(c.shape, wrongMember{Rejection{line, "wrongShape", fmt.Sprintf(format, args...)}, member})
}

// Limits of the entries that are read. Each takes several hundred bytes of memory. They are those of the result of a scan.
const (
	smallEntries  = 12_000 // of a small file
	bytesPerEntry = 200
)

func (c *Config) addEntries(auths *node.Node) {
	if !auths.IsObject() && !isNull(auths) {
		c.reject("auths", auths.Line, "The entries of credentials are not a JSON object.")
	}
	for _, member := range auths.Pairs() {
		if len(c.entries)+len(c.Helpers) == c.most {
			c.Incomplete = true
			return
		}
		c.last[member.Key] = len(c.entries)
		c.entries = append(c.entries, rawEntry{member.Key, member.KeyLine, member.Value})
	}
}

func (c *Config) addHelpers(helpers *node.Node) {
	if !helpers.IsObject() && !isNull(helpers) {
		c.reject("credHelpers", helpers.Line, "credHelpers is not a JSON object.")
	}
	for _, member := range helpers.Pairs() {
		if len(c.entries)+len(c.Helpers) == c.most {
			c.Incomplete = true
			return
		}
		if !isString(member.Value) {
			c.reject("credHelpers", member.KeyLine, "The credential helper of %q is not a string.", Show(member.Key))
			continue
		}
		c.Helpers = append(c.Helpers, Helper{member.Key, member.Value.Text(), member.KeyLine})
		c.helpers[member.Key] = member.Value.Text()
	}
}

func isNull(n *node.Node) bool {
	return !n.IsObject() && !n.IsArray() && !n.IsText() && n.Text() == ""
}

func isMapOfStrings(n *node.Node) bool {
	return isNull(n) || n.IsObject() && !slices.ContainsFunc(n.Pairs(), func(member node.Pair) bool { return !isString(member.Value) })
}

// isString reports whether Go's JSON decoder accepts the value for a string.
func isString(n *node.Node) bool { return n.IsText() || isNull(n) }

// Show returns a text of a file for a message: limited, and without the userinfo that a URL may have.
func Show(text string) string {
	const most = 100
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		text = "…" + text[at:]
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
