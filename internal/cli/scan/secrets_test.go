// The race detector makes this ten times slower, and other tests run checks with it.

//go:build !race

package scan

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"regexp"
	"testing"

	"github.com/regwarden/regwarden/internal/cli/scanreport"
	"github.com/regwarden/regwarden/regcheck"
)

// unreachable resolves every name and connects to nothing.
type unreachable struct{}

func (unreachable) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
}

func (unreachable) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("connection refused")
}

// marked matches the secrets of samples: hunter2, also as a part of base64, where it begins at any of three bits.
var marked = regexp.MustCompile(`hunter2|aHVudGVyM|h1bnRlcj|odW50ZXIy`)

// No output of checked samples shows a secret.
func TestCheckedSamplesShowNoSecret(t *testing.T) {
	result, err := Read(t.Context(), []string{"../../../definitions/testdata/samples"}, nil, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checker := &regcheck.Checker{Resolver: unreachable{}, Dialer: unreachable{}}
	Checks{Check: func(ctx context.Context, plan *regcheck.Plan) (*regcheck.Report, error) {
		return checker.Check(ctx, plan, nil)
	}}.Run(t.Context(), &result)
	if s := result.Summary; s.Checked < 50 || s.Unresolved < 20 || s.Valid > 0 {
		t.Errorf("summary %+v", s)
	}
	outputs := map[string]func(*bytes.Buffer) error{
		"text": func(w *bytes.Buffer) error { return Text{Users: true}.Write(w, result) },
		"YAML": func(w *bytes.Buffer) error { w.WriteString(printed(t, "yaml", result, false)); return nil },
	}
	for _, kind := range scanreport.Kinds() {
		outputs[kind] = func(w *bytes.Buffer) error {
			return scanreport.Write(w, kind, result, scanreport.Options{ShowUsers: true, Summary: w})
		}
	}
	for name, write := range outputs {
		var out bytes.Buffer
		if err := write(&out); err != nil || out.Len() < 1000 {
			t.Errorf("%s: %v, %d bytes", name, err, out.Len())
		}
		if found := marked.Find(out.Bytes()); found != nil {
			at := bytes.Index(out.Bytes(), found)
			t.Errorf("%s shows %q: …%s", name, found, out.Bytes()[max(0, at-100):at])
		}
	}
}
