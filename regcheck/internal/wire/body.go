package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"slices"
	"strconv"
	"strings"
)

// This file reads the bodies of registries: errors, web pages, text.

// registryError is one element of an error body (distribution spec, "Error Codes"). Artifactory
// writes a status instead of a code.
type registryError struct {
	Code    string
	Message string
	Status  int
}

// maxErrorBody is the maximum size of a body that is read as errors: an element of a list takes many times its size in
// memory.
const maxErrorBody = 64 << 10

// ReadErrors reads {"errors":[…]}; it returns nil for other bodies.
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
			e.Code = strings.ToUpper(CleanText(code)) // some registries use lowercase
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

// EachName calls each with the strings of a list in a JSON object, one at a time: as a slice, a megabyte of short names takes
// 30 MiB. It stops if each returns false. there reports whether the object has the member; null is an empty list
// (distribution). An element other than a string is an error.
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
	return slices.ContainsFunc(ReadErrors(body), func(e registryError) bool { return e.Code != "" })
}

// HasCode reports whether one of the errors has the code.
func HasCode(body []byte, code string) bool {
	return slices.ContainsFunc(ReadErrors(body), func(e registryError) bool { return e.Code == code })
}

// WantsHTTPS reports whether a response is that of net/http, nginx or Apache to plain HTTP on a TLS port.
func WantsHTTPS(a *Response) bool {
	if a.Status != 400 && a.Status != 426 && a.Status != 497 {
		return false
	}
	text := strings.ToLower(string(a.Body[:min(len(a.Body), 4096)]))
	return strings.Contains(text, "http request to an https server") ||
		strings.Contains(text, "plain http request was sent to https port") ||
		strings.Contains(text, "speaking plain http to an ssl-enabled server port")
}

func IsHTML(a *Response) bool {
	if IsEmpty(a) {
		return false // with any Content-Type
	}
	body := bytes.TrimLeft(a.Body, " \t\r\n\ufeff")
	return strings.HasPrefix(strings.ToLower(a.Header.Get("Content-Type")), "text/html") && len(body) > 0 ||
		bytes.HasPrefix(body, []byte("<"))
}

// IsEmpty reports whether a body is one that registries return for /v2/: nothing, {}, or true (Quay).
func IsEmpty(a *Response) bool {
	switch strings.TrimSpace(string(a.Body[:min(len(a.Body), 64)])) {
	case "", "{}", "true", `""`:
		return true
	}
	return false
}

func IsJSON(a *Response) bool {
	return json.Valid(a.Body)
}

// Title returns the title of a web page, "" if it has none.
func (a *Response) Title() string {
	text := string(a.Body[:min(len(a.Body), 8<<10)])
	lower := strings.ToLower(text)
	if i := strings.Index(lower, "<title"); i >= 0 && len(lower) == len(text) {
		if open := strings.IndexByte(lower[i:], '>'); open >= 0 {
			rest := text[i+open+1:]
			if end := strings.IndexByte(rest, '<'); end >= 0 {
				rest = rest[:end]
			}
			return a.Text(html.UnescapeString(rest))
		}
	}
	return ""
}

// words returns the error, the title or the first characters of a response, for a message.
func (a *Response) words() string {
	for _, e := range ReadErrors(a.Body) {
		switch {
		case e.Code != "" && e.Message != "":
			return a.Text(e.Code) + ": " + a.Text(e.Message)
		case e.Code+e.Message != "":
			return a.Text(e.Code + e.Message)
		}
	}
	if IsHTML(a) {
		if t := a.Title(); t != "" {
			return "a page titled \"" + t + "\""
		}
		return "a web page"
	}
	return a.Text(string(a.Body[:min(len(a.Body), 200)]))
}

// Summary returns status and words: "403 (DENIED: requested access …)".
func (a *Response) Summary() string {
	text := strconv.Itoa(a.Status)
	if w := a.words(); w != "" && !a.Packed {
		text += " (" + w + ")"
	}
	return text
}
