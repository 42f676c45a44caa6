package hashing

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is its own child process.
const asChild = "child"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asChild {
		Serve(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

func newTestProcess(t testing.TB) *Process {
	p := NewProcess(slog.New(slog.DiscardHandler), os.Args[0], asChild)
	t.Cleanup(p.Close)
	return p
}

// input returns a cheap input, different for each number.
func input(number int) Input {
	return Input{Password: []byte{byte(number)}, Salt: []byte("saltsaltsaltsalt"), MemoryKiB: 1024, Time: 1, Parallelism: 1, Size: 32}
}

// wantTag compares the tag with one computed in this process.
func wantTag(t *testing.T, p *Process, number int) {
	t.Helper()
	want, _ := Compute(input(number))
	if got, err := p.Compute(input(number)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("input %d: %x, %v, want %x", number, got, err, want)
	}
}

func TestProcessComputesConcurrently(t *testing.T) {
	p := newTestProcess(t)
	var all sync.WaitGroup
	for number := range 16 {
		all.Go(func() { wantTag(t, p, number) })
	}
	all.Wait()
}

func TestProcessThatCannotRun(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	if tag, err := NewProcess(log, t.TempDir()+"/missing").Compute(input(1)); !errors.Is(err, fs.ErrNotExist) || tag != nil {
		t.Errorf("missing file: %x, %v", tag, err)
	}
	p := NewProcess(log, os.Args[0], "-test.list=^$")
	if tag, err := p.Compute(input(1)); err == nil || tag != nil {
		t.Errorf("a process that does not call Serve: %x, %v", tag, err)
	}
}

// BenchmarkCompute computes at the cost of the service, on as many goroutines as there are processors.
func BenchmarkCompute(b *testing.B) {
	for name, compute := range map[string]func(Input) ([]byte, error){"library": Compute, "process": newTestProcess(b).Compute} {
		b.Run(name, func(b *testing.B) {
			b.RunParallel(func(parallel *testing.PB) {
				for parallel.Next() {
					if _, err := compute(Input{Password: []byte("password"), Salt: []byte("saltsaltsaltsalt"), MemoryKiB: 19456, Time: 2,
						Parallelism: 1, Size: 32}); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
