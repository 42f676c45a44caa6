package regcheck

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// artifactKind is the kind of the artifact with a digest. A manifest's digest is of its content, so this stays true.
type artifactKind struct {
	digest string // a SHA-256 over the registry's own digest; empty: nothing is known
	kind   oci.Kind
}

// kindWords are the kinds in Known.String.
var kindWords = map[oci.Kind]string{oci.KindHelm: "helm", oci.KindZarf: "zarf", oci.KindImage: "image", oci.KindOther: "other"}

func readArtifactKind(digest, word string) artifactKind {
	for k, w := range kindWords {
		if w == word {
			return artifactKind{digest, k}
		}
	}
	return artifactKind{}
}

// knownKind returns the kind of a tagged artifact if the digest of the tag is still the one whose kind is known. A
// registry that does not answer HEAD with a digest has its manifest read each time.
func (s *session) knownKind(ctx context.Context, in reading, tag string) (oci.Kind, bool) {
	if s.artifact.digest == "" || !oci.IsReference(tag) {
		return oci.KindNone, false
	}
	a, err := s.manifest(ctx, in, tag, true)
	if err != nil || a.Status != http.StatusOK {
		return oci.KindNone, false
	}
	digest := a.Header.Get(oci.DigestHeader)
	return s.artifact.kind, digest != "" && hashed(digest) == s.artifact.digest
}

func hashed(digest string) string {
	sum := sha256.Sum256([]byte(digest))
	return hex.EncodeToString(sum[:])
}

// checkPullQuota warns when less than 20 % of the pulls are left that a registry allows in a period (Docker Hub, "76;w=21600").
func (s *session) checkPullQuota(h http.Header) {
	limit, period, known := readQuota(h.Get("Ratelimit-Limit"))
	left, _, knownLeft := readQuota(h.Get("Ratelimit-Remaining"))
	if known && knownLeft && 5*left < limit {
		s.warn(WarnPullQuotaLow, "%d of %d pulls in %s are left.", left, limit, wire.Counted(max(1, period/3600), "hour", "hours"))
	}
}

// readQuota reads a count of pulls and the seconds that it is for. Headers of this name without seconds count requests.
func readQuota(text string) (pulls, seconds int, ok bool) {
	count, window, ok := strings.Cut(strings.ReplaceAll(text, " ", ""), ";w=")
	n, err := strconv.ParseUint(count, 10, 31)
	w, windowErr := strconv.ParseUint(window, 10, 31)
	return int(n), int(w), ok && err == nil && windowErr == nil // #nosec G115 -- 31 bits
}
