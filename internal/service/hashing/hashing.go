// Package hashing computes argon2id tags (RFC 9106), in this process or in a child process of low priority. Passwords
// reach the child through a pipe, never in arguments or the environment.
package hashing

import "golang.org/x/crypto/argon2"

// Input is the input of one computation.
type Input struct {
	Password, Salt  []byte
	MemoryKiB, Time uint32
	Parallelism     uint8
	Size            uint32 // of the tag, in bytes
}

// Compute computes in this process. Its error is always nil.
func Compute(in Input) (tag []byte, err error) {
	return argon2.IDKey(in.Password, in.Salt, in.Time, in.MemoryKiB, in.Parallelism, in.Size), nil
}
