package regcheck

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/regcheck/internal/artifact"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// examination is how artifacts are examined.
type examination struct {
	platform    string             // Checker.Platform
	download    *artifact.Download // nil: blobs are only asked for
	known       []artifact.Known   // of an earlier check
	connections int                // for the blobs of an artifact; 0: the usual number
}

// IsPlatform reports whether a text may be a Checker.Platform.
func IsPlatform(text string) bool { return artifact.IsPlatform(text) }

// examine reads the manifest that a tag or digest names, asks for its blobs, and warns if it is not an artifact for the
// provider type.
func (c *contentCheck) examine(ctx context.Context, in content.Way, repository, reference string) artifact.Result {
	x := artifact.Examiner{Client: &c.Client, Way: in, Repository: repository, Platform: c.platform,
		Download: c.download, Explain: c.explainBlob, Connections: c.examination.connections}
	r := x.Examine(ctx, reference, c.examination.known, c.now(), c.Base.String()+repository)
	for _, h := range r.Headers {
		c.checkPullQuota(h)
	}
	if r.Known.ID != "" {
		c.examined = append(c.examined, r.Known)
	}
	c.checkKind(r.Kind, repository+":"+reference)
	return r
}

// explainBlob returns why a blob could not be requested. The hints of TLS and of the address policy are those of the cause.
func (c *contentCheck) explainBlob(err error) artifact.Cause {
	f := c.diagnoseContent(err)
	cause := artifact.Cause{Text: c.reader.Show(f.Seen), Retryable: f.Retryable}
	switch f.Entry.Code {
	case CodeTLSFailed:
		cause.Hint = f.Hint
	case CodeAddressForbidden:
		cause.Hint = "If the address is right, ask the operator of {program} to allow it in the egress policy; " +
			"otherwise contact the registry operator: downloads are redirected to a wrong address."
	default: // the hint of the caller
	}
	return cause
}

// referenced examines the artifact that the content path names: it must be complete.
func (c *contentCheck) referenced(ctx context.Context, ref oci.Reference) outcome {
	shown := wire.CleanText(ref.String())
	found := c.examine(ctx, content.Way{Access: c.access, Scope: content.PullScope(ref.Repository)}, ref.Repository, ref.Name())
	f := found.Worst()
	switch {
	case f == nil:
		return c.examinedAs("%s is %s", found, shown, found.Words())
	case f.Damage != "":
		damaged := fail(CodeContentDamaged, f.Damage, "%s: %s%s.", shown, f.Text, found.Others()).Retry(f.Retryable)
		return codes.Failed(damaged.Hinting("%s", cmp.Or(f.Hint, damaged.Hint)))
	case f.Platform:
		missing := fail(CodeContentNotFound, "", "%s: %s.", shown, f.Text)
		return codes.Failed(missing.At("").Hinting("Choose one of the platforms that its index has."))
	case found.Manifest != nil:
		if f := c.noManifest(ctx, ref, found.Manifest.Reading); f != nil {
			return codes.Failed(f)
		}
	case f.Retryable:
		return codes.Failed(fail(CodeUnavailable, "", "%s: %s%s.", shown, f.Text, found.Others()))
	}
	return c.warnDamaged(shown, found)
}

// noManifest is the failure of a reference whose manifest cannot be read; nil if it is not known whether it can be pulled.
func (c *contentCheck) noManifest(ctx context.Context, ref oci.Reference, r content.Reading) *failure {
	if f := c.diagnoseReading(r); f != nil {
		return f
	}
	if f := c.contentExpired(ctx, r); f != nil {
		return f
	}
	switch {
	case r.Denied():
		return c.denied(r)
	case r.Response == nil:
	case wire.HasCode(r.Response.Body, "NAME_INVALID"):
		return fail(CodeContentNotFound, ReasonNameInvalid, "%s.", r.Why())
	case r.Response.Status == http.StatusNotFound:
		return c.notPushed(ctx, ref, r)
	}
	return nil
}

// notPushed is the failure of a reference that the registry does not have. The hint has similar tags, or similar repositories.
func (c *contentCheck) notPushed(ctx context.Context, ref oci.Reference, r content.Reading) *failure {
	f := fail(CodeContentNotFound, ReasonTagUnknown, "%s.", r.Why())
	if ref.Digest != "" {
		return fail(CodeContentNotFound, ReasonDigestUnknown, "%s.", r.Why())
	}
	switch tags := c.Tags(ctx, c.access, ref.Repository); tags.State() {
	case content.HasTags:
		near := spelling.Prefixes(ref.Tag, tags.Names())
		for i := range near {
			near[i] = c.Wire.Name(ref.Repository + ":" + near[i])
		}
		if len(near) > 0 {
			return f.Hinting("Correct the tag in {baseContentPath}; similar names: %s.", strings.Join(near, ", "))
		}
	case content.NotFound:
		if asked, other := c.requestContent(ctx); other == nil && asked.Facts.Decide() == content.PathMissing {
			return asked.missing()
		}
	default: // the sentence of the response says enough
	}
	return f
}

// checkKind warns if an artifact is not for the provider type. Packs have no media type of their own.
func (c *contentCheck) checkKind(k oci.Kind, name string) {
	expected := map[ProviderType]oci.Kind{Helm: oci.KindHelm, Zarf: oci.KindZarf, Pack: oci.KindOther}[c.plan.provider]
	if k != expected && k != oci.KindNone {
		c.warn(WarnContentKindMismatch, "%s is %s, and {providerType} is %q.", c.Wire.Name(name), k, c.plan.provider)
	}
}

// examinedAs is the outcome of an artifact without a fault.
func (c *contentCheck) examinedAs(format string, found artifact.Result, args ...any) outcome {
	if found.Whole() {
		return codes.Passed(format, args...)
	}
	return codes.Unknown(format, args...)
}

// warnDamaged warns of an artifact that is damaged or could not be read, with the hint of the damage.
func (c *contentCheck) warnDamaged(name string, r artifact.Result) outcome {
	f := r.Worst()
	what := name + ": " + f.Text + r.Others() + "."
	if f.Damage == "" {
		c.warn(WarnContentNotReadable, "%s", what)
	} else {
		e := codes.LookupWarning(WarnContentDamaged)
		hint := cmp.Or(f.Hint, codes.Lookup(CodeContentDamaged, f.Damage).Hint)
		c.addWarning(warning{e.Warning, e.Field, message.Of("%s %s %s", e.Sentence, what, hint)})
	}
	return codes.Unknown("%s: %s%s", name, f.Text, r.Others())
}

// checkPullQuota warns when less than 20 % of the pulls are left that a registry allows in a period (Docker Hub, "76;w=21600").
func (c *contentCheck) checkPullQuota(h http.Header) {
	if q, known := oci.ReadQuota(h); known && 5*q.Left < q.Limit {
		c.warn(WarnPullQuotaLow, "%d of %d pulls in %s are left.", q.Left, q.Limit, wire.Counted(q.Hours, "hour", "hours"))
	}
}
