package regcheck

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// checkKind reads the manifest of a tag and warns when it is no artifact for the provider type. problem says why
// the manifest cannot be read.
func (s *session) checkKind(ctx context.Context, in reading, tag string) (k oci.Kind, problem string) {
	k, problem = s.readKind(ctx, in, tag)
	expected := map[ProviderType]oci.Kind{Helm: oci.KindHelm, Zarf: oci.KindZarf}[s.plan.provider]
	mismatch := k != expected
	if s.plan.provider == Pack {
		mismatch = k == oci.KindHelm || k == oci.KindZarf // packs have no media type of their own
	}
	if mismatch && k != oci.KindNone {
		s.warn(WarnContentKindMismatch, "%s:%s is %s, and providerType is %q.", wire.CleanText(in.repository), wire.CleanText(tag), k, s.plan.provider)
	}
	return k, problem
}

// readKind returns the kind of a tagged artifact: the one that is known for its digest, else what its manifest says.
func (s *session) readKind(ctx context.Context, in reading, tag string) (k oci.Kind, problem string) {
	if k, known := s.knownKind(ctx, in, tag); known {
		return k, ""
	}
	k, digest, problem := s.fetchKind(ctx, in, tag)
	if k != oci.KindNone {
		s.artifact = artifactKind{hashed(digest), k}
	}
	return k, problem
}

// fetchKind gets the manifest of a tag and, of an index, its first manifest: each is a pull at Docker Hub. The digest is
// the tag's.
func (s *session) fetchKind(ctx context.Context, in reading, reference string) (k oci.Kind, digest, problem string) {
	for range 2 { // Zarf pushes an index with one manifest per architecture
		if !oci.IsReference(reference) {
			return oci.KindNone, "", "its name cannot be asked for"
		}
		a, err := s.manifest(ctx, in, reference, false)
		var m oci.Manifest
		switch {
		case err != nil:
			return oci.KindNone, "", "GET of its manifest got no answer"
		case a.Status != 200:
			return oci.KindNone, "", "GET " + wire.ShowURL(a.URL) + " was answered " + a.Said()
		case a.Over || a.Packed || a.Cut != nil || json.Unmarshal(a.Body, &m) != nil:
			return oci.KindNone, "", "GET " + wire.ShowURL(a.URL) + " was answered 200 with a body that is not a manifest, too long or cut off"
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

// manifest asks for a manifest, or only for its headers.
func (s *session) manifest(ctx context.Context, in reading, reference string, head bool) (*wire.Response, error) {
	header, _ := s.authorization(ctx, in.at.access, in.at.scope)
	a, err := s.request(ctx, wire.Request{URL: s.base.URL(in.repository + "/manifests/" + reference), Authorization: header, Head: head})
	if err == nil {
		s.checkPullQuota(a.Header)
	}
	return a, err
}
