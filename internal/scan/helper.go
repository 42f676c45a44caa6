package scan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/secret"
)

// Limits of a credential helper.
const (
	helperTimeout   = 30 * time.Second
	maxHelperOutput = 64 << 10
)

// Helpers runs credential helpers of docker.
type Helpers struct {
	Allowed []string      // names of programs, without a directory
	Timeout time.Duration // of one program; default 30 s
}

var helperName = regexp.MustCompile(`^docker-credential-[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Check returns an error for names that are not those of credential helpers.
func (h Helpers) Check() error {
	for _, name := range h.Allowed {
		if !helperName.MatchString(name) {
			return fmt.Errorf("must be the name of a credential helper, such as docker-credential-pass, not %q", name)
		}
	}
	return nil
}

// Get returns the credentials that a helper has for a host, empty ones if it has none: it is a model.Helper. The program is searched for in PATH, and started without a shell.
func (h Helpers) Get(ctx context.Context, program, host string) (username string, password secret.String, err error) {
	if !slices.Contains(h.Allowed, program) {
		return "", "", model.ErrHelperNotAllowed
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(h.Timeout, helperTimeout))
	defer cancel()
	output := &limitedBuffer{end: cancel}
	cmd := exec.CommandContext(ctx, program, "get") // #nosec G204 -- a program that the user named
	cmd.Stdin, cmd.Stdout, cmd.WaitDelay = strings.NewReader(host), output, time.Second
	err = cmd.Run()
	switch {
	case output.over:
		return "", "", errors.New("its output is too long")
	case ctx.Err() != nil:
		return "", "", fmt.Errorf("it did not end within %v", cmp.Or(h.Timeout, helperTimeout))
	case err != nil && bytes.Contains(output.data, []byte("credentials not found")):
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("it failed: %w", err) // its output may have a secret
	}
	var got struct{ Username, Secret string }
	if json.Unmarshal(output.data, &got) != nil || got.Secret == "" {
		return "", "", errors.New("its output is not a JSON object with Username and Secret")
	}
	return got.Username, secret.String(got.Secret), nil
}

// limitedBuffer is a buffer that ends the program after maxHelperOutput. It embeds no bytes.Buffer, whose ReadFrom has no limit.
type limitedBuffer struct {
	data []byte
	end  func()
	over bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > maxHelperOutput {
		b.over = true
		b.end()
		return 0, io.ErrShortWrite
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
