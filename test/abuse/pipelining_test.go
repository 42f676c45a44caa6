package abuse_test

import (
	"bytes"
	"io"
	"testing"
	"time"
)

const pipelined = 200 // requests that a connection sends before it reads a response

// TestPipelinedRequests sends so many requests at once that each of 2,000 connections has another one ready whenever the service looks.
func TestPipelinedRequests(t *testing.T) {
	a := beginAttack(t)
	requests := bytes.Repeat([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), pipelined)
	for _, conn := range floodFrom(t, a.server, manySources, slowConnections, "") {
		if conn == nil {
			continue
		}
		go func() {
			for err := error(nil); err == nil; {
				_, err = conn.Write(requests)
			}
		}()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	}
	a.client.visit(5 * time.Second)
	a.client.mostlyServed(t)
	withinMemory(t, a.server)
}
