package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/oci"
)

// Known is what is known of an artifact. A manifest's digest is of its content, so kind and blobs stay true.
type Known struct {
	ID    string // a SHA-256 over the registry's own digest; empty: nothing is known
	Kind  oci.Kind
	Read  bool      // the blobs are known; versions before this field recorded only the kind
	At    time.Time // when no asked blob had a fault; zero: never
	Blobs []oci.Descriptor
}

const (
	day       = 24 * 60 * 60 // seconds
	maxDigest = 160          // bytes that are recorded; a longer one is not valid
)

// IDOf returns the ID of a digest.
func IDOf(digest string) string {
	sum := sha256.Sum256([]byte(digest))
	return hex.EncodeToString(sum[:])
}

// due reports whether the blobs must be asked for: once a day, at a time of the day that depends on the place.
func (k Known) due(now time.Time, place string) bool {
	if k.At.IsZero() || now.Before(k.At.Add(-time.Minute)) {
		return true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(place))
	offset := int64(h.Sum32() % day)
	return (now.Unix()+offset)/day != (k.At.Unix()+offset)/day
}

// kindWords are the kinds in texts of Known.
var kindWords = map[oci.Kind]string{oci.KindHelm: "helm", oci.KindZarf: "zarf", oci.KindImage: "image", oci.KindOther: "other"}

// String returns parts of three words that ReadKnown reads; versions without the second part ignore it:
//
//	ID " kind " helm|zarf|image|other ";" ID " blobs " unix seconds {"," size "@" digest}
func (k Known) String() string {
	text := k.ID + " kind " + kindWords[k.Kind]
	if !k.Read {
		return text
	}
	at := int64(0)
	if !k.At.IsZero() {
		at = k.At.Unix()
	}
	text += ";" + k.ID + " blobs " + strconv.FormatInt(at, 10)
	for _, b := range k.Blobs {
		text += "," + strconv.FormatInt(b.Size, 10) + "@" + url.QueryEscape(b.Digest[:min(len(b.Digest), maxDigest)])
	}
	return text
}

// maxKnown is the maximum length of a text of Join. What is beyond it is read again.
const maxKnown = 64 << 10

// Join returns the text that ReadKnown reads of the artifacts, each once. An artifact that two repositories have was asked for when the
// first of them was, and never if one of them has a fault.
func Join(all []Known) string {
	var text strings.Builder
	for i, k := range all {
		same := func(other Known) bool { return other.ID == k.ID }
		if slices.ContainsFunc(all[:i], same) {
			continue
		}
		for _, other := range all[i+1:] {
			if same(other) && other.At.Before(k.At) {
				k.At = other.At
			}
		}
		if part := k.String(); text.Len()+len(part) < maxKnown {
			text.WriteString(";" + part)
		}
	}
	return strings.TrimPrefix(text.String(), ";")
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

// ReadKnown reads what String or Join wrote. It ends at a part that it cannot read.
func ReadKnown(text string) (all []Known) {
	for part := range strings.SplitSeq(text, ";") {
		words := strings.Split(part, " ")
		if len(words) != 3 {
			break
		}
		switch last := len(all) - 1; {
		case words[1] == "kind" && readKind(words[2]) != oci.KindNone:
			all = append(all, Known{ID: words[0], Kind: readKind(words[2])})
		case words[1] == "blobs" && last >= 0 && all[last].ID == words[0]:
			all[last].readBlobs(words[2])
		default:
			return all
		}
	}
	return all
}

func readKind(word string) oci.Kind {
	for k, w := range kindWords {
		if w == word {
			return k
		}
	}
	return oci.KindNone
}

func (k *Known) readBlobs(text string) {
	first, rest, more := strings.Cut(text, ",")
	at, err := strconv.ParseInt(first, 10, 64)
	if err != nil || at < 0 {
		return
	}
	var blobs []oci.Descriptor
	for more {
		var one string
		one, rest, more = strings.Cut(rest, ",")
		number, escaped, _ := strings.Cut(one, "@")
		size, sizeErr := strconv.ParseInt(number, 10, 64)
		digest, err := url.QueryUnescape(escaped)
		if sizeErr != nil || err != nil || len(blobs) == MaxAsked {
			return
		}
		blobs = append(blobs, oci.Descriptor{Digest: digest, Size: size})
	}
	k.Read, k.Blobs = true, blobs
	if at > 0 {
		k.At = time.Unix(at, 0)
	}
}
