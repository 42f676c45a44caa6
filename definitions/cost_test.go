// The race detector makes this ten times slower, and it starts no goroutine that shares anything.

//go:build !race && unix

package definitions

import (
	"bytes"
	"flag"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
)

var costs = flag.Bool("costs", false, "measure files of 1 MiB three times, and print what they cost (with -v)")

// Bounds of what reading a file costs. The service reads files of others, so that the cost of a file must depend on its size alone, and
// hardly on what it has. A file of 1 MiB that is parsed and has as much as possible takes 0.2 to 0.5 s here, one of ordinary Pods 0.2 s. A
// product of two numbers that grow with the file exceeds the bounds many times.
const (
	strictCPU   = 1.0  // seconds of CPU time for each MiB of a file, also of the garbage collector; more is compared with an ordinary file
	maxOrdinary = 5.0  // of the CPU times of a file and of an ordinary one of its size, measured with it: a busy machine slows both
	maxRatio    = 5.0  // of the CPU times of a file and of one of a quarter of its size: 4 is linear, and the rest is sorting and growing
	leastCPU    = 0.04 // seconds, below which the CPU time of the smaller file is mostly noise, or of what small files may have
	maxHeap     = 32.0 // MiB that are needed at the same time, for each MiB of a file
	smallHeap   = 8.0  // MiB more, for what small files may have: see limits.md
	garbage     = 10   // per cent that the heap may have of garbage while its size is measured
	maxHeaps    = 12   // measurements of the heap, of which the least counts
	maxMeasured = 5    // measurements, of which the least counts: other processes share the caches
)

// hostileFile is a row of a table of files that are made to be expensive. To add one, add it to a table that a test gives to testCosts.
// generate returns a file of about the size; it is called for two sizes.
type hostileFile struct {
	name, file string // file decides the format where the content does not
	generate   func(size int) []byte
	options    model.Options
}

// maxCPU is twice the bound in tests, which a busy machine would reach and repeat; a product of two numbers exceeds it, too. make test-long
// measures.
func maxCPU() float64 {
	if *costs {
		return strictCPU
	}
	return 2 * strictCPU
}

// testCosts fails for each file of a table whose reading costs more than the bounds, or more than maxRatio times as much as that of one of
// a quarter of the size.
func testCosts(t *testing.T, files []hostileFile) {
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) { f.test(t) })
	}
}

// sizeOfTest is the size of the larger file, in bytes. A test takes a quarter of what is measured: it shows the same in a quarter of the
// time.
func sizeOfTest() int {
	if *costs {
		return 1 << 20
	}
	return 1 << 18
}

func (f hostileFile) test(t *testing.T) {
	size := sizeOfTest()
	small, large := f.generate(size/4), f.generate(size)
	if n := len(large); n < size*9/10 || n > size*11/10 {
		t.Fatalf("the generator returned %d bytes instead of %d", n, size)
	}
	mib := float64(size) / (1 << 20)
	maxMiB, slowness := maxHeap*mib+smallHeap, max(1, slownessBefore)
	least, most := leastCost, leastCost
	for n := 0; n < maxMeasured && (n == 0 || *costs || slow(least, most, mib, slowness) != ""); n++ {
		if n > 0 {
			slowness = max(slowness, maxOrdinary*ordinary.measure(t, ordinary.generate(size)).cpu/(strictCPU*mib))
		}
		if least = least.min(f.measure(t, small)); least.cpu <= maxCPU()*mib*slowness {
			most = most.min(f.measure(t, large))
		} else if n > 0 { // the large file might take minutes
			t.Fatalf("%.1f s of CPU time for %d KiB on a machine %.1f times as slow", least.cpu, size>>12, slowness)
		}
	}
	for n := 0; n < maxHeaps && (most.heap > maxMiB || *costs && n == 0); n++ { // on a busy machine the garbage collector is late
		most.heap = min(most.heap, f.heap(t, large))
	}
	if *costs {
		t.Logf("%-45s %6.3f CPU s/MiB   ratio %4.1f   %6.1f MiB of heap/MiB   %7.1f MiB allocated/MiB", f.name, most.cpu,
			ratio(least, most, slowness), most.heap, most.allocated)
	}
	slownessBefore = 0.9 * slowness
	problem := slow(least, most, mib, slowness)
	if most.heap > maxMiB {
		problem = "too much memory"
	}
	if problem != "" {
		t.Errorf("%s: %s: %.3f s for %d KiB; %.3f s, %.1f MiB of heap and %.1f MiB allocated for %d KiB; slowness %.1f", f.name, problem,
			least.cpu, size>>12, most.cpu, most.heap, most.allocated, size>>10, slowness)
	}
}

