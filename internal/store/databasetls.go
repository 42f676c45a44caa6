package store

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

// ErrNoTLSMode is returned for the address of a database on another machine when nothing says how to reach it safely.
// What pgx then does ("prefer") tells the password to whoever answers.
var ErrNoTLSMode = errors.New("the database URL leads to another machine and does not say how the connection is protected; add sslmode=verify-full " +
	"(and sslrootcert=FILE for a certificate authority of your own), or sslmode=require to encrypt without knowing whom one talks to, " +
	"or sslmode=disable in a network where nobody else is; PGSSLMODE and a service file may say it, too")

// scram is the one way to prove a password that does not tell it, and that has the server prove that it knows it, too
// (RFC 5802, section 3). A client certificate proves it instead, and PostgreSQL then asks for nothing.
const (
	scram              = "scram-sha-256"
	scramOrCertificate = scram + ",none"
)

// protectConnection refuses an address that leaves it to whoever answers whether there is TLS, and lets no password be told to a
// server that has not proved to be the one.
func protectConnection(config *pgx.ConnConfig, address secret.String) error {
	remote := remoteHosts(config)
	if slices.ContainsFunc(remote, isPrefer) && !saysPrefer(address) {
		return ErrNoTLSMode
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

// DatabaseWarning tells of TLS to a database that would not notice an impostor; empty when there is nothing to tell.
// Without TLS at all nobody believes to be safe.
func DatabaseWarning(address secret.String) string {
	config, err := parseDatabaseURL(address)
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

// remoteHosts are the hosts on other machines, each with the ways to connect to it.
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

// isPrefer recognizes sslmode=prefer, which is what there is when nothing was said.
func isPrefer(ways []*pgconn.FallbackConfig) bool {
	return len(ways) > 1 && usesTLS(ways[0]) && slices.ContainsFunc(ways, func(way *pgconn.FallbackConfig) bool { return !usesTLS(way) })
}

// isUnverified reports whether one of the ways to a host leads to whoever answers.
func isUnverified(ways []*pgconn.FallbackConfig) bool {
	return slices.ContainsFunc(ways, func(way *pgconn.FallbackConfig) bool { return !verifies(way.TLSConfig) })
}

func verifies(config *tls.Config) bool {
	return config != nil && (!config.InsecureSkipVerify || config.VerifyPeerCertificate != nil) // the latter is pgx's verify-ca
}

// saysPrefer looks for a mode that was chosen in the address. One that comes from PGSSLMODE or a service file shows in what
// pgx made of it, but for "prefer", which has to be in the address.
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
