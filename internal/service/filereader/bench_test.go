package filereader

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// BenchmarkRead reads a small file, in this process and in a child process.
func BenchmarkRead(b *testing.B) {
	reader := New(slog.New(slog.DiscardHandler), 2, os.Args[0], "service")
	b.Cleanup(reader.Close)
	file := File{Name: "body", Data: []byte(`{"auths":{"ghcr.io":{"auth":"YWRhOmh1bnRlcjI="},"quay.io":{"auth":"YWRhOmh1bnRlcjI="}}}`),
		Options: now}
	for name, read := range map[string]func(context.Context, File) (model.Result, error){"library": Read, "process": reader.Read} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := read(b.Context(), file); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
