package definitions

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/definitions/model"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the expected results of the samples anew")

// marked is part of every secret in the samples, so that a result that shows one is noticed.
const marked = "hunter2"

// Each directory testdata/samples/FORMAT/NAME is one sample: the files in "in", read as one tree, must have the result in want.json. The
// file "options", if there is one, has Options as JSON.
func TestSamples(t *testing.T) {
	samples, err := filepath.Glob("testdata/samples/*/*/in")
	if err != nil || len(samples) == 0 {
		t.Fatal("no samples", err)
	}
	for _, in := range samples {
		dir := filepath.Dir(in)
		t.Run(strings.TrimPrefix(dir, "testdata/samples/"), func(t *testing.T) { testSample(t, dir) })
	}
}

func testSample(t *testing.T, dir string) {
	t.Parallel()
	options := model.Options{Now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	if text, err := os.ReadFile(filepath.Join(dir, "options")); err == nil {
		if err := json.Unmarshal(text, &options); err != nil {
			t.Fatal(err)
		}
	}
	result, err := Read(context.Background(), os.DirFS(filepath.Join(dir, "in")), options)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	for _, secret := range []string{marked, base64.StdEncoding.EncodeToString([]byte(marked))} {
		if bytes.Contains(got, []byte(secret)) {
			t.Errorf("the result shows a secret")
		}
	}
	wantFile := filepath.Join(dir, "want.json")
	if *update {
		if err := os.WriteFile(wantFile, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(wantFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the result differs (-want +got); check it, then run: go test ./definitions -update\n%s", diff)
	}
}

// Every word of the closed lists, every format and every consumer is in the result of a sample.
func TestEveryWordHasASample(t *testing.T) {
	wants, err := filepath.Glob("testdata/samples/*/*/want.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range wants {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Registries, References []struct {
				Format, Consumer, Reason string
				Notices                  []struct{ Code string }
			}
			Skipped, Problems []struct{ Reason string }
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		for _, r := range append(want.Registries, want.References...) {
			seen["unresolved "+r.Reason], seen["format "+r.Format], seen["consumer "+r.Consumer] = true, true, true
			for _, n := range r.Notices {
				seen["notice "+n.Code] = true
			}
		}
		for _, s := range want.Skipped {
			seen["skipped "+s.Reason] = true
		}
		for _, p := range want.Problems {
			seen["problem "+p.Reason] = true
		}
	}
	// What a scan adds, and formats that have files of others only.
	without := []string{string(model.NoticeAmbientCredentials), string(model.CloudInit), string(model.Butane)}
	wanted := map[string][]string{"format ": FormatNames(), "consumer ": model.ConsumerNames()}
	for i, kind := range []string{"unresolved ", "skipped ", "problem ", "notice "} {
		for _, word := range model.WordLists()[i].Words {
			wanted[kind] = append(wanted[kind], word.Word)
		}
	}
	for kind, words := range wanted {
		for _, word := range words {
			if !seen[kind+word] && !slices.Contains(without, word) {
				t.Errorf("no sample has %s%s", kind, word)
			}
		}
	}
}
