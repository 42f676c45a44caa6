package projects

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// kindOf returns the kind of a document of Talos, whose apiVersion has no group.
func kindOf(document *node.Node) string {
	if document.Get("apiVersion").Text() != "v1alpha1" {
		return ""
	}
	return document.Get("kind").Text()
}

// named returns an entry for each registry that has documents of its own: its members are the documents.
func (t fileFormat) named(documents []*node.Node) (entries []node.Pair) {
	parts := map[string][]node.Pair{}
	for _, document := range documents {
		name, part := document.Get("name"), t.parts[kindOf(document)]
		if part == "" || name.Text() == "" || document.Get("$patch").Text() == "delete" {
			continue
		}
		if parts[name.Text()] == nil {
			entries = append(entries, node.Pair{Key: name.Text(), KeyLine: name.Line})
		}
		parts[name.Text()] = append(parts[name.Text()], node.Pair{Key: part, KeyLine: document.Line, Value: document})
	}
	for i, entry := range entries {
		entries[i].Value = node.NewObject(entry.KeyLine, parts[entry.Key]...)
	}
	return entries
}

// plainHosts returns the hosts that the file uses without TLS.
func (t fileFormat) plainHosts(documents []*node.Node) map[string]bool {
	hosts := map[string]bool{}
	for _, document := range documents {
		for _, path := range t.plain {
			for _, member := range node.At(document, path) {
				if address := member.Value.Text(); strings.HasPrefix(strings.ToLower(address), "http://") {
					hosts[scanner.HostOf(address)] = true
				}
			}
		}
	}
	return hosts
}

// setCredentials sets what the entry has instead of a username and a password, and reports whether it can be used.
func (e fileEntry) setCredentials(f *scanner.File, member node.Pair, entry *scanner.Entry) bool {
	auth, login := entry.Definition.Auth, get(member.Value, e.login).Text()
	if auth.Username != "" || auth.Password != "" {
		return true
	}
	auth.Token = secret.String(get(member.Value, e.token).Text())
	if auth.Token != "" || login == "" || hidden(login) || scanner.IsBase64Placeholder(login) {
		return true
	}
	decoded, err := base64.StdEncoding.DecodeString(login)
	username, password, found := strings.Cut(string(decoded), ":")
	if err != nil || !found {
		f.Scanner.Problem(entry.At, model.ProblemInvalidBase64, "auth is not the base64 of username:password.")
		return false
	}
	auth.Username, auth.Password = username, secret.String(password)
	return true
}

// setTLS sets how the entry verifies the registry, and whether it is used without TLS. plain: its host has an address without TLS.
func (e fileEntry) setTLS(member node.Pair, entry *scanner.Entry, plain bool) {
	mode, tls := strings.ToLower(get(member.Value, e.tlsMode).Text()), &entry.Definition.Auth.TLS
	if mode == "disabled" {
		entry.Address = "http://" + scanner.HostOf(entry.Address)
		return
	}
	identity := get(member.Value, e.tls).Get("clientIdentity")
	tls.InsecureSkipVerify = get(member.Value, e.skipVerify).Bool() || mode == "insecure"
	for _, ca := range e.certificates(member) {
		certificates, _ := pemOf(ca)
		tls.CA += certificates
	}
	tls.Certificate, _ = pemOf(identity.Get("crt"))
	if tls.Certificate == "" {
		tls.Certificate, _ = pemOf(identity.Get("cert"))
	}
	_, key := pemOf(identity.Get("key"))
	tls.Key = secret.String(key)
	tls.Enabled = *tls != regcheck.TLS{}
	switch {
	case get(member.Value, e.fallback).Bool():
		scanner.AddNotice(&entry.Registry, model.NoticePlainHTTPFallback,
			"The program connects without TLS if the registry has none, because insecure is true.")
	case !plain:
	case tls.Enabled:
		scanner.AddNotice(&entry.Registry, model.NoticePlainHTTPFallback,
			"containerd tries HTTPS first because TLS is configured, then plain HTTP.")
	default:
		entry.Address = "http://" + entry.Address
	}
}

// certificates returns the values with the certificates of an entry.
func (e fileEntry) certificates(member node.Pair) []*node.Node {
	ca := get(member.Value, e.ca)
	if !ca.IsArray() {
		return []*node.Node{ca}
	}
	return slices.DeleteFunc(slices.Clone(ca.Items()), func(n *node.Node) bool { return !n.IsText() }) // others have a host each
}

// pemOf returns the certificates and the keys of a text in PEM, or in base64 of that. A text that has none of them is returned as it is.
func pemOf(n *node.Node) (certificates, keys string) {
	text := n.Text()
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
		text = string(decoded)
	}
	if certificates, keys = scanner.PemBlocks([]byte(text)); certificates == "" && keys == "" {
		return text, text
	}
	return certificates, keys
}

// hidden reports whether a value is encrypted with SOPS, or put in by another program.
func hidden(text string) bool { return isSOPS(text) || scanner.IsTemplate(text) }

func isSOPS(text string) bool { return strings.HasPrefix(text, "ENC[AES256_GCM,") }
