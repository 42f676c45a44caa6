package filereader

import (
	"io"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/process/childprocess"
	"github.com/regwarden/regwarden/internal/process/cputime"
)

const (
	watchEvery = 20 * time.Millisecond
	large      = 256 << 10 // bytes of a file, after which the process ends to give its memory back
)

// limits are those of a child process. Times are processor time, and memory is that of the Go runtime.
type limits struct {
	readTime     time.Duration // of a file, after which reading ends with what was found
	validateTime time.Duration // of a file, after which no other definition is validated
	endTime      time.Duration // of a file, after which there is no result
	retireTime   time.Duration // of all files, after which the process is replaced
	killTime     time.Duration // of all files, after which the kernel kills the process

	collectAt  int64  // from which garbage is collected as often as it must be
	fullMemory uint64 // with which reading ends with what was found
	endMemory  uint64 // with which there is no result
	killMemory uint64 // mapped bytes, with which the kernel refuses more and the process ends
}

var defaultLimits = limits{
	readTime: model.DefaultFileTime, validateTime: 2750 * time.Millisecond, endTime: 3500 * time.Millisecond, retireTime: 10 * time.Second,
	killTime:  16 * time.Second,
	collectAt: 128 << 20, fullMemory: 144 << 20, endMemory: 176 << 20, killMemory: 320 << 20,
}

// response is what a child process returns.
type response struct {
	Result  result
	Failure string // why there is none, an error of this program
	Last    bool   // the process must not read another file
}

// Serve runs the child process until in ends.
func Serve(in io.Reader, out io.Writer) { defaultLimits.serve(in, out) }

func (l limits) serve(in io.Reader, out io.Writer) {
	debug.SetMemoryLimit(l.collectAt)
	childprocess.Serve(in, out, childprocess.Limits{Memory: l.killMemory, CPU: l.killTime}, l.read)
}

// read reads a file within the limits. Reading goes on if it does not end by itself; then the process has to be ended.
func (l limits) read(f File) response {
	began := cputime.Used()
	used := func() time.Duration { return cputime.Used() - began }
	var full atomic.Bool
	f.Options.FileTime, f.Options.MemoryIsFull = l.readTime, full.Load
	done := make(chan response, 1)
	go func() { done <- readRecovering(f, func() bool { return used() < l.validateTime && !full.Load() }) }()
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	for {
		select {
		case r := <-done:
			r.Last = cputime.Used() > l.retireTime || len(f.Data) > large
			return r
		case <-watch.C:
			memory := memory()
			full.Store(memory > l.fullMemory)
			if used() > l.endTime || memory > l.endMemory {
				return response{Result: result(tooExpensive(f.Name)), Last: true}
			}
		}
	}
}

func readRecovering(f File, more func() bool) (r response) {
	defer func() {
		if cause := recover(); cause != nil {
			r = response{Failure: fault.Panicked(cause).Error()}
		}
	}()
	found, err := read(f, more)
	if err != nil {
		r.Failure = err.Error()
	}
	r.Result = result(found)
	return r
}

// memory returns how many bytes the Go runtime uses.
func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// tooExpensive returns the result of a file of which nothing could be found within the limits.
func tooExpensive(name string) model.Result {
	r := model.Result{Registries: []model.Registry{}, Skipped: []model.Skipped{}, Problems: []model.Problem{{
		Source: model.Source{File: name}, Reason: model.ProblemWrongShape,
		Message: "The file takes too long or too much memory to read. Nothing of it is shown. Give the parts that have registries.",
	}}}
	r.Summarize()
	return r
}

// result is a model.Result between the processes, where empty lists are nil.
type result model.Result

// complete returns the result without lists that are nil, which would be null in JSON.
func (r result) complete() model.Result {
	r.Registries = append([]model.Registry{}, r.Registries...)
	r.Skipped = append([]model.Skipped{}, r.Skipped...)
	r.Problems = append([]model.Problem{}, r.Problems...)
	for _, list := range [][]model.Registry{r.Registries, r.References} {
		for i := range list {
			list[i].Notices = append([]model.Notice{}, list[i].Notices...)
		}
	}
	return model.Result(r)
}
