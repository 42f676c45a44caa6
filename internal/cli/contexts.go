package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/secret"
)

// Context is a login at a server: its URL and credentials.
type Context struct {
	Name   string `json:"name"`
	Server string `json:"server"` // URL
	Org    string `json:"org,omitempty"`
	Email  string `json:"email,omitempty"`
	CA     string `json:"ca,omitempty"` // PEM, trusted in addition to the system's

	// Secrets. They are plain strings, since a secret.String would be written masked.
	APIKey       string `json:"apiKey,omitempty"`
	Token        string `json:"token,omitempty"`
	RefreshToken string `json:"refreshToken,omitempty"`
}

// contexts is the content of the file of contexts.
type contexts struct {
	Current  string    `json:"current"`
	Contexts []Context `json:"contexts"`
}

// contextsPath returns the path of the file of contexts.
func contextsPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the directory of configurations: %w", err)
	}
	return filepath.Join(dir, "regwarden", "contexts.json"), nil
}

// readContexts reads the file of contexts. Without one there are none. A file that others may read is refused.
func readContexts() (contexts, error) {
	var saved contexts
	path, err := contextsPath()
	if err != nil {
		return saved, err
	}
	data, err := seal.ReadSecretFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil
	}
	if err != nil {
		return saved, err
	}
	if err := json.Unmarshal([]byte(data.Reveal()), &saved); err != nil {
		return saved, fmt.Errorf("%s is damaged; remove it and log in again", path) // the cause could show a secret
	}
	return saved, nil
}

// changeContexts replaces the file of contexts by a changed one, which only its owner may read.
func changeContexts(change func(*contexts)) error {
	path, err := contextsPath()
	if err != nil {
		return err
	}
	saved, err := readContexts()
	if err != nil {
		return err
	}
	change(&saved)
	data, err := json.MarshalIndent(saved, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create the directory of contexts: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".contexts-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // after the rename there is none
	_, err = file.Write(append(data, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func (s contexts) current() *Context { return s.named(s.Current) }

func (s contexts) named(name string) *Context {
	at := slices.IndexFunc(s.Contexts, func(c Context) bool { return name != "" && c.Name == name })
	if at < 0 {
		return nil
	}
	return &s.Contexts[at]
}

// find returns the context of a server, and of an organization unless org is empty. The current context takes precedence.
func (s contexts) find(server, org string) *Context {
	fits := func(c *Context) bool {
		return c != nil && c.Server == strings.TrimSuffix(server, "/") && (org == "" || strings.EqualFold(c.Org, org))
	}
	if c := s.current(); fits(c) {
		return c
	}
	for i := range s.Contexts {
		if fits(&s.Contexts[i]) {
			return &s.Contexts[i]
		}
	}
	return nil
}

// client returns a client with the credentials of the context. A refreshed token replaces the one in the file.
func (c *Context) client() (*client.Client, error) {
	return client.New(c.Server, client.Config{CA: []byte(c.CA),
		APIKey: secret.String(c.APIKey), Token: secret.String(c.Token), RefreshToken: secret.String(c.RefreshToken),
		OnRefresh: func(token, refreshToken secret.String) {
			// A failure means that the next command has to log in again; this one goes on.
			_ = changeContexts(func(saved *contexts) {
				if own := saved.named(c.Name); own != nil {
					own.Token, own.RefreshToken = token.Reveal(), refreshToken.Reveal()
				}
			})
		}})
}
