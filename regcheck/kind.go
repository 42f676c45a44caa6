package regcheck

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// checkKind reads the manifest of a tag and warns if it is not an artifact for the provider type. problem is why the manifest
// cannot be read.
func (s *session) checkKind(ctx context.Context, in content.Reading, tag string) (k oci.Kind, problem string) {
	k, problem = s.readKind(ctx, in, tag)
	expected := map[ProviderType]oci.Kind{Helm: oci.KindHelm, Zarf: oci.KindZarf}[s.plan.provider]
	mismatch := k != expected
	if s.plan.provider == Pack {
		mismatch = k == oci.KindHelm || k == oci.KindZarf // packs have no media type of their own
	}
	if mismatch && k != oci.KindNone {
		s.warn(WarnContentKindMismatch, "%s:%s is %s, and {providerType} is %q.", s.Wire.Name(in.Repository), s.Wire.Name(tag), k, s.plan.provider)
	}
	return k, problem
}

// readKind returns the kind of a tagged artifact: the known one of its digest, else that of its manifest.
func (s *session) readKind(ctx context.Context, in content.Reading, tag string) (k oci.Kind, problem string) {
	if k, known := s.knownKind(ctx, in, tag); known {
		return k, ""
	}
	k, digest, problem := s.fetchKind(ctx, in, tag)
	if k != oci.KindNone {
		s.artifact = artifactKind{hashed(digest), k}
	}
	return k, problem
}

// fetchKind requests the manifest of a tag and, of an index, its first manifest: each is a pull at Docker Hub. The digest is
// the tag's.
func (s *session) fetchKind(ctx context.Context, in content.Reading, reference string) (k oci.Kind, digest, problem string) {
	for range 2 { // Zarf pushes an index with one manifest per architecture
		if !oci.IsReference(reference) {
			return oci.KindNone, "", "its name is not valid"
		}
		a, err := s.manifest(ctx, in, reference, false)
		var m oci.Manifest
		switch {
		case err != nil:
			return oci.KindNone, "", "GET of its manifest had no response"
		case a.Status != 200:
			return oci.KindNone, "", "GET " + a.ShowURL() + " returned " + a.Summary()
		case a.Over || a.Packed || a.Cut != nil || json.Unmarshal(a.Body, &m) != nil:
			return oci.KindNone, "", "GET " + a.ShowURL() + " returned 200 with a body that is not a manifest, too long or cut off"
		}
		if digest == "" {
			digest = cmp.Or(a.Header.Get(oci.DigestHeader), oci.Digest(a.Body))
		}
		if len(m.Manifests) == 0 {
			return m.Kind(), digest, ""
		}
		reference = m.Manifests[0].Digest
	}
	return oci.KindOther, digest, ""
}

// manifest requests a manifest, or only its headers.
func (s *session) manifest(ctx context.Context, in content.Reading, reference string, head bool) (*wire.Response, error) {
	header, _ := s.Authorize(ctx, in.Way)
	a, err := s.Fetch(ctx, wire.Request{URL: s.Base.URL(in.Repository + "/manifests/" + reference), Authorization: header, Head: head}, true)
	if err == nil {
		s.checkPullQuota(a.Header)
	}
	return a, err
}

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
// registry that returns no digest for HEAD has its manifest read each time.
func (s *session) knownKind(ctx context.Context, in content.Reading, tag string) (oci.Kind, bool) {
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
	if q, known := oci.ReadQuota(h); known && 5*q.Left < q.Limit {
		s.warn(WarnPullQuotaLow, "%d of %d pulls in %s are left.", q.Left, q.Limit, wire.Counted(q.Hours, "hour", "hours"))
	}
}
