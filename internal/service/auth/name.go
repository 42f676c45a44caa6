package auth

import "github.com/regwarden/regwarden/internal/service/auth/names"

// Canonical is names.Canonical.
func Canonical(name string) string { return names.Canonical(name) }

// NameProblem is names.NameProblem.
func NameProblem(name string) string { return names.NameProblem(name) }

// PairsProblem is names.PairsProblem.
func PairsProblem(pairs map[string]string) string { return names.PairsProblem(pairs) }

// EmailProblem is names.EmailProblem.
func EmailProblem(email string) string { return names.EmailProblem(email) }

// LookupProblem is names.LookupProblem.
func LookupProblem(name string) string { return names.LookupProblem(name) }