// slownessBefore is about that of the machine at the row before, so that a busy machine need not be noticed at each row.
var slownessBefore float64

// ordinary is a file as clusters have it.
var ordinary = hostileFile{file: "pods.yaml", generate: func(size int) []byte { return bytes.Repeat([]byte(onePod), size/len(onePod)) }}

func ratio(small, large cost, slowness float64) float64 {
	return large.cpu / max(small.cpu, leastCPU*slowness)
}

// slow returns which bound of CPU time is exceeded, "" if none is. slowness is that of the machine: 1, or more if it is busy.
func slow(small, large cost, mib, slowness float64) string {
	switch {
	case large.cpu > maxCPU()*mib*slowness:
		return "too much CPU time"
	case ratio(small, large, slowness) > maxRatio:
		return "CPU time grows faster than the file"
	}
	return ""
}

// cost is what reading a file takes.
type cost struct {
	cpu             float64 // seconds
	heap, allocated float64 // MiB: at most at the same time, and in all
}

var leastCost = cost{math.Inf(1), math.Inf(1), math.Inf(1)}

func (c cost) min(other cost) cost {
	return cost{min(c.cpu, other.cpu), min(c.heap, other.heap), min(c.allocated, other.allocated)}
}

// Metrics of the heap: the size at which the next garbage collection ends, which what is in use does not exceed, and what the last one
// found in use. How late it is on a busy machine makes no difference to the second one.
const (
	heapGoal = "/gc/heap/goal:bytes"
	heapLive = "/gc/heap/live:bytes"
)

// measure reads a file for its CPU time and all that it allocates, and a bound of what it needs at once.
func (f hostileFile) measure(t *testing.T, data []byte) cost {
	t.Helper()
	debug.FreeOSMemory() // also ends a garbage collection
	live, peak := readMetric(heapLive), watchHeap(heapGoal)
	before, began := allocated(), cpuTime(t)
	f.read(t, data)
	cpu, all := (cpuTime(t) - began).Seconds(), float64(allocated()-before)/(1<<20)
	return cost{cpu: cpu, heap: min(all, (peak()-live)/(1<<20)), allocated: all}
}

// heap reads a file for the most memory that it needs at once, in MiB. The many garbage collections take most of the time.
func (f hostileFile) heap(t *testing.T, data []byte) float64 {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	runtime.GC()
	before, peak := readMetric(heapLive), watchHeap(heapLive)
	f.read(t, data)
	return (peak() - before) / (1 << 20)
}

// read reads a file as the service does.
func (f hostileFile) read(t *testing.T, data []byte) {
	t.Helper()
	s := NewScanner(f.options)
	if err := s.AddFile("", fstest.MapFS{f.file: {Data: data}}, f.file); err != nil {
		t.Fatal(err)
	}
	result := s.Result()
	result.Validate()
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

func readMetric(name string) float64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}

// watchHeap returns a function that ends the watch and returns the most bytes that a metric had.
func watchHeap(metric string) (peak func() float64) {
	stop, result := make(chan struct{}), make(chan float64)
	go func() {
		most := readMetric(metric)
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-tick.C:
				most = max(most, readMetric(metric))
			case <-stop:
				tick.Stop()
				result <- max(most, readMetric(metric))
				return
			}
		}
	}()
	return func() float64 { close(stop); return <-result }
}
