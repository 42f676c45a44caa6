// Package logins has the logins of a user at servers: the file of contexts, and connections to the servers.
package logins

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/process/filelock"
	"github.com/regwarden/regwarden/internal/storage/seal"
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

// Contexts is the content of the file of contexts. The file stays after the last logout.
type Contexts struct {
	Current  string    `json:"current"`
	Contexts []Context `json:"contexts"`

	exist bool // there is a file: the user logged in at some time
}

// maxContexts is the maximum size of the file of contexts, as of all files with secrets.
const maxContexts = 64 << 10

// Path returns the path of the file of contexts. Jobs that run at the same time on one machine have one each.
func Path() (string, error) {
	if file := os.Getenv(EnvContexts); file != "" {
		return file, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the directory of configurations: %w", err)
	}
	return filepath.Join(dir, "regwarden", "contexts.json"), nil
}

// Read reads the file of contexts. Without one there are none. A file that others may read is refused.
func Read() (Contexts, error) {
	var saved Contexts
	path, err := Path()
	if err != nil {
		return saved, nil //nolint:nilerr // a pipeline needs no home directory
	}
	data, err := seal.ReadSecretFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil
	}
	if err != nil {
		return saved, err
	}
	saved.exist = true
	if err := json.Unmarshal([]byte(data.Reveal()), &saved); err != nil {
		return saved, fmt.Errorf("%s is damaged; remove it and log in again", path) // the cause could show a secret
	}
	return saved, nil
}

// lockContexts reads the file of contexts and locks it against other processes until unlock is called.
func lockContexts(ctx context.Context) (saved Contexts, unlock func(), err error) {
	path, err := Path()
	if err != nil {
		return saved, nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return saved, nil, notWritable("create the directory of logins", err)
	}
	lock, err := filelock.Wait(ctx, path+".lock")
	if err != nil {
		return saved, nil, notWritable("lock the file of logins", err)
	}
	unlock = func() { _ = lock.Close() }
	if saved, err = Read(); err != nil {
		unlock()
		return saved, nil, err
	}
	return saved, unlock, nil
}

// notWritable is the error of a home directory in which no login can be stored, such as of a container.
func notWritable(what string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); !ok { // such as Ctrl-C while another command has the lock
		return fmt.Errorf("%s: %w", what, err)
	}
	return command.AsUsage(fmt.Errorf("%s: %w; set XDG_CONFIG_HOME to a directory that can be written to, or use no login but %s and %s",
		what, err, EnvServer, EnvAPIKey))
}

