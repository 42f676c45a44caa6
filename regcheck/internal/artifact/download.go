package artifact

import (
	"context"
	"io"
	"sync"

	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Download downloads blobs and compares their digests.
type Download struct {
	Limit    int64                   // bytes of all blobs; what is beyond is only asked for
	Progress func(done, total int64) // may be nil
}

// download downloads the blobs that are within the limit, asks for the others, and returns the bytes that were to be downloaded.
func (x *Examiner) download(ctx context.Context, blobs []oci.Descriptor) (faults []Fault, downloaded int, size int64) {
	within := make([]bool, len(blobs))
	for i, d := range blobs {
		if within[i] = d.Size >= 0 && d.Size <= x.Download.Limit-size; within[i] {
			downloaded, size = downloaded+1, size+d.Size
		}
	}
	progress := &progress{report: x.Download.Progress, total: size}
	faults = x.each(ctx, blobs, MaxConnections, func(ctx context.Context, i int) *Fault {
		if !within[i] {
			return x.ask(ctx, blobs[i], i == 0)
		}
		return x.fetch(ctx, blobs[i], progress)
	})
	return faults, downloaded, size
}

// fetch downloads one blob. Only its hash is computed; nothing is stored.
func (x *Examiner) fetch(ctx context.Context, d oci.Descriptor, p *progress) *Fault {
	if f := x.invalid(d); f != nil {
		return f
	}
	sum, known := oci.HashFor(d.Digest)
	what := x.request(d)
	what.Download = &wire.Download{To: io.MultiWriter(sum, p), Size: d.Size}
	a, f := x.send(ctx, d, what)
	switch {
	case a == nil || a.Status != 200:
	case a.Over:
		f.Damage, f.Text = codes.ReasonSizeMismatch, f.Text+" with more than "+bytesOf(d.Size)
	case a.Cut != nil:
		f.Text, f.Retryable = f.Text+", and the download ended early or stalled", true
	case a.Packed || !known:
		f.Text += ", but its digest cannot be compared: it is compressed, or the algorithm is not known"
	case a.Length != d.Size:
		f.Damage, f.Text = codes.ReasonSizeMismatch, f.Text+" with "+bytesOf(a.Length)+" instead of "+bytesOf(d.Size)
	case !sum.Matches():
		f.Damage, f.Text = codes.ReasonDigestMismatch, f.Text+" with content that does not have this digest"
	default:
		return nil
	}
	return f
}

// progress counts what was downloaded. It is safe for concurrent use.
type progress struct {
	mu          sync.Mutex
	report      func(done, total int64)
	done, total int64
}

func (p *progress) Write(part []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += int64(len(part))
	if p.report != nil {
		p.report(min(p.done, p.total), p.total)
	}
	return len(part), nil
}
