// Package program runs programs that print secrets, with limits.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

const (
	defaultTimeout = 30 * time.Second
	maxOutput      = 64 << 10
)

// errTooLong is returned for a program that printed more than it may.
var errTooLong = errors.New("its output is too long")

// Program is a program to run, without a shell. Name is searched for in PATH unless it has a slash.
type Program struct {
	Name    string
	Args    []string
	Env     []string // nil means that of this process
	Stdin   string
	Stderr  io.Writer     // nil means that it is discarded
	Timeout time.Duration // zero means 30 s
	// MaxOutput is the most that the program may print; zero means 64 KiB.
	MaxOutput int
}

// Output runs the program and returns its standard output, also of one that failed. The error does not contain the output.
func (p Program) Output(ctx context.Context) ([]byte, error) {
	bound, cancel := context.WithTimeout(ctx, cmp.Or(p.Timeout, defaultTimeout))
	defer cancel()
	output := &limitedBuffer{most: cmp.Or(p.MaxOutput, maxOutput), end: cancel}
	cmd := exec.CommandContext(bound, p.Name, p.Args...) // #nosec G204 -- a program that the user named
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.Env, strings.NewReader(p.Stdin), output, p.Stderr, time.Second
	if p.Stderr == nil {
		cmd.Stderr = io.Discard // nil would require /dev/null, which an image may lack
	}
	err := cmd.Run()
	switch {
	case output.over:
		return nil, errTooLong
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case bound.Err() != nil:
		return nil, fmt.Errorf("it did not end within %v", cmp.Or(p.Timeout, defaultTimeout))
	case err != nil:
		return output.data, fmt.Errorf("it failed: %w", err)
	}
	return output.data, nil
}

// limitedBuffer is a buffer that ends the program after the most that it may print. It embeds no bytes.Buffer, whose ReadFrom has no limit.
type limitedBuffer struct {
	data []byte
	most int
	end  func()
	over bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > b.most {
		b.over = true
		b.end()
		return 0, io.ErrShortWrite
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
