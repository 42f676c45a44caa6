// Package forms has the forms of the pages: their fields, what browsers send of them, and the problems that are shown at them.
package forms

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/web/console/words"
)

// Form is a form with labeled fields. Names of fields are those of the domain, so that the problems that it reports belong to them.
type Form struct {
	Action, Button string
	Fields         []Field
	Message        string   // why it was refused
	Problems       []string // of fields that the form does not have
	Current        string   // address of the form of the current state, if it was refused because it is outdated
	Multipart      bool     // has a field for a file
}

// Field is an input. Type is that of HTML, or textarea, select, checkbox or checkboxes. A password has no value in a page. That of
// checkboxes has the values of the chosen options, separated by spaces; each is sent as a field of its own.
type Field struct {
	Name, Label, Type, Value, Hint, Autocomplete string

	Path     string // by which the domain names it, if not by Name
	Key      string // of its id, where several fields have the name
	Options  []Option
	Rows     int
	Types    string // classes of the types of authentication that the field belongs to; empty: all
	Required bool
	Focused  bool   // when the page is shown
	Secret   bool   // of a textarea: has no value in a page, like a password
	File     bool   // of a textarea: the text may come from a file, which ReadFiles reads
	Wanted   bool   // its value has to be corrected
	Again    bool   // the hint asks for the value again, which the page must not have
	Error    string // what is wrong with the value
}

// Option is one of a select, or of checkboxes.
type Option struct{ Value, Label, Hint string }

// Options returns options of values and labels, in turn.
func Options(pairs ...string) (all []Option) {
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, Option{Value: pairs[i], Label: pairs[i+1]})
	}
	return all
}

// Chosen reports whether one of the checkboxes is chosen.
func (f Field) Chosen(value string) bool { return slices.Contains(strings.Fields(f.Value), value) }

// Box is the name of one of the checkboxes.
func (f Field) Box(value string) string { return f.Name + "." + value }

// SentBoxes returns the values of the checkboxes that a browser sent.
func (f Field) SentBoxes(values Values) (sent []string) {
	for _, option := range f.Options {
		if values.PostFormValue(f.Box(option.Value)) == "true" {
			sent = append(sent, option.Value)
		}
	}
	return sent
}

// Values are those that a browser sent.
type Values interface{ PostFormValue(name string) string }

// New returns a form with a button.
func New(button, action string, fields ...Field) *Form {
	return &Form{Button: button, Action: action, Fields: fields}
}

// Field returns the field of that name, for templates that place fields one by one.
func (f *Form) Field(name string) (Field, error) {
	for _, one := range f.Fields {
		if one.Name == name {
			return one, nil
		}
	}
	return Field{}, errors.New("the form has no field " + name)
}

// Truth returns the value of a checkbox.
func Truth(is bool) string {
	if is {
		return "true"
	}
	return ""
}

func (f Field) path() string { return cmp.Or(f.Path, f.Name) }

// ID is the id of the input.
func (f Field) ID() string { return "field-" + cmp.Or(f.Key, f.Name) }

// Hidden reports whether the value must not be in a page.
func (f Field) Hidden() bool { return f.Secret || f.Type == "password" }

// Opened reports whether one of the fields has a value that is not its first option, or must be corrected: then they are not folded.
func (f *Form) Opened(names ...string) bool {
	return slices.ContainsFunc(f.Fields, func(one Field) bool { return slices.Contains(names, one.Name) && one.isSet() })
}

func (f Field) isSet() bool {
	unset := ""
	if len(f.Options) > 0 {
		unset = f.Options[0].Value
	}
	return f.Value != unset || f.Error != "" || f.Again || f.Wanted
}

// Want marks the field with an id as one that has to be corrected.
func (f *Form) Want(id string) {
	for i := range f.Fields {
		f.Fields[i].Wanted = f.Fields[i].ID() == id
	}
}

// Focus focuses the first field that has to be filled, on a page that is there for the form.
func (f *Form) Focus() *Form {
	for i := range f.Fields {
		if one := &f.Fields[i]; one.Required && one.Value == "" {
			one.Focused = true
			break
		}
	}
	return f
}

// Sent sets the values to those that the browser sent. Secrets must be entered again, since no page contains them.
func (f *Form) Sent(values Values) *Form {
	for i := range f.Fields {
		one, value := &f.Fields[i], values.PostFormValue(f.Fields[i].Name)
		switch {
		case one.Type == "checkboxes":
			one.Value = strings.Join(one.SentBoxes(values), " ")
		case !one.Hidden():
			one.Value = value
		case value != "":
			one.Hint, one.Again = "Enter it again.", true
		}
	}
	return f
}

// Refuse is Sent with the problems of a fault.
func (f *Form) Refuse(values Values, err error) *Form {
	f.Sent(values).AddProblems(err)
	return f
}

// AddProblems adds the problems of a fault.
func (f *Form) AddProblems(err error) {
	visible := fault.Visible(err)
	f.Message = words.Message(visible)
	if n := len(visible.Fields); n > 0 {
		f.Message = "Correct " + words.Count(n, "field") + "."
	}
	for _, problem := range visible.Fields {
		f.addProblem(problem)
	}
}

// addProblem adds a problem to its field, or to the field with the list or object that it is in. Its text has the labels of the fields.
func (f *Form) addProblem(p fault.Field) {
	if p.Text != nil {
		p.Problem = p.Text.Show(Label)
	}
	for i := range f.Fields {
		one := &f.Fields[i]
		rest, within := strings.CutPrefix(p.Field, one.path())
		switch {
		case !within:
			continue
		case rest == "":
			one.addError(p.Problem)
			return
		case rest[0] == '.' || rest[0] == '[':
			one.addError(part(rest) + " " + p.Problem)
			return
		}
	}
	f.Problems = append(f.Problems, p.Field+" "+p.Problem)
}

// Refused reports whether the form was sent and refused.
func (f *Form) Refused() bool { return f.Message != "" }

// part names a part of a field, such as .name or [0]. Lists have an entry in each line.
func part(path string) string {
	path = strings.Trim(path, ".[]")
	if n, err := strconv.Atoi(path); err == nil {
		return "line " + strconv.Itoa(n+1)
	}
	return path
}

func (f *Field) addError(text string) {
	if f.Error != "" {
		text = f.Error + "; " + text
	}
	f.Error = text
}
