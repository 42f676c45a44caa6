package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/regwarden/regwarden/internal/service/auth"
)

// localAddress is the address in audit records of requests that run in process.
const localAddress = "cli"

// localKey is the key of the principal in the context of a request that runs in process. No request from the network has it.
type localKey struct{}

// Local returns a transport that runs requests in this process for p, without a connection and without credentials. It is for the
// command line: users who may read the data directory are trusted.
func (s *Server) Local(p auth.Principal) http.RoundTripper {
	return localTransport{s.Handler(), p}
}

type localTransport struct {
	handler   http.Handler
	principal auth.Principal
}

// RoundTrip runs the handler of r. The response is complete when it returns.
func (t localTransport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	incoming := r.Clone(context.WithValue(r.Context(), localKey{}, t.principal))
	incoming.RemoteAddr, incoming.RequestURI = localAddress, r.URL.RequestURI()
	if incoming.Body == nil {
		incoming.Body = http.NoBody
	}
	w := &localResponse{header: http.Header{}, status: http.StatusOK}
	defer func() {
		if p := recover(); p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it like this, too
			resp, err = nil, errors.New("the response could not be completed")
		} else if p != nil {
			panic(p)
		}
	}()
	t.handler.ServeHTTP(w, incoming)
	if err := r.Context().Err(); err != nil {
		return nil, context.Cause(r.Context())
	}
	return &http.Response{StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r}, nil
}

// localResponse is the writer of a response in memory.
type localResponse struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (w *localResponse) Header() http.Header { return w.header }

func (w *localResponse) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
}

func (w *localResponse) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}
