// Package filereader finds the registry definitions of a file in a child process with limits of processor time and memory, since
// a hostile file can make reading expensive. The result has secrets, and comes back through a pipe.
package filereader

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/process/childprocess"
)

const (
	longest = 15 * time.Second // for a file on a busy machine; the processor time ends much earlier
	silence = 5 * time.Second  // of a child process, which is silent while it encodes a long result
)

// File is a file that was uploaded.
type File struct {
	Name    string // in the result
	Data    []byte
	Options model.Options // without functions
}

// Read reads a file in this process, without limits.
func Read(_ context.Context, f File) (model.Result, error) {
	return read(f, func() bool { return true })
}

// read validates definitions until more returns false.
func read(f File, more func() bool) (result model.Result, err error) {
	scanner := definitions.NewScanner(f.Options)
	if err := scanner.AddReader(f.Name, bytes.NewReader(f.Data)); err != nil {
		return result, err
	}
	result = scanner.Result()
	result.ValidateWhile(more)
	return result, nil
}

// Reader reads files in child processes, one file at a time in each. It is safe for concurrent use.
type Reader struct {
	free    chan *process
	longest time.Duration
}

type process = childprocess.Process[File, response]

// New returns a Reader of that many files at once. Its child processes are executable with args, and have to call Serve with their
// standard input and output. They are started on demand.
func New(log *slog.Logger, atOnce int, executable string, args ...string) *Reader {
	r := &Reader{free: make(chan *process, atOnce), longest: longest}
	c := childprocess.Config{Executable: executable, Args: args, Silence: silence, Log: log, Failed: "file reading process failed"}
	for range atOnce {
		r.free <- childprocess.New[File, response](c)
	}
	return r
}

// Close ends the child processes. It must be called after the last Read.
func (r *Reader) Close() {
	for range cap(r.free) {
		p := <-r.free
		p.Close()
		r.free <- p
	}
}

// Read reads a file. What was found until a limit is in the result, with a problem that says so. The child process is killed when ctx
// ends.
//
// Faults: Unavailable if there is no child process.
func (r *Reader) Read(ctx context.Context, f File) (model.Result, error) {
	var p *process
	select {
	case p = <-r.free:
	case <-ctx.Done():
		return model.Result{}, ctx.Err()
	}
	defer func() { r.free <- p }()
	bound, cancel := context.WithTimeout(ctx, r.longest)
	defer cancel()
	response, err := p.Call(bound, f)
	switch {
	case ctx.Err() != nil:
		return model.Result{}, ctx.Err()
	case errors.Is(err, childprocess.ErrEnded), bound.Err() != nil:
		return tooExpensive(f.Name), nil
	case err != nil:
		return model.Result{}, &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable,
			Message: "Files cannot be read now. Try again.", RetryAfter: time.Second, Cause: err}
	}
	if response.Last {
		p.Close()
	}
	if response.Failure != "" {
		return model.Result{}, errors.New("read a file: " + response.Failure)
	}
	return response.Result.complete(), nil
}
