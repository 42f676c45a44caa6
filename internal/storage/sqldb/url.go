package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/regwarden/regwarden/secret"
)

const (
	connectTimeout = 2 * time.Second // unless connect_timeout says otherwise
	nextHostAfter  = time.Second     // the same for each of several hosts, so that callers reach the next of an unresponsive one in time
	maxConns       = 8               // of one server with its listener, unless pool_max_conns says otherwise
	leastConns     = 3               // for one writer, one reader and the listener
)

// CheckURL returns an error when the URL of a database cannot be used, without connecting to it.
func CheckURL(url secret.String) error {
	_, err := parseURL(url)
	return err
}

// Ports lists the TCP ports of a database, to which checks must not connect; a socket in the file system has none, nor has
// a URL that cannot be read.
func Ports(url secret.String) []uint16 {
	config, err := parseURL(url)
	if err != nil {
		return nil
	}
	var ports []uint16
	add := func(host string, port uint16) {
		if !strings.HasPrefix(host, "/") && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	add(config.ConnConfig.Host, config.ConnConfig.Port)
	for _, other := range config.ConnConfig.Fallbacks {
		add(other.Host, other.Port)
	}
	return ports
}

// errURL is returned for the URL of a database that cannot be read. The URL is not repeated, since a password may be anywhere
// in it.
var errURL = errors.New("the database URL cannot be read; write postgres://user@host:5432/database?sslmode=verify-full, " +
	"several hosts as host1:5432,host2:5432, and in a password each of : / ? # [ ] @ % as %XX")

// parseURL reads the URL. Whatever it says, only servers that take writes are used: a standby would return old rows.
func parseURL(url secret.String) (*pgxpool.Config, error) {
	if !strings.HasPrefix(url.Reveal(), "postgres://") && !strings.HasPrefix(url.Reveal(), "postgresql://") {
		return nil, errURL
	}
	config, err := pgxpool.ParseConfig(url.Reveal())
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("the database URL leads to a file that cannot be used: %w", file)
	}
	if err != nil {
		return nil, errURL // the cause repeats what it could not read
	}
	c := config.ConnConfig
	if err := protectConnection(c, url); err != nil {
		return nil, err
	}
	c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	if c.ConnectTimeout == 0 || c.ConnectTimeout > time.Minute {
		c.ConnectTimeout = connectTimeout
		if len(hostsOf(c)) > 1 {
			c.ConnectTimeout = nextHostAfter
		}
	}
	// A server that vanished without closing its connections is detected within some 15 s also where no caller waits for it.
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 3 * time.Second, Count: 3}}
	c.DialFunc = dialer.DialContext
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "regwarden"
	}
	if !strings.Contains(url.Reveal(), "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	config.MaxConns = max(config.MaxConns, leastConns) - 1 // the listener is not of the pool
	c.OnNotice = countWarning
	// a caller whose connection is dead takes another
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.MaxConnLifetimeJitter = config.MaxConnLifetime / 4
	return config, nil
}

// MaskURL returns the URL with a masked password, or only a mask if the position of the password is unclear.
func MaskURL(address secret.String) string {
	scheme, rest, found := strings.Cut(address.Reveal(), "://")
	authority, query, asked := strings.Cut(rest, "?")
	if !found || strings.Count(authority, "@") > 1 || strings.Contains(authority, "#") {
		return address.String()
	}
	if user, hosts, has := strings.Cut(authority, "@"); has {
		name, _, password := strings.Cut(user, ":")
		if strings.Contains(user, "/") {
			return address.String()
		}
		if password {
			name += ":" + secret.Mask
		}
		authority = name + "@" + hosts
	}
	shown := scheme + "://" + authority
	if asked {
		shown += "?" + maskQuery(query)
	}
	return shown
}

// maskQuery masks the parameters for passwords: password, sslpassword.
func maskQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err != nil || strings.Contains(strings.ToLower(plain), "password") {
			parts[i] = name + "=" + secret.Mask
		}
	}
	return strings.Join(parts, "&")
}
