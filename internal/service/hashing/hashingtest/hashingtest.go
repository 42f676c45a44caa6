// Package hashingtest hashes at low cost, for tests of other properties than the hash: a password hash takes longer than
// most requests.
package hashingtest

import "github.com/regwarden/regwarden/internal/service/hashing"

// Compute is hashing.Compute with little memory and one pass, whatever the input asks for.
func Compute(in hashing.Input) ([]byte, error) {
	in.MemoryKiB, in.Time = 64, 1
	return hashing.Compute(in)
}
