package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// webhook receives alerts, as a chat or an incident service would.
type webhook chan string

func (d *demo) addWebhook(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d.hook = make(webhook, 100)
	server := &http.Server{Handler: d.hook, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	project, err := d.Projects.Find(ctx, "Default")
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String() + "/alerts"
	_, err = d.Alerts.Create(ctx, project.Metadata.UID, "RegistryHealth", api.AlertChannelRequest{Type: "http", IsActive: true,
		HTTP: &api.AlertChannelHTTPRequest{URL: secret.String(url), Method: http.MethodPost}})
	d.result("%s", url)
	return err
}

func (h webhook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var alert struct{ Kind, Message string }
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20)).Decode(&alert); err == nil {
		h <- alert.Message
	}
}

// storeRegistries stores definitions, of which some cannot work.
func (d *demo) storeRegistries(ctx context.Context) error {
	d.stored = map[string]string{}
	for _, one := range []struct{ name, address, content, ca string }{
		{"charts", d.charts.address, "charts/hello", d.ca.PEM()},
		{"charts-ci", d.other.address, "charts/hello", d.ca.PEM()},
		{"expires-soon", d.expiring.address, "charts/hello", d.ca.PEM()},
		{"lost-layer", d.other.address, "charts/damaged:2.1.0", d.ca.PEM()},
		{"no-ca", d.charts.address, "charts/hello", ""},
	} {
		var r api.OCIRegistryRequest
		r.Metadata.Name = one.name
		r.Spec.Definition = regcheck.Definition{Endpoint: "https://" + one.address, BaseContentPath: one.content,
			Auth: &regcheck.Auth{Username: registryUser, Password: registryPassword, TLS: regcheck.TLS{Enabled: one.ca != "", CA: one.ca}}}
		uid, err := d.Registries.Create(ctx, r)
		if err != nil {
			return err
		}
		d.stored[one.name] = uid
		if err := d.check(ctx, one.name); err != nil {
			return err
		}
	}
	return nil
}

// check has the service check a registry, and shows the result.
func (d *demo) check(ctx context.Context, name string) error {
	report, err := d.Registries.CheckAndWait(ctx, d.stored[name])
	if err != nil {
		return err
	}
	switch {
	case !report.Valid:
		d.result("✗ %-13s %s", name, sentence(report.Message))
	case len(report.Warnings) > 0:
		d.result("! %-13s valid; %s", name, sentence(report.Warnings[0].Message))
	default:
		d.result("✓ %-13s valid", name)
	}
	return nil
}

// sentence returns the first sentence of a text.
func sentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// rotate makes a stored password wrong, and waits for the alert.
func (d *demo) rotate(ctx context.Context) error {
	d.other.rotate("a new password")
	if err := d.check(ctx, "charts-ci"); err != nil {
		return err
	}
	for {
		select {
		case message := <-d.hook:
			d.alert(message)
			if strings.Contains(message, "charts-ci") {
				return nil
			}
		case <-time.After(30 * time.Second):
			return fmt.Errorf("no alert arrived in 30 s")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *demo) alert(message string) { d.result("alert: %s", message) }

// showAlerts shows what arrives later, until the demo ends.
func (d *demo) showAlerts(ctx context.Context) {
	for {
		select {
		case message := <-d.hook:
			d.alert(message)
		case <-ctx.Done():
			return
		}
	}
}

// scan scans files as teams have them in their repositories. It exits with 1, since two definitions are not valid.
func (d *demo) scan(ctx context.Context) error {
	repository := filepath.Join(d.dir, "repository")
	for name, text := range map[string]string{
		"clusters/prod/charts.yaml": fluxFile(d.charts.address, d.ca.PEM()), "ci/config.json": dockerFile(d.charts.address),
	} {
		path := filepath.Join(repository, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	fmt.Fprintf(d.out, "$ regwarden scan repository\n\n")
	err := d.command(ctx, "scan", "repository")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil
	}
	return err
}

// fluxFile has a chart with the right password, and one with a wrong one.
func fluxFile(address, ca string) string {
	one := func(name, password string) string {
		return fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: %[1]s, namespace: apps}
spec:
  type: oci
  url: oci://%[2]s/charts
  secretRef: {name: %[1]s}
  certSecretRef: {name: demo-ca}
---
apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: apps}
stringData: {username: %[3]s, password: %[4]s}
---
`, name, address, registryUser, password)
	}
	trusted := "apiVersion: v1\nkind: Secret\nmetadata: {name: demo-ca, namespace: apps}\nstringData:\n  ca.crt: |\n    " +
		strings.ReplaceAll(strings.TrimSpace(ca), "\n", "\n    ") + "\n"
	return one("charts", registryPassword) + one("charts-staging", formerPassword) + trusted
}

// dockerFile has the password of last year.
func dockerFile(address string) string {
	return fmt.Sprintf(`{"auths": {%q: {"username": %q, "password": %q}}}`, address, registryUser, formerPassword)
}
