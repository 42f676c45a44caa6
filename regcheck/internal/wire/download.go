package wire

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// Download receives the body of a 200, which may be longer than other bodies and take longer: the time limit of a response
// applies to its header, and then to each read.
type Download struct {
	To   io.Writer
	Size int64 // the body is read up to one byte more
	Raw  bool  // a body with a Content-Encoding is read too, as it comes

	timeout *time.Timer
	each    time.Duration
}

// limit returns the context of a request, with the limit of a response. A nil Download is that of other requests.
func (d *Download) limit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if d == nil {
		return context.WithTimeout(ctx, limit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	d.each, d.timeout = limit, time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		d.timeout.Stop()
		cancel(nil)
	}
}

// cause returns the error of a request: that it took too long, if that is why it was canceled.
func (d *Download) cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); d != nil && cause != nil {
		return cause
	}
	return err
}

// Write passes a part of the body on.
func (d *Download) Write(p []byte) (int, error) {
	d.timeout.Reset(d.each)
	return d.To.Write(p)
}

// download reads the body. net/http closes the connection if the body is longer.
func (a *Response) download(response *http.Response, d *Download) {
	defer func() { _ = response.Body.Close() }()
	if e := response.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		a.Packed = true
		if !d.Raw {
			return
		}
	}
	a.Length, a.Cut = io.Copy(d, io.LimitReader(response.Body, d.Size+1))
	a.Over = a.Length > d.Size
}
