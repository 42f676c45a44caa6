package main

import (
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
)

// flagOfField has the flag of "regwarden check" that sets a field of a definition.
var flagOfField = map[string]string{
	"endpoint": "--endpoint", "basePath": "--base-path", "baseContentPath": "--content", "providerType": "--provider-type",
	"auth.type": "--auth-type", "auth.username": "--username", "auth.password": "--password-stdin", "auth.token": "--token-stdin",
	"auth.tls.ca": "--ca", "auth.tls.certificate": "--cert", "auth.tls.key": "--key",
	"auth.tls.insecureSkipVerify": "--insecure-skip-verify",
	"auth.tls.enabled":            "", // implied by the other flags of TLS
}

// flagOf returns the flag that sets a field. It is a regcheck.Words.Field.
func flagOf(path string) string { return flagOfField[path] }

// flagProblem returns a problem of a definition that was given by flags.
func flagProblem(p fault.Field) string {
	required := strings.HasPrefix(p.Problem, "is required")
	switch {
	case required && p.Field == "auth.password":
		return "give the password with --password-stdin or " + envRegistryPassword
	case required && p.Field == "auth.token":
		return "give the token with --token-stdin or " + envRegistryToken
	}
	pairs := []string{}
	for path, flag := range flagOfField {
		if strings.HasPrefix(path, "auth.") && flag != "" {
			pairs = append(pairs, path, flag)
		}
	}
	return fmt.Sprintf("%s %s", flagOf(p.Field), strings.NewReplacer(pairs...).Replace(p.Problem))
}
