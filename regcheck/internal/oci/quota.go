package oci

import (
	"net/http"
	"strconv"
	"strings"
)

// Quota is how many pulls a registry allows in a period.
type Quota struct{ Limit, Left, Hours int }

// ReadQuota reads the quota of a response; ok is false if it has none.
func ReadQuota(h http.Header) (q Quota, ok bool) {
	limit, seconds, known := readQuota(h.Get("Ratelimit-Limit"))
	left, _, knownLeft := readQuota(h.Get("Ratelimit-Remaining"))
	return Quota{limit, left, max(1, seconds/3600)}, known && knownLeft
}

// readQuota reads a number of pulls and its period. Headers of this name without a period count requests.
func readQuota(text string) (pulls, seconds int, ok bool) {
	count, window, ok := strings.Cut(strings.ReplaceAll(text, " ", ""), ";w=")
	n, err := strconv.ParseUint(count, 10, 31)
	w, windowErr := strconv.ParseUint(window, 10, 31)
	return int(n), int(w), ok && err == nil && windowErr == nil // #nosec G115 -- 31 bits
}
