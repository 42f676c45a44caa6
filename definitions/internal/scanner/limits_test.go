package scanner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/process/cputime"
)

const fileTime = 20 * time.Millisecond

func withFormats(s *Scanner, formats ...Reader) *Scanner {
	s.Formats = formats
	return s
}

// use computes for this processor time.
func use(d time.Duration) {
	for end := cputime.Used() + d; cputime.Used() < end; {
	}
}

// slow finds an entry in each millisecond, in a file named slow without end.
var slow = Reader{Name: "slow", Is: func(*File) bool { return true }, Read: func(f *File) {
	for i := 1; strings.HasPrefix(f.Name, "slow") || i < 3; i++ {
		use(time.Millisecond)
		f.Scanner.Skip(f.At(i, ""), model.SkipGit, "skipped")
	}
}}

// A file whose time is over has a problem and what was found until then. The next one has all of its time.
func TestFileTime(t *testing.T) {
	s := withFormats(New(model.Options{FileTime: fileTime}), slow)
	for _, name := range []string{"slow1", "fast", "slow2"} {
		if err := s.AddReader(name, strings.NewReader("text")); err != nil {
			t.Fatal(err)
		}
	}
	result := s.Result()
	found := map[string]int{}
	for _, skipped := range result.Skipped {
		found[skipped.Source.File]++
	}
	if found["fast"] != 2 || found["slow1"] < 2 || found["slow2"] < 2 {
		t.Errorf("found: %v", found)
	}
	want := "The file takes too long to read. Only what was found until then is shown."
	if len(result.Problems) != 2 || result.Problems[0].Message != want || result.Problems[0].Source.File != "slow1" ||
		result.Problems[1].Source.File != "slow2" {
		t.Errorf("%+v", result.Problems)
	}
}

// Resolving may take what the files have left. A single file is named.
func TestResolveTime(t *testing.T) {
	for files, name := range map[int]string{1: "file0", 20: ""} {
		s := withFormats(New(model.Options{FileTime: fileTime}), Reader{Name: "quick", Is: func(*File) bool { return true },
			Read: func(*File) {}})
		for i := range files {
			if err := s.AddReader(fmt.Sprintf("file%d", i), strings.NewReader("text")); err != nil {
				t.Fatal(err)
			}
		}
		resolved, began := 0, cputime.Used()
		s.Complete(func() {
			for ; ; resolved++ {
				use(time.Millisecond)
				s.Skip(model.Source{}, model.SkipGit, "skipped")
			}
		})
		result := s.Result()
		took := cputime.Used() - began
		if len(result.Skipped) != resolved || took < fileTime/2*time.Duration(files) || took > fileTime*time.Duration(files+5) {
			t.Errorf("%d files: %d entries, %d resolved in %v", files, len(result.Skipped), resolved, took)
		}
		if len(result.Problems) != 1 || result.Problems[0].Source.File != name || !strings.Contains(result.Problems[0].Message,
			"too long to read") {
			t.Errorf("%d files: %+v", files, result.Problems)
		}
	}
}

// Reading without reports ends too when the time is over, and reports are not lost afterwards.
func TestWithoutReports(t *testing.T) {
	s := New(model.Options{FileTime: fileTime})
	s.Complete(func() {
		s.WithoutReports(func() {
			for {
				use(time.Millisecond)
				s.Skip(model.Source{}, model.SkipGit, "skipped")
			}
		})
	})
	if result := s.Result(); len(result.Skipped) != 0 || len(result.Problems) != 1 {
		t.Errorf("%+v", result)
	}
}

// A file that fills the memory ends as one whose time is over.
func TestMemoryIsFull(t *testing.T) {
	entries := 0
	s := withFormats(New(model.Options{MemoryIsFull: func() bool { entries++; return entries > 3 }}), slow)
	if err := s.AddReader("slow", strings.NewReader("text")); err != nil {
		t.Fatal(err)
	}
	result := s.Result()
	if len(result.Skipped) == 0 || len(result.Problems) != 1 ||
		result.Problems[0].Message != "The file takes too much memory to read. Only what was found until then is shown." {
		t.Errorf("%d entries, %+v", len(result.Skipped), result.Problems)
	}
}

// Other panics of a reader are not recovered.
func TestPanicWithinFileTime(t *testing.T) {
	defer func() {
		if cause := recover(); cause != "broken" {
			t.Errorf("recovered %v", cause)
		}
	}()
	s := withFormats(New(model.Options{FileTime: time.Hour}), Reader{Name: "broken", Is: func(*File) bool { panic("broken") }})
	_ = s.AddReader("file", strings.NewReader("text"))
	t.Error("no panic")
}
