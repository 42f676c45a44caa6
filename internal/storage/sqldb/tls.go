package sqldb

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/regwarden/regwarden/secret"
)

// errNoTLSMode is returned for the URL of a database on another machine that does not set how the connection is protected.
// What pgx then does ("prefer") sends the password to any server.
var errNoTLSMode = errors.New("the database URL is for another machine and does not set how the connection is protected; " +
	"add sslmode=verify-full (and sslrootcert=FILE for a certificate authority of your own), " +
	"or sslmode=require to encrypt without verifying the server, " +
	"or sslmode=disable in an isolated network; PGSSLMODE and a service file can set it too")

// scram is the one method that proves a password without sending it, and makes the server prove that it knows it, too
// (RFC 5802, section 3). With a client certificate, PostgreSQL asks for no password.
const (
	scram              = "scram-sha-256"
	scramOrCertificate = scram + ",none"
)

// protectConnection returns an error for a URL that lets the server decide whether there is TLS, and prevents that a password is
// sent to a server whose identity is not verified.
func protectConnection(config *pgx.ConnConfig, address secret.String) error {
	remote := remoteHosts(config)
	if slices.ContainsFunc(remote, isPrefer) && !saysPrefer(address) {
		return errNoTLSMode
	}
	if config.RequireAuth != "" || !slices.ContainsFunc(remote, isUnverified) {
		return nil
	}
	config.RequireAuth = scram
	if config.TLSConfig != nil && len(config.TLSConfig.Certificates) > 0 {
		config.RequireAuth = scramOrCertificate
	}
	return nil
}

// Warning returns a warning when the connection to a database has TLS that does not verify the server, else nothing. An
// operator who chose no TLS at all knows that.
func Warning(address secret.String) string {
	config, err := parseURL(address)
	if address == "" || err != nil {
		return ""
	}
	halfSafe := func(ways []*pgconn.FallbackConfig) bool {
		return isUnverified(ways) && slices.ContainsFunc(ways, usesTLS)
	}
	if !slices.ContainsFunc(remoteHosts(config.ConnConfig), halfSafe) {
		return ""
	}
	return "the certificate of the database is not verified, so that somebody in between can read and change everything; " +
		"say sslmode=verify-full in the database URL, with sslrootcert=FILE for a certificate authority of your own"
}

// remoteHosts returns the hosts on other machines, each with the ways to connect to it.
func remoteHosts(config *pgx.ConnConfig) [][]*pgconn.FallbackConfig {
	return slices.DeleteFunc(hostsOf(config), func(ways []*pgconn.FallbackConfig) bool {
		host := ways[0].Host
		if network, _ := pgconn.NetworkAddress(host, ways[0].Port); network == "unix" || host == "localhost" {
			return true
		}
		ip := net.ParseIP(host)
		return ip != nil && ip.IsLoopback()
	})
}

// hostsOf groups the ways to connect by host: with TLS, without.
func hostsOf(config *pgx.ConnConfig) (hosts [][]*pgconn.FallbackConfig) {
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, way := range ways {
		i := slices.IndexFunc(hosts, func(known []*pgconn.FallbackConfig) bool {
			return known[0].Host == way.Host && known[0].Port == way.Port
		})
		if i < 0 {
			hosts = append(hosts, nil)
			i = len(hosts) - 1
		}
		hosts[i] = append(hosts[i], way)
	}
	return hosts
}

func usesTLS(way *pgconn.FallbackConfig) bool { return way.TLSConfig != nil }

// isPrefer recognizes sslmode=prefer, which is the default.
func isPrefer(ways []*pgconn.FallbackConfig) bool {
	return len(ways) > 1 && usesTLS(ways[0]) && slices.ContainsFunc(ways, func(way *pgconn.FallbackConfig) bool { return !usesTLS(way) })
}

// isUnverified reports whether one of the ways to a host does not verify the server.
func isUnverified(ways []*pgconn.FallbackConfig) bool {
	return slices.ContainsFunc(ways, func(way *pgconn.FallbackConfig) bool { return !verifies(way.TLSConfig) })
}

func verifies(config *tls.Config) bool {
	return config != nil && (!config.InsecureSkipVerify || config.VerifyPeerCertificate != nil) // the latter is pgx's verify-ca
}

// saysPrefer reports whether a URL chooses sslmode=prefer. A mode of PGSSLMODE or of a service file shows in the configuration
// of pgx, except "prefer", which must be in the URL.
func saysPrefer(address secret.String) bool {
	_, query, _ := strings.Cut(address.Reveal(), "?")
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil && plain == "sslmode" && value == "prefer" {
			return true
		}
	}
	return false
}
