package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"slices"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/oci"
)

// Known is what is known of an artifact. A manifest's digest is of its content, so kind and blobs stay true.
type Known struct {
	ID    string           `json:"id"` // a SHA-256 over the registry's own digest; empty: nothing is known
	Kind  oci.Kind         `json:"kind"`
	At    int64            `json:"at,omitempty"` // unix seconds when no asked blob had a fault; 0: never
	Blobs []oci.Descriptor `json:"blobs,omitempty"`
	// Child is the digest of the manifest that was chosen from an index, empty if the artifact is not an index. What earlier versions
	// recorded is nil: it is not known.
	Child *string `json:"child,omitempty"`
}

const day = 24 * 60 * 60 // seconds

// kinds are the kinds that are recorded.
var kinds = []oci.Kind{oci.KindHelm, oci.KindZarf, oci.KindImage, oci.KindOther}

// idOf returns the ID of a digest.
func idOf(digest string) string {
	sum := sha256.Sum256([]byte(digest))
	return hex.EncodeToString(sum[:])
}

// due reports whether the blobs must be asked for: once a day, at a time of the day that depends on the place.
func (k Known) due(now time.Time, place string) bool {
	if k.At == 0 || now.Unix() < k.At-60 {
		return true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(place))
	offset := int64(h.Sum32() % day)
	return (now.Unix()+offset)/day != (k.At+offset)/day
}

// maxKnown is the maximum length of a text of Join. What is beyond it is read again.
const maxKnown = 64 << 10

// Join returns the text that ReadKnown reads of the artifacts, each once. An artifact that two repositories have was asked for when the
// first of them was, and never if one of them has a fault.
func Join(all []Known) string {
	var text []byte
	for i, k := range all {
		same := func(other Known) bool { return other.ID == k.ID }
		if slices.ContainsFunc(all[:i], same) {
			continue
		}
		for _, other := range all[i+1:] {
			if same(other) {
				k.At = min(k.At, other.At)
			}
		}
		k.Blobs = recorded(k.Blobs)
		if part, err := json.Marshal(k); err == nil && len(text)+len(part) < maxKnown {
			text = append(append(text, ','), part...)
		}
	}
	if len(text) == 0 {
		return ""
	}
	text[0] = '['
	return string(append(text, ']'))
}

// recorded returns the part of blobs that is needed to ask for them.
func recorded(blobs []oci.Descriptor) (all []oci.Descriptor) {
	for _, b := range blobs {
		all = append(all, oci.Descriptor{Digest: b.Digest, Size: b.Size})
	}
	return all
}

// Retain adds to what was examined what was known before of other artifacts, up to a number of artifacts.
func Retain(examined, before []Known, most int) []Known {
	all := examined
	for _, k := range before {
		if len(all) < most && !slices.ContainsFunc(examined, func(e Known) bool { return e.ID == k.ID }) {
			all = append(all, k)
		}
	}
	return all
}

// ReadKnown reads what Join wrote, without artifacts that it cannot have written.
func ReadKnown(text string) (all []Known) {
	if json.Unmarshal([]byte(text), &all) != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(k Known) bool {
		return k.ID == "" || !slices.Contains(kinds, k.Kind) || k.At < 0 || len(k.Blobs) > maxAsked
	})
}
