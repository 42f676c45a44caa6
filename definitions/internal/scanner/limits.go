package scanner

import (
	"slices"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/process/cputime"
)

// limits end reading that takes too much. Readers call the Scanner between entries, where reading ends.
type limits struct {
	end      time.Duration // of processor time; 0: no limit
	left     time.Duration // that the files have not used, for what they say of each other
	memory   func() bool   // reports whether it is full; nil: it never is
	calls    int
	exceeded string // what reading takes too much of; empty: nothing
}

// checkEvery is how many calls pass until the next check, which is a system call.
const checkEvery = 8

// check ends the reader by a panic, which run recovers, if it takes too much.
func (l *limits) check() {
	if l.calls++; l.calls%checkEvery != 0 {
		return
	}
	switch {
	case l.end > 0 && cputime.Used() > l.end:
		l.exceeded = "too long"
	case l.memory != nil && l.memory():
		l.exceeded = "too much memory"
	default:
		return
	}
	panic(l.exceeded)
}

// run calls read, and returns what it took too much of if it ended early. Without a time, that is not limited.
func (l *limits) run(time time.Duration, memory func() bool, read func()) (exceeded string) {
	if l.memory = memory; time > 0 {
		l.end = cputime.Used() + time
	}
	defer func() {
		if exceeded = l.exceeded; exceeded != "" {
			_ = recover() // the panic of check
		}
		l.left += max(0, l.end-cputime.Used())
		l.end, l.memory, l.exceeded = 0, nil, ""
	}()
	read()
	return ""
}

// readWithin adds what a file has, within the limits.
func (s *Scanner) readWithin(f *File) {
	exceeded := s.limits.run(s.Options.FileTime, s.Options.MemoryIsFull, func() { s.read(f) })
	s.problemOf(f.Name, exceeded)
}

// Complete calls resolve, which completes what files say of each other, when all have been read. It may take the time that the files have
// left, and at least a quarter of that of one, so that a file whose time is over has a result.
func (s *Scanner) Complete(resolve func()) {
	exceeded := s.limits.run(max(s.limits.left, s.Options.FileTime/4), s.Options.MemoryIsFull, resolve)
	s.problemOf(s.only, exceeded)
}

// problemOf adds the problem of reading that ended early, unless the file has it already. The file is empty if it is one of several.
func (s *Scanner) problemOf(file, exceeded string) {
	p := model.Problem{Source: model.Source{File: file}, Reason: model.ProblemWrongShape, Message: "The file takes " + exceeded +
		" to read. Only what was found until then is shown."}
	if file == "" {
		p.Message = "The files take " + exceeded + " to read. Only what was found until then is shown."
	}
	if exceeded != "" && !slices.Contains(s.result.Problems, p) {
		s.Problem(p.Source, p.Reason, "%s", p.Message)
	}
}
