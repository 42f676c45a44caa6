package account

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/secret"
)

// Variables and files by which a platform passes a token.
const (
	defaultIDToken = "/var/run/secrets/regwarden/token" // #nosec G101 -- a path, not a credential
	envRequestURL  = "ACTIONS_ID_TOKEN_REQUEST_URL"
	envRequestKey  = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"

	maxIDToken     = 16 << 10
	requestTimeout = 30 * time.Second
)

// workload has the flags of a login with a token of a trusted issuer.
type workload struct {
	file, audience, rule       string
	github, gitlab, kubernetes bool
}

func (w *workload) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&w.file, "oidc-token", "", "file with a token of an issuer that the organization trusts; - is standard input")
	flags.BoolVar(&w.github, "github", false, "log in as a job of GitHub Actions, which needs the permission id-token: write")
	flags.BoolVar(&w.gitlab, "gitlab", false, "log in as a job of GitLab, with the ID token in "+logins.EnvIDToken)
	flags.BoolVar(&w.kubernetes, "kubernetes", false, "log in as a pod, with the projected token in "+defaultIDToken+" or the file in "+
		logins.EnvIDTokenFile)
	flags.StringVar(&w.audience, "audience", "", "audience of the token that --github requests (default: URL)")
	flags.StringVar(&w.rule, "rule", "", "name of the trust rule, where several accept the token")
}

// sources is how many of the flags name a token.
func (w *workload) sources() (n int) {
	for _, given := range []bool{w.file != "", w.github, w.gitlab, w.kubernetes} {
		if given {
			n++
		}
	}
	return n
}

// check returns an error for flags that cannot be combined.
func (w *workload) check(l *login) error {
	switch n := w.sources(); {
	case n > 1:
		return command.AsUsage(errors.New("give one of --oidc-token, --github, --gitlab and --kubernetes"))
	case n == 1 && (l.email != "" || l.passwordStdin || l.keyStdin):
		return command.AsUsage(errors.New("a token of another issuer cannot be combined with --email, --password-stdin and " +
			"--api-key-stdin"))
	case n == 0 && w.rule != "", !w.github && w.audience != "":
		return command.AsUsage(errors.New("--rule requires one of --oidc-token, --github, --gitlab and --kubernetes; --audience requires " +
			"--github"))
	}
	return nil
}

// logIn exchanges the token for one of the server.
func (w *workload) logIn(l *login, to *logins.Context, config client.Config) (*api.UserInfo, error) {
	token, err := w.token(l.Ctx, l.Cmd.InOrStdin(), to.Server)
	if err != nil {
		return nil, err
	}
	c, err := client.New(to.Server, config)
	if err != nil {
		return nil, err
	}
	issued, err := c.Trusts.Exchange(l.Ctx, l.org, w.rule, token)
	if err != nil {
		return nil, err
	}
	to.Token = issued.Reveal()
	return c.Whoami(l.Ctx)
}

// token returns the token of the platform.
func (w *workload) token(ctx context.Context, stdin io.Reader, server string) (secret.String, error) {
	switch {
	case w.github:
		return requestToken(ctx, cmp.Or(w.audience, server))
	case w.gitlab:
		token := strings.TrimSpace(os.Getenv(logins.EnvIDToken))
		if token == "" {
			return "", command.AsUsage(fmt.Errorf("--gitlab: %s is empty; add to the job: id_tokens: {%s: {aud: %s}}", logins.EnvIDToken,
				logins.EnvIDToken, server))
		}
		return secret.String(token), nil
	case w.kubernetes:
		return readToken("--kubernetes", cmp.Or(os.Getenv(logins.EnvIDTokenFile), defaultIDToken))
	case w.file == "-":
		return command.ReadSecret(stdin, "Token: ")
	}
	return readToken("--oidc-token", w.file)
}

func readToken(flag, path string) (secret.String, error) {
	file, err := os.Open(path) // #nosec G304 G703 -- a file of the user
	if err != nil {
		return "", command.AsUsage(fmt.Errorf("%s: %w", flag, err))
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxIDToken+1))
	if err == nil && len(text) > maxIDToken {
		err = errors.New("the token must be at most 16 KiB")
	}
	if err != nil {
		return "", command.AsUsage(fmt.Errorf("%s: %w", flag, err))
	}
	return secret.String(strings.TrimSpace(string(text))), nil
}

// requestToken requests a token for that audience from GitHub Actions.
func requestToken(ctx context.Context, audience string) (secret.String, error) {
	from, key := os.Getenv(envRequestURL), os.Getenv(envRequestKey)
	if from == "" || key == "" {
		return "", command.AsUsage(fmt.Errorf("--github: %s is not set; give the job the permission id-token: write", envRequestURL))
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	at := from + "&audience=" + url.QueryEscape(audience)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody) // #nosec G704 -- GitHub sets it for the job
	if err != nil {
		return "", fmt.Errorf("--github: %s is not a URL", envRequestURL)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	noRedirects := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := noRedirects.Do(request) // #nosec G704 -- as above
	if err != nil {
		return "", fmt.Errorf("request a token of the job: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	var body struct {
		Value string `json:"value"`
	}
	err = json.NewDecoder(io.LimitReader(response.Body, 2*maxIDToken)).Decode(&body)
	if response.StatusCode != http.StatusOK || err != nil || body.Value == "" {
		return "", fmt.Errorf("request a token of the job: the response is HTTP %d without a token", response.StatusCode)
	}
	return secret.String(body.Value), nil
}
