package forms

import (
	"bytes"
	"mime/multipart"
	"net/http/httptest"
	"os"
	"testing"
)

func TestReadFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, file := range [][2]string{{"ca.file", "from a file"}, {"certificate.file", ""}, {"key.file", "\x30\x82\xff"}, {"other", "x"}} {
		part, err := form.CreateFormFile(file[0], "../../name")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write([]byte(file[1])) // to memory
	}
	for _, name := range []string{"ca", "certificate", "key", "other"} {
		_ = form.WriteField(name, "typed") // to memory
	}
	_ = form.Close()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	if err := r.ParseMultipartForm(1 << 10); err != nil {
		t.Fatal(err)
	}
	if err := ReadFiles(r); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"ca": "from a file", "certificate": "typed", "key": "\ufffd", "other": "typed"} {
		if got := r.PostFormValue(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) > 0 {
		t.Errorf("on disk: %v, %v", files, err)
	}
}

func TestOpened(t *testing.T) {
	fields := func() *Form {
		return New("", "", Field{Name: "text"}, Field{Name: "kind", Type: "select", Value: "a", Options: Options("a", "A", "b", "B")},
			Field{Name: "secret", Type: "password"}, Field{Name: "other", Value: "x"})
	}
	for name, row := range map[string]struct {
		change func(*Form)
		open   bool
	}{
		"defaults": {func(*Form) {}, false},
		"text":     {func(f *Form) { f.Fields[0].Value = "x" }, true},
		"option":   {func(f *Form) { f.Fields[1].Value = "b" }, true},
		"secret":   {func(f *Form) { f.Sent(sent{"secret": {"x"}, "kind": {"a"}}) }, true},
		"problem":  {func(f *Form) { f.Fields[2].addError("is required") }, true},
		"wanted":   {func(f *Form) { f.Want("field-text") }, true},
		"another":  {func(f *Form) { f.Want("field-other") }, false},
	} {
		f := fields()
		row.change(f)
		if got := f.Opened("text", "kind", "secret"); got != row.open {
			t.Errorf("%s: %v", name, got)
		}
	}
}
