package regcheck

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/regcheck/internal/artifact"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// IsPlatform reports whether a text may be a Checker.Platform.
func IsPlatform(text string) bool { return artifact.IsPlatform(text) }

// examine reads the manifest that a tag or digest names, asks for its blobs, and warns if it is not an artifact for the
// provider type.
func (s *session) examine(ctx context.Context, in content.Way, repository, reference string) artifact.Result {
	x := artifact.Examiner{Client: &s.Client, Way: in, Repository: repository, Platform: s.platform,
		Download: s.download, Explain: s.explainBlob, Connections: s.blobConns}
	r := x.Examine(ctx, reference, artifact.ReadKnown(s.known.artifacts), s.now(), s.Base.String()+repository)
	for _, h := range r.Headers {
		s.checkPullQuota(h)
	}
	if r.Known.ID != "" {
		s.examined = append(s.examined, r.Known)
	}
	s.checkKind(r.Kind, repository+":"+reference)
	return r
}

// explainBlob returns why a blob could not be requested. The hints of TLS and of the address policy are those of the cause.
func (s *session) explainBlob(err error) artifact.Cause {
	f := s.diagnoseContent(err)
	c := artifact.Cause{Text: s.reader.Show(f.seen), Retryable: f.retryable}
	switch f.entry.Code {
	case CodeTLSFailed:
		c.Hint = f.hint
	case CodeAddressForbidden:
		c.Hint = "If the address is right, ask the operator of {program} to allow it in the egress policy; " +
			"otherwise contact the registry operator: downloads are redirected to a wrong address."
	}
	return c
}

// referenced examines the artifact that the content path names: it must be complete.
func (s *session) referenced(ctx context.Context, ref oci.Reference) outcome {
	shown := wire.CleanText(ref.String())
	found := s.examine(ctx, content.Way{Access: s.access, Scope: content.PullScope(ref.Repository)}, ref.Repository, ref.Name())
	f := found.Worst()
	switch {
	case f == nil:
		return s.examinedAs("%s is %s", found, shown, found.Words())
	case f.Damage != "":
		damaged := fail(CodeContentDamaged, Reason(f.Damage), "%s: %s%s.", shown, f.Text, found.Others()).retry(f.Retryable)
		return failed(damaged.hinting("%s", cmp.Or(f.Hint, damaged.hint)))
	case f.Platform:
		missing := fail(CodeContentNotFound, "", "%s: %s.", shown, f.Text)
		return failed(missing.at("").hinting("Choose one of the platforms that its index has."))
	case found.Manifest != nil:
		if f := s.noManifest(ctx, ref, found.Manifest.Reading); f != nil {
			return failed(f)
		}
	case f.Retryable:
		return failed(fail(CodeUnavailable, "", "%s: %s%s.", shown, f.Text, found.Others()))
	}
	return s.warnDamaged(shown, found)
}

// noManifest is the failure of a reference whose manifest cannot be read; nil if it is not known whether it can be pulled.
func (s *session) noManifest(ctx context.Context, ref oci.Reference, r content.Reading) *failure {
	if f := s.diagnoseReading(r); f != nil {
		return f
	}
	if f := s.contentExpired(ctx, r); f != nil {
		return f
	}
	switch c := (&contentCheck{session: s, path: r}); {
	case r.Denied():
		return c.denied(r)
	case r.Response == nil:
	case wire.HasCode(r.Response.Body, "NAME_INVALID"):
		return fail(CodeContentNotFound, ReasonNameInvalid, "%s.", r.Why())
	case r.Response.Status == http.StatusNotFound:
		return s.notPushed(ctx, ref, r)
	}
	return nil
}

// notPushed is the failure of a reference that the registry does not have. The hint has similar tags, or similar repositories.
func (s *session) notPushed(ctx context.Context, ref oci.Reference, r content.Reading) *failure {
	f := fail(CodeContentNotFound, ReasonTagUnknown, "%s.", r.Why())
	if ref.Digest != "" {
		return fail(CodeContentNotFound, ReasonDigestUnknown, "%s.", r.Why())
	}
	switch tags := s.Tags(ctx, s.access, ref.Repository); tags.State() {
	case content.HasTags:
		near := spelling.Prefixes(ref.Tag, tags.Names())
		for i := range near {
			near[i] = s.Wire.Name(ref.Repository + ":" + near[i])
		}
		if len(near) > 0 {
			return f.hinting("Correct the tag in {baseContentPath}; similar names: %s.", strings.Join(near, ", "))
		}
	case content.NotFound:
		if c, other := s.requestContent(ctx); other == nil && c.facts.Decide() == content.PathMissing {
			return c.missing()
		}
	}
	return f
}

// checkKind warns if an artifact is not for the provider type. Packs have no media type of their own.
func (s *session) checkKind(k oci.Kind, name string) {
	expected := map[ProviderType]oci.Kind{Helm: oci.KindHelm, Zarf: oci.KindZarf, Pack: oci.KindOther}[s.plan.provider]
	if k != expected && k != oci.KindNone {
		s.warn(WarnContentKindMismatch, "%s is %s, and {providerType} is %q.", s.Wire.Name(name), k, s.plan.provider)
	}
}

// examinedAs is the outcome of an artifact without a fault.
func (s *session) examinedAs(format string, found artifact.Result, args ...any) outcome {
	if found.Whole() {
		return passed(format, args...)
	}
	return unknown(format, args...)
}

// warnDamaged warns of an artifact that is damaged or could not be read, with the hint of the damage.
func (s *session) warnDamaged(name string, r artifact.Result) outcome {
	f := r.Worst()
	what := name + ": " + f.Text + r.Others() + "."
	if f.Damage == "" {
		s.warn(WarnContentNotReadable, "%s", what)
	} else {
		e := lookupWarning(WarnContentDamaged)
		hint := cmp.Or(f.Hint, lookup(CodeContentDamaged, Reason(f.Damage)).Hint)
		s.addWarning(warning{e.Warning, e.Field, message.Of("%s %s %s", e.Sentence, what, hint)})
	}
	return unknown("%s: %s%s", name, f.Text, r.Others())
}

// checkPullQuota warns when less than 20 % of the pulls are left that a registry allows in a period (Docker Hub, "76;w=21600").
func (s *session) checkPullQuota(h http.Header) {
	if q, known := oci.ReadQuota(h); known && 5*q.Left < q.Limit {
		s.warn(WarnPullQuotaLow, "%d of %d pulls in %s are left.", q.Left, q.Limit, wire.Counted(q.Hours, "hour", "hours"))
	}
}
