package console

import (
	"errors"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
)

// form is a form with labeled fields. Names of fields are those of the API, so that the problems that the domain reports
// belong to them.
type form struct {
	Action, Button string
	Fields         []field
	Message        string   // why it was refused
	Problems       []string // of fields that the form does not have
	Current        string   // address of the form of the current state, if it was refused because it is outdated
	Multipart      bool     // has a field for a file
}

// field is an input. Type is that of HTML, or textarea, select or checkbox. A password has no value in a page.
type field struct {
	Name, Label, Type, Value, Hint, Autocomplete string

	Options  []option
	Rows     int
	Required bool
	Secret   bool   // of a textarea: has no value in a page, like a password
	Again    bool   // the hint asks for the value again, which the page must not have
	Error    string // what is wrong with the value
}

type option struct{ Value, Label string }

func newForm(button, action string, fields ...field) *form {
	return &form{Button: button, Action: action, Fields: fields}
}

// Field returns the field of that name, for templates that place fields one by one.
func (f *form) Field(name string) (field, error) {
	for _, one := range f.Fields {
		if one.Name == name {
			return one, nil
		}
	}
	return field{}, errors.New("the form has no field " + name)
}

var checked = map[bool]string{true: "true"} // the value of a checkbox

// ID is the id of the input.
func (f field) ID() string { return "field-" + f.Name }

// Hidden reports whether the value must not be in a page.
func (f field) Hidden() bool { return f.Secret || f.Type == "password" }

// sent sets the values to those that the browser sent. Secrets must be entered again, since no page contains them.
func (f *form) sent(c *call) *form {
	for i := range f.Fields {
		one, value := &f.Fields[i], c.PostFormValue(f.Fields[i].Name)
		switch {
		case !one.Hidden():
			one.Value = value
		case value != "":
			one.Hint, one.Again = "Enter it again.", true
		}
	}
	return f
}

// refused is sent with the problems of a fault.
func (f *form) refused(c *call, err error) *form {
	f.sent(c).addProblems(err)
	return f
}

// addProblems adds the problems of a fault.
func (f *form) addProblems(err error) {
	visible := fault.Visible(err)
	f.Message = messageOf(visible)
	if n := len(visible.Fields); n > 0 {
		f.Message = "Correct " + count(n, "field") + "."
	}
	for _, problem := range visible.Fields {
		f.addProblem(problem)
	}
}

// addProblem adds a problem to its field, or to the field with the list or object that it is in.
func (f *form) addProblem(p fault.Field) {
	for i := range f.Fields {
		one := &f.Fields[i]
		rest, within := strings.CutPrefix(p.Field, one.Name)
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
func (f *form) Refused() bool { return f.Message != "" }

// part names a part of a field, such as .name or [0]. Lists have an entry in each line.
func part(path string) string {
	path = strings.Trim(path, ".[]")
	if n, err := strconv.Atoi(path); err == nil {
		return "line " + strconv.Itoa(n+1)
	}
	return path
}

func (f *field) addError(text string) {
	if f.Error != "" {
		text = f.Error + "; " + text
	}
	f.Error = text
}
