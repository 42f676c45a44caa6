package filereader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/process/childprocess"
	"github.com/regwarden/regwarden/secret"
)

// The test binary is its own child process, with the limits of a service or with one that the files of the tests exceed.
var children = map[string]limits{
	"service": changed(func(*limits) {}),
	// The race detector on a busy machine needs most of the usual endTime for what follows the reading.
	"shortTime": changed(func(l *limits) {
		l.readTime, l.validateTime, l.endTime = time.Millisecond, time.Millisecond, time.Minute
	}),
	"noTime": changed(func(l *limits) { l.endTime = 50 * time.Millisecond }),
	"littleMemory": changed(func(l *limits) { // the race detector on a busy machine may need longer than the usual times
		l.fullMemory, l.readTime, l.validateTime, l.endTime = 1, time.Minute, time.Minute, time.Minute
	}),
	"noMemory": changed(func(l *limits) { l.endMemory = 20 << 20 }),
}

func changed(change func(*limits)) limits {
	l := defaultLimits
	l.killMemory = 0 // the race detector maps more
	change(&l)
	return l
}

// held is a child process that reads small files, and large ones until it is ended.
const held = "held"

func TestMain(m *testing.M) {
	if os.Args[len(os.Args)-1] == held {
		childprocess.Serve(os.Stdin, os.Stdout, childprocess.Limits{CPU: defaultLimits.killTime}, func(f File) response {
			if len(f.Data) > large {
				select {}
			}
			return defaultLimits.read(f)
		})
		return
	}
	if l, ok := children[os.Args[len(os.Args)-1]]; ok {
		l.serve(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

func newTestReader(t *testing.T, child string) (*Reader, *bytes.Buffer) {
	log := &bytes.Buffer{}
	r := New(slog.New(slog.NewTextHandler(log, nil)), 2, os.Args[0], child)
	r.longest = 10 * time.Minute // child processes have a low priority, and get little of a busy machine
	t.Cleanup(r.Close)
	return r, log
}

var now = model.Options{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}

const secretItem = `- apiVersion: v1
  kind: Secret
  metadata:
    name: pull%d
    namespace: apps
    annotations: {note: %s}
  type: kubernetes.io/dockerconfigjson
  stringData:
    .dockerconfigjson: '{"auths": {"r%d.test": {"username": "ada", "password": "hunter2"}}}'
`

// largeFile has that many definitions with the same password.
func largeFile(secrets int) File {
	var text strings.Builder
	note := strings.Repeat("a", 100) // files with many short values are refused
	text.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range secrets {
		fmt.Fprintf(&text, secretItem, i, note, i)
	}
	return File{Name: "body", Data: []byte(text.String()), Options: now}
}

// The result of a child process is that of this process, secrets included.
func TestReaderReadsAsThisProcess(t *testing.T) {
	r, log := newTestReader(t, "service")
	names, err := filepath.Glob("../../../definitions/testdata/samples/*/*/in/*")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d samples, %v", len(names), err)
	}
	found := 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // a directory
		}
		file := File{Name: filepath.Base(name), Data: data, Options: now}
		want, _ := Read(t.Context(), file)
		got, err := r.Read(t.Context(), file)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", name, err, got, want)
		}
		found += len(got.Registries)
	}
	if found == 0 || log.Len() > 0 {
		t.Errorf("%d definitions; log: %s", found, log)
	}
	if result, err := r.Read(t.Context(), largeFile(1)); err != nil || len(result.Registries) != 1 ||
		result.Registries[0].Definition.Auth.Password != secret.String("hunter2") {
		t.Errorf("%+v, %v", result, err)
	}
}

// Each limit ends reading with a result. The next file is read by another process, within the same limit.
func TestLimits(t *testing.T) {
	for _, row := range []struct {
		child, problem string
	}{
		{"shortTime", "The file takes too long to read. Only what was found until then is shown."},
		{"littleMemory", "The file takes too much memory to read. Only what was found until then is shown."},
		{"noTime", "The file takes too long or too much memory to read. Nothing of it is shown. Give the parts that have registries."},
		{"noMemory", "The file takes too long or too much memory to read. Nothing of it is shown. Give the parts that have registries."},
	} {
		t.Run(row.child, func(t *testing.T) {
			r, log := newTestReader(t, row.child)
			wantLimited(t, r, row.problem)
			if log.Len() > 0 {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// wantLimited reads files that are too large, twice, since the process of the first one may have to be replaced.
func wantLimited(t *testing.T, r *Reader, problem string) {
	t.Helper()
	for range 2 {
		result, err := r.Read(t.Context(), largeFile(10_000))
		if err != nil || len(result.Problems) != 1 || result.Problems[0].Message != problem || result.Problems[0].Source.File != "body" {
			t.Fatalf("%v, %+v", err, result.Problems)
		}
		if len(result.Registries) == 10_000 || result.Summary.Found != len(result.Registries) {
			t.Errorf("%d definitions, %+v", len(result.Registries), result.Summary)
		}
	}
}

// A child process that gets too little of the processor for a file is ended.
func TestBusyMachine(t *testing.T) {
	r, log := newTestReader(t, "service")
	r.longest = time.Millisecond
	wantLimited(t, r, "The file takes too long or too much memory to read. Nothing of it is shown. Give the parts that have registries.")
	if log.Len() > 0 {
		t.Errorf("log: %s", log)
	}
}

// A caller that leaves ends its process only. Others that wait are served.
func TestCanceledReading(t *testing.T) {
	r, log := newTestReader(t, held)
	const callers = 6
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			if _, err := r.Read(ctx, largeFile(20_000)); !errors.Is(err, context.Canceled) {
				t.Errorf("canceled: %v", err)
			}
		})
	}
	time.Sleep(50 * time.Millisecond) // for some to be read
	cancel()
	all.Wait()
	if result, err := r.Read(t.Context(), largeFile(3)); err != nil || result.Summary.Found != 3 {
		t.Errorf("%+v, %v", result.Summary, err)
	}
	if log.Len() > 0 {
		t.Errorf("log: %s", log)
	}
}

func TestProcessThatCannotStart(t *testing.T) {
	r := New(slog.New(slog.DiscardHandler), 1, t.TempDir()+"/missing")
	if _, err := r.Read(t.Context(), largeFile(1)); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

// A panic is an error of the program, without the values that it has.
func TestPanic(t *testing.T) {
	file := File{Name: "body", Data: []byte(`{"credHelpers": {"one.test": "pass"}}`)}
	file.Options.Helper = func(string, string) (string, secret.String, error) { panic("hunter2") }
	if r := readRecovering(file, func() bool { return true }); !strings.HasPrefix(r.Failure, "panicked (string)") ||
		strings.Contains(r.Failure, "hunter2") {
		t.Errorf("%+v", r)
	}
}