// Change replaces the file of contexts by a changed one.
func Change(ctx context.Context, change func(*Contexts) error) error {
	saved, unlock, err := lockContexts(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := change(&saved); err != nil {
		return err
	}
	return saved.write()
}

// write replaces the file of contexts by one that only its owner may read. The caller has the lock.
func (s Contexts) write() error {
	path, err := Path()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if len(data) >= maxContexts {
		return fmt.Errorf("%s must be at most %d KiB; delete contexts with: regwarden logout CONTEXT", path, maxContexts>>10)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil { // else removed credentials would stay in the target of a link
		path = target
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

// Active returns the current context, nil if there is none.
func (s Contexts) Active() *Context { return s.Named(s.Current) }

// Named returns the context with this name, nil if there is none.
func (s Contexts) Named(name string) *Context {
	at := slices.IndexFunc(s.Contexts, func(c Context) bool { return name != "" && c.Name == name })
	if at < 0 {
		return nil
	}
	return &s.Contexts[at]
}

// Find returns the logins at a server, those in an organization unless org is empty.
func (s Contexts) Find(server, org string) []Context {
	return slices.DeleteFunc(slices.Clone(s.Contexts), func(c Context) bool {
		return c.Server != server || org != "" && !strings.EqualFold(c.Org, org)
	})
}

// Chosen returns the current context, and nil for the local store without any login ever. After a logout, commands that were meant for a
// server must not change the store of this machine.
func (s Contexts) Chosen() (*Context, error) {
	const orStore = "or name the store of this machine with --data-dir DIR"
	c := s.Active()
	switch {
	case c != nil || !s.exist:
		return c, nil
	case len(s.Contexts) == 0:
		return nil, command.AsUsage(errors.New("you are logged out, and no store is named; run: regwarden login URL, " + orStore))
	}
	return nil, command.AsUsage(fmt.Errorf("no login is chosen; give --context NAME or run: regwarden context use NAME (%s), %s",
		strings.Join(s.Names(), ", "), orStore))
}

// ByFlag returns the context that --context names.
func (s Contexts) ByFlag(name string) (*Context, error) {
	found, err := s.Get(name)
	if err != nil {
		return nil, command.AsUsage(fmt.Errorf("--context: %w", err))
	}
	return &found, nil
}

func (c *Context) sameUser(o Context) bool {
	return c.Server == o.Server && strings.EqualFold(c.Org, o.Org) && strings.EqualFold(c.Email, o.Email)
}

// Add stores a login as the current context. It replaces the former login of the same user, which it returns: the one with the same name,
// or without a name any. The login of somebody else is never replaced.
func (s *Contexts) Add(c Context) (added, former Context, err error) {
	if o := s.Named(c.Name); o != nil && !o.sameUser(c) {
		return c, former, o.Taken()
	}
	at := slices.IndexFunc(s.Contexts, func(o Context) bool { return o.sameUser(c) && (c.Name == "" || o.Name == c.Name) })
	if at >= 0 {
		former = s.Contexts[at]
		c.Name = former.Name
		s.Remove(c.Name)
	}
	if c.Name == "" {
		c.Name = s.newName(c)
	}
	s.Contexts, s.Current = append(s.Contexts, c), c.Name
	return c, former, nil
}

// Taken is the error of a login with the name of this context, which is of another user.
func (c *Context) Taken() error {
	return command.AsUsage(fmt.Errorf("--context: %s is the login of %s in the organization %s at %s; give another name, or run: "+
		"regwarden logout %s", c.Name, c.Email, c.Org, c.Server, command.ShellQuote(c.Name)))
}

// newName returns the name of a login: the host, followed by the organization and the email as far as other names require it.
func (s Contexts) newName(c Context) string {
	_, host, _ := strings.Cut(c.Server, "://")
	names := []string{host, host + "/" + c.Org, host + "/" + c.Org + "/" + c.Email}
	if len(s.Find(c.Server, c.Org)) > 0 {
		names = slices.Delete(names, 1, 2) // it would be of two users
	}
	for i := 2; s.Named(names[0]) != nil; i++ {
		names = append(names[1:], fmt.Sprintf("%s-%d", host, i)) // such as of a server with http and https
	}
	return names[0]
}

// Remove removes a context.
func (s *Contexts) Remove(name string) {
	s.Contexts = slices.DeleteFunc(s.Contexts, func(c Context) bool { return c.Name == name })
	if s.Current == name {
		s.Current = ""
	}
}

// Get returns the context with this name, or the current one if it is empty.
func (s Contexts) Get(name string) (Context, error) {
	found := s.Named(cmp.Or(name, s.Current))
	switch {
	case found != nil:
		return *found, nil
	case name == "":
		return Context{}, errors.New("you are not logged in to a server")
	}
	return Context{}, fmt.Errorf("there is no context %q; contexts: %s", name, cmp.Or(strings.Join(s.Names(), ", "), "none"))
}

// Names returns the names of all contexts.
func (s Contexts) Names() []string {
	names := make([]string, len(s.Contexts))
	for i, c := range s.Contexts {
		names[i] = c.Name
	}
	return names
}

// maxList is the maximum size of a list of a server, since a table needs all rows: some 60,000 registries.
const maxList = 128 << 20

// Client returns a client with the credentials of the context. A refreshed token replaces the one in the file. onWait may be nil.
func (c *Context) Client(onWait func(time.Time)) (*client.Client, error) {
	config := client.Config{OnWait: onWait, CA: []byte(c.CA), MaxList: maxList, APIKey: secret.String(c.APIKey),
		Token: secret.String(c.Token), RefreshToken: secret.String(c.RefreshToken)}
	if c.RefreshToken != "" && c.Name != "" { // else it is not in the file
		config.LockTokens, config.OnRefresh = c.lockTokens, c.storeTokens
	}
	return client.New(c.Server, config)
}

// lockTokens returns the tokens in the file. Until unlock is called, no other process refreshes them.
func (c *Context) lockTokens(ctx context.Context) (token, refreshToken secret.String, unlock func(), err error) {
	saved, unlock, err := lockContexts(ctx)
	if err != nil {
		return "", "", nil, err
	}
	own := saved.Named(c.Name)
	if own == nil || !own.sameUser(*c) { // its token is of another server or user
		unlock()
		return "", "", nil, fmt.Errorf("the context %q was removed or replaced by another command", c.Name)
	}
	return secret.String(own.Token), secret.String(own.RefreshToken), unlock, nil
}

// storeTokens replaces the tokens in the file, which is locked. After a failure the next command has to log in again; this one
// goes on.
func (c *Context) storeTokens(token, refreshToken secret.String) {
	saved, err := Read()
	if own := saved.Named(c.Name); err == nil && own != nil {
		own.Token, own.RefreshToken = token.Reveal(), refreshToken.Reveal()
		err = saved.write()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "regwarden: the new token could not be stored:", err)
	}
}

// logoutTimeout is how long a logout waits for the server before it only removes the credentials.
const logoutTimeout = 10 * time.Second

// EndSession ends the session of a login at its server.
func (c *Context) EndSession(ctx context.Context) error {
	if c.Token == "" && c.RefreshToken == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, logoutTimeout)
	defer cancel()
	of, err := c.Client(nil)
	if err != nil {
		return err
	}
	return of.Logout(ctx)
}

// CertificateNotAfter returns when the certificate of the server expires. It is zero for plain http, and where a proxy is used.
func (c *Context) CertificateNotAfter(ctx context.Context) (time.Time, error) {
	u, err := url.Parse(c.Server)
	if err != nil || u.Scheme != "https" {
		return time.Time{}, err
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err != nil || proxy != nil {
		return time.Time{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, logoutTimeout)
	defer cancel()
	// Whether the certificate is trusted is found out by requests.
	dialer := &tls.Dialer{Config: &tls.Config{ServerName: u.Hostname(), InsecureSkipVerify: true}} // #nosec G402
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
	if err != nil {
		return time.Time{}, err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].NotAfter, nil
}
