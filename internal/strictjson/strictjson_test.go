package strictjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/secret"
)

type credentials struct {
	User     string        `json:"user"`
	Password secret.String `json:"password"`
	Count    int           `json:"count"`
	TLS      struct {
		Enabled bool   `json:"enabled"`
		CA      string `json:"ca"`
	} `json:"tls"`
	Auth *struct {
		Type string `json:"type"`
	} `json:"auth"`
	Tokens []secret.String `json:"tokens"`
}

func TestDecode(t *testing.T) {
	var got credentials
	wrong, err := strictjson.Decode([]byte(`{"user":"u","password":"p","PASSWORD":"other","paſſword":"x","later":{"a":[1]},"tls":null,`+
		`"tokens":["t"]} `), &got)
	if err != nil || len(wrong) > 0 {
		t.Fatal(err, wrong)
	}
	if got.User != "u" || got.Password.Reveal() != "p" || got.Tokens[0].Reveal() != "t" || got.Auth != nil {
		t.Errorf("got %+v", got)
	}
}

func TestDecodeReportsEveryWrongType(t *testing.T) {
	var got credentials
	wrong, err := strictjson.Decode([]byte(`{"user":5,"password":{"a":1},"count":"x","tls":{"enabled":"yes","ca":[1]},"auth":"basic",`+
		`"tokens":["a",7,null]}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	want := []fault.Field{
		{Field: "user", Problem: "must be a string, not a number"},
		{Field: "password", Problem: "must be a string, not an object"},
		{Field: "count", Problem: "must be a number, not a string"},
		{Field: "tls.enabled", Problem: "must be a boolean, not a string"},
		{Field: "tls.ca", Problem: "must be a string, not an array"},
		{Field: "auth", Problem: "must be an object, not a string"},
		{Field: "tokens[1]", Problem: "must be a string, not a number"},
		{Field: "tokens[2]", Problem: "must be a string, not null"},
	}
	if diff := cmp.Diff(want, wrong); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRejects(t *testing.T) {
	for name, body := range map[string]string{
		"empty":                 "",
		"blank":                 " \n",
		"text":                  "hello",
		"array":                 "[]",
		"string":                `"x"`,
		"null":                  "null",
		"cut off":               `{"user":"u"`,
		"trailing object":       `{"user":"u"}{}`,
		"trailing text":         `{"user":"u"} x`,
		"duplicate name":        `{"user":"u","user":"v"}`,
		"nested duplicate name": `{"x":{"a":1,"a":2}}`,
		"escaped duplicate":     `{"user":"u","\u0075ser":"v"}`,
		"invalid UTF-8":         "{\"user\":\"\xff\"}",
		"lone surrogate":        `{"user":"\ud800"}`,
		"too deep":              `{"x":` + strings.Repeat("[", strictjson.MaxDepth) + strings.Repeat("]", strictjson.MaxDepth) + `}`,
		"number out of range":   `{"count":99999999999999999999}`,
		"fraction for an int":   `{"count":1.5}`,
	} {
		t.Run(name, func(t *testing.T) {
			var got credentials
			_, err := strictjson.Decode([]byte(body), &got)
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != fault.Invalid || len(f.Fields) == 0 {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestErrorsOmitBody(t *testing.T) {
	for _, body := range []string{`{"password":"hunter2`, `{"hunter2":1,"hunter2":2}`, `{"password":hunter2}`} {
		if _, err := strictjson.Decode([]byte(body), &credentials{}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"user":5,"tls":{"ca":[1]}}`, `{"a":`, `{"auth":{"type":"x"},"tokens":[]}`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got credentials
		wrong, err := strictjson.Decode(body, &got)
		if f, ok := errors.AsType[*fault.Error](err); err != nil && (!ok || f.Kind != fault.Invalid) {
			t.Fatalf("not an invalid request: %v", err)
		}
		for _, w := range wrong {
			if w.Field == "" || w.Problem == "" {
				t.Fatalf("empty problem: %+v", w)
			}
		}
	})
}

// The response to a body of a megabyte must not have many megabytes, and its decoded lists must be limited.
func TestListsAreLimited(t *testing.T) {
	type body struct {
		List []string          `json:"list"`
		Map  map[string]string `json:"map"`
	}
	many := strings.TrimSuffix(strings.Repeat("1,", strictjson.MaxElements), ",")
	var v body
	wrong, err := strictjson.Decode([]byte(`{"list":[`+many+`]}`), &v)
	if err != nil || len(wrong) < fault.MaxFields || len(wrong) > fault.MaxFields+1 {
		t.Errorf("%d problems, %v", len(wrong), err)
	}
	if f := fault.InvalidFields(wrong...); len(f.Fields) != fault.MaxFields || !strings.Contains(f.Message, "more than 100") {
		t.Errorf("%d problems are listed: %s", len(f.Fields), f.Message)
	}
	if _, err := strictjson.Decode([]byte(`{"list":[`+many+`,1]}`), &v); fault.KindOf(err) != fault.Invalid {
		t.Errorf("one element more: %v", err)
	}
	members := make([]string, strictjson.MaxElements+1)
	for i := range members {
		members[i] = fmt.Sprintf(`"%d":"x"`, i)
	}
	if _, err := strictjson.Decode([]byte(`{"map":{`+strings.Join(members, ",")+`}}`), &v); fault.KindOf(err) != fault.Invalid {
		t.Errorf("one member more: %v", err)
	}
	if _, err := strictjson.Decode([]byte(`{"map":{`+strings.Join(members[:strictjson.MaxElements], ",")+`}}`), &v); err != nil {
		t.Errorf("as many members as there may be: %v", err)
	}
}

// Go clients write an empty list or map as null. A missing one is nil.
func TestNullListIsEmpty(t *testing.T) {
	for body, missing := range map[string]bool{`{"list":null,"map":null}`: false, `{"list":[],"map":{}}`: false, `{}`: true} {
		var got struct {
			List []string          `json:"list"`
			Map  map[string]string `json:"map"`
		}
		wrong, err := strictjson.Decode([]byte(body), &got)
		if err != nil || len(wrong) != 0 || len(got.List)+len(got.Map) != 0 || (got.List == nil) != missing || (got.Map == nil) != missing {
			t.Errorf("%s: %#v, %v, %v", body, got, wrong, err)
		}
	}
}

func TestUnknownReturnsPaths(t *testing.T) {
	type base struct {
		User string `json:"user"`
	}
	type definition struct {
		base
		Skipped string `json:"-"`
		TLS     *struct {
			CA secret.String `json:"ca,omitempty"`
		} `json:"tls"`
		Labels map[string]string `json:"labels"`
		List   []struct {
			Name string    `json:"name"`
			In   *struct{} `json:"in"`
			Deep []base    `json:"deep"`
		} `json:"list"`
	}
	for text, want := range map[string][]string{
		`{"user":"u","tls":{"ca":"x"}}`:                                    nil,
		`{"User":1,"tls":{"CA":2,"ca":{"in":3},"later":[{"a":1}]},"-":{}}`: {"User", "tls.CA", "tls.later", "-"},
		`{"tls":[{"a":1}],"user":{"b":2},"base":1,"Skipped":2}`:            {"base", "Skipped"},
		`{"tls":{"status":1},"list":[{},{"status":{"a":1}}],"status":1}`:   {"status"},
		`{"tls.ca":"x"}`: {"tls.ca"},
		`{"tls":null}`:   nil,
		`{}`:             nil,
		`{"unknown":`:    {"unknown"},
		`{"list":[{"name":"n","nam":1},7,{"in":{"x":{"y":1}},"deep":[{"Name":2}]}]}`: {"list[0].nam",
			"list[2].in.x", "list[2].deep[0].Name"},
		`{"list":{"name":1},"labels":{"x":1}}`:                                nil,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1}`: strings.Split("abcdefghij", ""),
	} {
		unknown, known := strictjson.Unknown([]byte(text), new(definition), "tls.status", "list[].status")
		if diff := cmp.Diff(want, unknown); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		all := []string{"user", "tls", "tls.ca", "labels", "list", "list[].name", "list[].in", "list[].deep", "list[].deep[].user"}
		if diff := cmp.Diff(all, known); diff != "" {
			t.Error(diff)
		}
	}
}
