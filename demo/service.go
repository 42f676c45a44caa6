package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/secret"
)

const (
	org, email    = "acme", "admin@acme.example"
	adminPassword = "a fine demo passphrase"

	registryPassword = "correct-horse-battery-staple"
	formerPassword   = "last-years-password"
)

// connection is the client of the service.
type connection struct{ *client.Client }

// startRegistries starts a healthy registry, one whose certificate expires soon, and one that has lost a layer.
func (d *demo) startRegistries(context.Context) (err error) {
	if d.ca, err = newAuthority(); err != nil {
		return err
	}
	for _, one := range []struct {
		into  **registry
		until time.Time
	}{{&d.charts, time.Now().AddDate(0, 6, 0)}, {&d.expiring, time.Now().AddDate(0, 0, 5)}, {&d.other, time.Now().AddDate(0, 6, 0)}} {
		config, err := d.ca.server(one.until)
		if err != nil {
			return err
		}
		if *one.into, err = newRegistry(registryPassword, config); err != nil {
			return err
		}
		(*one.into).push("charts/hello", "1.0.0")
	}
	d.other.push("charts/damaged", "2.1.0")
	d.other.loseLayer("charts/damaged")
	d.result("%s, %s and %s", d.charts.address, d.expiring.address, d.other.address)
	return nil
}

var servesOn = regexp.MustCompile(` serves on (http\S+);`)

// startService starts regwarden with a store in the directory of the demo. Addresses of this machine are refused unless its operator
// allows them.
func (d *demo) startService(ctx context.Context) error {
	password := filepath.Join(d.dir, "password")
	if err := os.WriteFile(password, []byte(adminPassword+"\n"), 0o600); err != nil {
		return err
	}
	d.service = exec.Command(d.program, "serve", "--data-dir", filepath.Join(d.dir, "data"), "--listen", freeAddress("127.0.0.1:8080"),
		"--egress-allow", "127.0.0.1", "--log-level", "error") // #nosec G204 -- the program of the demo
	d.service.Env = append(withoutSettings(d.service), "REGWARDEN_BOOTSTRAP_ORG="+org, "REGWARDEN_BOOTSTRAP_EMAIL="+email,
		"REGWARDEN_BOOTSTRAP_PASSWORD_FILE="+password)
	d.service.Stderr = os.Stderr
	stdout, err := d.service.StdoutPipe()
	if err == nil {
		err = d.service.Start()
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if found := servesOn.FindStringSubmatch(lines.Text()); found != nil {
			d.url = found[1]
			go func() {
				for lines.Scan() { // so that the service can write
				}
			}()
			d.result("%s", d.url)
			d.Client, err = client.New(d.url, client.Config{Email: email, Org: org, Password: secret.String(adminPassword)})
			return err
		}
	}
	return errors.Join(errors.New("regwarden did not start"), ctx.Err())
}

// withoutSettings returns the environment of a command without settings of regwarden, which could name a real database or server.
func withoutSettings(cmd *exec.Cmd) []string {
	return slices.DeleteFunc(cmd.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "REGWARDEN_") })
}

// freeAddress returns an address if it is free, else one with a port that the system chooses.
func freeAddress(address string) string {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "127.0.0.1:0"
	}
	_ = listener.Close()
	return address
}

func (d *demo) stopService() {
	if d.service != nil && d.service.Process != nil {
		_ = d.service.Process.Signal(syscall.SIGTERM)
		_ = d.service.Wait()
	}
}

// showService says how to use what runs.
func (d *demo) showService() {
	fmt.Fprintf(d.out, `
Ready after %.0f s. The service keeps running until you press Ctrl-C.

  console       %s/console/
  organization  %s
  email         %s
  password      %s

  %s login %s --org %s --email %s
  %s registry list

`, time.Since(d.began).Seconds(), d.url, org, email, adminPassword, d.shownProgram(), d.url, org, email, d.shownProgram())
}

// shownProgram returns the path of regwarden as one types it.
func (d *demo) shownProgram() string {
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, d.program); err == nil {
			return short
		}
	}
	return d.program
}
