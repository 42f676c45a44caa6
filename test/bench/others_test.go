package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// tick is the unit of times in /proc: USER_HZ, 100 on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// process is what /proc tells of one (proc_pid_stat(5)).
type process struct {
	pid, parent int
	used        time.Duration // its own, and that of its children that have ended
}

func readProcess(pid int) (p process, ok bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return p, false // it has ended
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may be anything
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return p, false
	}
	p.pid, p.parent = pid, number(fields[1])
	for _, field := range fields[11:15] {
		p.used += time.Duration(number(field)) * tick
	}
	return p, true
}

// number reads what the kernel wrote.
func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func processes() []process {
	paths, _ := filepath.Glob("/proc/[0-9]*")
	var all []process
	for _, path := range paths {
		if p, ok := readProcess(number(filepath.Base(path))); ok {
			all = append(all, p)
		}
	}
	return all
}

// familyTime is what a process and all below it have used of the processors.
func familyTime(pid int) (used time.Duration) {
	family := map[int]bool{pid: true}
	all := processes()
	slices.SortFunc(all, func(a, b process) int { return a.pid - b.pid })
	for grown := true; grown; { // pids may have wrapped around
		grown = false
		for _, p := range all {
			if family[p.parent] && !family[p.pid] {
				family[p.pid], grown = true, true
			}
		}
	}
	for _, p := range all {
		if family[p.pid] {
			used += p.used
		}
	}
	return used
}

const kernelThreads = 2 // the pid of kthreadd: what writes our pages to the disk is below it

// others measures how much of the processors other programs take. What counts is what is neither ours nor the
// kernel's, and what the host of a virtual machine took away.
type others struct {
	busy, ours, stolen time.Duration
	began              time.Time
}

func watchOthers() others {
	busy, stolen := machineTime()
	return others{busy, familyTime(os.Getpid()) + familyTime(kernelThreads), stolen, time.Now()}
}

// machineTime is what all processes have used, and what was stolen (proc_stat(5)).
func machineTime() (busy, stolen time.Duration) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 {
		return 0, 0
	}
	for _, field := range fields[1:4] { // user, nice, system; interrupts come from us as well
		busy += time.Duration(number(field)) * tick
	}
	return busy, time.Duration(number(fields[8])) * tick
}

const disturbing = 3 // percent

// tell notes in a table what others took since, in percent of all processors.
func (o others) tell(b *testing.B, t *table) {
	b.Helper()
	now := watchOthers()
	all := float64(now.began.Sub(o.began)) * float64(runtime.NumCPU()) / 100
	foreign := max(0, float64(now.busy-o.busy-(now.ours-o.ours))/all)
	stolen := float64(now.stolen-o.stolen) / all
	said := fmt.Sprintf("Of the processors, other programs took %.1f %%, and the host of the machine %.1f %%.", foreign, stolen)
	if foreign+stolen > disturbing {
		t.disturbed = said
		said += " DISTURBED: measure again when the machine is quiet."
	}
	t.note("%s", said)
}
