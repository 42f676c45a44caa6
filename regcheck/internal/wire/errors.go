package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"syscall"
)

func IsTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// IsCutOff reports whether the server closed the connection before the header of a response was complete. The errors of net/http
// for this have no type, so it checks whether a response had begun, or was rejected by net/http.
func IsCutOff(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err) || errors.Is(err, net.ErrClosed) {
		return true
	}
	x, ok := errors.AsType[*ExchangeError](err)
	return ok && (x.Conn.cutInHeader() || !x.Started && !IsTimeout(err) && !rejectedHTTP2(err))
}

// rejectedHTTP2 reports whether net/http aborted a request or its connection because of what the server sent over
// HTTP/2: headers over the limit, or a violation of the protocol. Only errors of a stream have a readable type.
func rejectedHTTP2(err error) bool {
	if stream, ok := errors.AsType[streamError](err); ok {
		return stream.Cause != nil && stream.Cause.Error() != "received from peer"
	}
	text := Innermost(err).Error()
	return strings.HasPrefix(text, "connection error: ") || text == "http2: frame too large"
}

// streamError has the fields of the type of net/http, by which errors.As sets it.
type streamError struct {
	StreamID, Code uint32
	Cause          error
}

func (streamError) Error() string { return "HTTP/2 stream error" }

// RemoteAlert returns the TLS alert that the server sent. crypto/tls does not export its type: it is a uint8 in a *net.OpError
// with this Op.
func RemoteAlert(err error) (alert uint8, ok bool) {
	op, is := errors.AsType[*net.OpError](err)
	if !is || op.Op != "remote error" || op.Err == nil {
		return 0, false
	}
	v := reflect.ValueOf(op.Err)
	if v.Kind() != reflect.Uint8 {
		return 0, false
	}
	return uint8(v.Uint()), true // #nosec G115 -- its kind is uint8
}

// Innermost returns the last error of the chain, without the texts of net/http.
func Innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
