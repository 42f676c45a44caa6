package auth

import (
	"bytes"
	"testing"

	"golang.org/x/crypto/argon2"
	"pgregory.net/rapid"
)

// TestArgon2idIsTheLibrarys compares tags with those of golang.org/x/crypto/argon2, in memory that holds the
// remains of the run before.
func TestArgon2idIsTheLibrarys(t *testing.T) {
	memory := make([]memoryBlock, 2048)
	rapid.Check(t, func(r *rapid.T) {
		cost := HashCost{MemoryKiB: rapid.Uint32Range(8, 1024).Draw(r, "m"), Time: rapid.Uint32Range(1, 4).Draw(r, "t"), Parallelism: rapid.Uint8Range(1, 5).Draw(r, "p")}
		password, salt := rapid.SliceOf(rapid.Byte()).Draw(r, "password"), rapid.SliceOfN(rapid.Byte(), 8, 64).Draw(r, "salt")
		size := rapid.Uint32Range(4, 200).Draw(r, "size")
		got := argon2id(memory[:argonBlocks(cost)], password, salt, cost, size)
		if want := argon2.IDKey(password, salt, cost.Time, cost.MemoryKiB, cost.Parallelism, size); !bytes.Equal(got, want) {
			r.Fatalf("%v: %x, the library has %x", cost, got, want)
		}
	})
}

func BenchmarkArgon2id(b *testing.B) {
	cost := defaultHashCost
	memory := make([]memoryBlock, argonBlocks(cost))
	b.Run("here", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			argon2id(memory, []byte("password"), []byte("saltsaltsaltsalt"), cost, tagBytes)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			argon2.IDKey([]byte("password"), []byte("saltsaltsaltsalt"), cost.Time, cost.MemoryKiB, cost.Parallelism, tagBytes)
		}
	})
}
