package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/settings"
)

// healthTimeout is how long a server may take to respond.
const healthTimeout = 3 * time.Second

func newHealth() *cobra.Command {
	s, ready := settings.New(), false
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check that the server on this machine responds",
		Args:  command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The request has no secret, so that the setting is not needed.
			if err := errors.Join(s.Flags.Set("insecure-http", "true"), s.Load(os.Getenv)); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), healthTimeout)
			defer cancel()
			status, err := health(ctx, &s.Config, ready)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), status)
			return err
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "check that the server can use its database, too")
	s.AddTo(cmd.Flags(), "config", "listen", "tls-cert", "tls-key", "tls-self-signed", "insecure-http")
	return cmd
}

// health asks the server that runs with these settings for its status, and returns an error for any other status than 200.
func health(ctx context.Context, c *settings.Config, ready bool) (string, error) {
	scheme, path := "http", api.PathHealth
	if c.ServesTLS() {
		scheme = "https"
	}
	if ready {
		path = api.PathReady
	}
	// A request to an unspecified address, such as 0.0.0.0, goes to this machine.
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+c.Listen+path, nil)
	if err != nil {
		return "", err
	}
	// The certificate is for the name that clients use, not for this address. The request has no secret, and goes through no proxy.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok { // which repeats the address
			err = failed.Err
		}
		return "", fmt.Errorf("the server does not respond: %w", err)
	}
	defer response.Body.Close()
	status := fmt.Sprintf("%s: %s", request.URL, response.Status)
	if response.StatusCode == http.StatusBadRequest && scheme == "http" { // as Go responds to plain http on a port for TLS
		return "", command.AsUsage(fmt.Errorf("the server on %s speaks TLS; give this command the settings of the server, such as "+
			"--tls-cert "+
			"and --tls-key, or --tls-self-signed", c.Listen))
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server is not healthy: %s", status)
	}
	return status, nil
}
