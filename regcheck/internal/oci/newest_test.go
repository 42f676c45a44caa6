package oci_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/regwarden/regwarden/regcheck/internal/oci"
)

func TestNewerOrdersTags(t *testing.T) {
	const digest = "3b1b4d6a9e0c5f7788990011223344556677889900aabbccddeeff0011223344"
	oldestFirst := []string{"", "sha256-" + digest, "sha256-" + digest + ".sig", "dev", "latest", "1.0.0-alpha",
		"1.0.0-rc.2", "1.0.0-rc.10", "1.0.0",
		"1.9.0", "v1.10.0", "1.10.1_build.5", "2", "10.0.0", "2026.11.23"}
	shuffled := slices.Clone(oldestFirst)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	slices.SortFunc(shuffled, func(a, b string) int {
		switch {
		case oci.Newer(a, b):
			return 1
		case oci.Newer(b, a):
			return -1
		}
		return 0
	})
	if !slices.Equal(shuffled, oldestFirst) {
		t.Errorf("got  %q\nwant %q", shuffled, oldestFirst)
	}
}
