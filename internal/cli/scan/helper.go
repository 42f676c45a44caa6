package scan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/internal/process/program"
	"github.com/regwarden/regwarden/secret"
)

// Helpers runs credential helpers of docker.
type Helpers struct {
	Allowed []string      // names of programs, without a directory
	Timeout time.Duration // of one program; default 30 s
}

var helperName = lazyregexp.New(`^docker-credential-[A-Za-z0-9][A-Za-z0-9._-]*$`)

// AddTo adds the flag of the helpers that may be started, which has two names.
func (h *Helpers) AddTo(flags *pflag.FlagSet) {
	flags.StringArrayVar(&h.Allowed, "allow-exec", nil,
		"credential helper that may be started, such as docker-credential-pass; repeatable (also: --allow-helper)")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "allow-helper" {
			name = "allow-exec"
		}
		return pflag.NormalizedName(name)
	})
}

// Check returns an error for names that are not those of credential helpers.
func (h Helpers) Check() error {
	for _, name := range h.Allowed {
		if !helperName.Get().MatchString(name) {
			return fmt.Errorf("must be the name of a credential helper, such as docker-credential-pass, not %q", name)
		}
	}
	return nil
}

// Get returns the credentials that a helper has for a host, empty ones if it has none: it is a model.Helper. The helper is searched for in
// PATH, and started without a shell.
func (h Helpers) Get(ctx context.Context, name, host string) (username string, password secret.String, err error) {
	if !slices.Contains(h.Allowed, name) {
		return "", "", model.ErrHelperNotAllowed
	}
	output, err := program.Program{Name: name, Args: []string{"get"}, Stdin: host, Timeout: h.Timeout}.Output(ctx)
	if err != nil && bytes.Contains(output, []byte("credentials not found")) {
		return "", "", nil
	}
	if err != nil {
		return "", "", withMessage(err, output)
	}
	var got struct{ Username, Secret string }
	if json.Unmarshal(output, &got) != nil || got.Secret == "" {
		return "", "", errors.New("its output is not a JSON object with Username and Secret")
	}
	return got.Username, secret.String(got.Secret), nil
}

// withMessage adds the message that a helper prints on standard output when it fails. It must not have credentials, but nothing keeps a
// helper from printing them: an object is never shown.
func withMessage(err error, output []byte) error {
	line, _, _ := bytes.Cut(bytes.TrimSpace(output), []byte("\n"))
	if len(line) == 0 || bytes.ContainsAny(output, "{}") {
		return err
	}
	return fmt.Errorf("%w, and printed %q", err, line[:min(len(line), maxMessage)])
}

// maxMessage are the bytes of a message of a helper that are shown.
const maxMessage = 200
