package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"strconv"
	"strings"
)

// This file reads what registries write into bodies: errors, web pages, words.

// registryError is one element of an error body (distribution spec, "Error Codes"). Artifactory
// writes a status instead of a code.
type registryError struct {
	Code    string
	Message string
	Status  int
}

// maxErrorBody bounds the bodies that are read as errors: each element of a hostile list takes many
// times its size in memory.
const maxErrorBody = 64 << 10

// ReadErrors reads {"errors":[…]}; it gives nothing for anything else.
func ReadErrors(body []byte) []registryError {
	if len(body) > maxErrorBody {
		return nil
	}
	var outer struct {
		Errors []json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return nil
	}
	var all []registryError
	for _, raw := range outer.Errors[:min(len(outer.Errors), 8)] {
		var one struct {
			Code    any `json:"code"`
			Message any `json:"message"`
			Status  any `json:"status"`
		}
		if json.Unmarshal(raw, &one) != nil {
			continue
		}
		e := registryError{}
		if code, ok := one.Code.(string); ok {
			e.Code = strings.ToUpper(CleanText(code)) // some write lower case
		}
		if message, ok := one.Message.(string); ok {
			e.Message = CleanText(message)
		}
		if status, ok := one.Status.(float64); ok {
			e.Status = int(status)
		}
		all = append(all, e)
	}
	return all
}

// EachName calls each with the strings of a list in a JSON object, one at a time: a megabyte of short
// names would be thirty as a slice. It stops when each returns false. There is no list when the object has
// no such member; null is an empty one (distribution). Anything but strings in it is an error.
func EachName(body []byte, member string, each func(string) bool) (there bool, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false, errNoList
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false, err
		}
		if key != member {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return false, err
			}
			continue
		}
		return true, eachString(d, each)
	}
	return false, nil
}

var errNoList = errors.New("not a list of names in an object")

func eachString(d *json.Decoder, each func(string) bool) error {
	t, err := d.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('[') {
		return errNoList
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return errNoList
		}
		if !each(name) {
			return nil
		}
	}
	_, err = d.Token() // the end of the list, or of a body that was cut off
	return err
}

// IsOCIError reports whether the body is an error of an OCI registry.
func IsOCIError(body []byte) bool {
	for _, e := range ReadErrors(body) {
		if e.Code != "" {
			return true
		}
	}
	return false
}

// HasCode reports whether one of the errors has the code.
func HasCode(body []byte, code string) bool {
	for _, e := range ReadErrors(body) {
		if e.Code == code {
			return true
		}
	}
	return false
}

// SaysExpired finds the refusals that mean "expired": ECR's 403 DENIED, ECR Public's 400 (flipt#3043,
// aws/containers-roadmap#2835). There is no code for it, only words.
func SaysExpired(a *Response) bool {
	text := strings.ToLower(string(a.Body[:min(len(a.Body), 4096)]))
	return strings.Contains(text, "expired")
}

func IsHTML(a *Response) bool {
	if IsEmptyAnswer(a) {
		return false // whatever its Content-Type says
	}
	body := bytes.TrimLeft(a.Body, " \t\r\n\ufeff")
	return strings.HasPrefix(strings.ToLower(a.Header.Get("Content-Type")), "text/html") && len(body) > 0 ||
		bytes.HasPrefix(body, []byte("<"))
}

// IsEmptyAnswer is a body that registries give on /v2/: nothing, {}, or Quay's true.
func IsEmptyAnswer(a *Response) bool {
	switch strings.TrimSpace(string(a.Body[:min(len(a.Body), 64)])) {
	case "", "{}", "true", `""`:
		return true
	}
	return false
}

func IsJSON(a *Response) bool {
	return json.Valid(a.Body)
}

// Title is what a page says of itself: its title, else the beginning of its text.
func Title(body []byte) string {
	text := string(body[:min(len(body), 8<<10)])
	lower := strings.ToLower(text)
	if i := strings.Index(lower, "<title"); i >= 0 && len(lower) == len(text) {
		if open := strings.IndexByte(lower[i:], '>'); open >= 0 {
			rest := text[i+open+1:]
			if end := strings.IndexByte(rest, '<'); end >= 0 {
				rest = rest[:end]
			}
			return CleanText(html.UnescapeString(rest))
		}
	}
	return ""
}

// words is what an answer says, for a message: its error, its title, or its first characters.
func (a *Response) words() string {
	for _, e := range ReadErrors(a.Body) {
		switch {
		case e.Code != "" && e.Message != "":
			return e.Code + ": " + e.Message
		case e.Code+e.Message != "":
			return e.Code + e.Message
		}
	}
	if IsHTML(a) {
		if t := Title(a.Body); t != "" {
			return "a page titled \"" + t + "\""
		}
		return "a web page"
	}
	return cleanBytes(a.Body[:min(len(a.Body), 200)])
}

// Said is status and words: "403 (DENIED: requested access …)".
func (a *Response) Said() string {
	text := strconv.Itoa(a.Status)
	if w := a.words(); w != "" && !a.Packed {
		text += " (" + w + ")"
	}
	return text
}
