package abuse_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	summary     = "/v1/registries/oci/summary"
	longRecords = 3000 // a list of 7 MiB, and more than the operating system holds of it
	otherOrg    = "Crowd"
	otherEmail  = "admin@crowd.example"
	unreadConns = 26
	cutAfter    = writeTime + busy
	slowPiece   = 1 << 20
	slowPause   = 4 * time.Second
)

// Lists that clients do not read hold little memory, and end. A client that reads slowly gets all of its list.
func TestListsThatAreNotRead(t *testing.T) {
	t.Parallel()
	server := start(t, "--watch-interval", "0s")
	token := otherAdmin(t, server)
	createLongRecords(t, server, token)
	client := newCustomer(t, server)

	slow, slowBegan := make(chan error, 1), make(chan struct{})
	go func() { slow <- readSlowly(t.Context(), server, token, slowBegan) }()
	<-slowBegan // the lists of one user take all of its share of memory, and further ones are rejected
	began := time.Now()
	conns := flood(t, server, unreadConns, "GET "+summary+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: "+token+"\r\n\r\n")
	client.visit(5 * time.Second)
	client.served(t)
	withinMemory(t, server)

	time.Sleep(time.Until(began.Add(cutAfter)))
	cut := 0
	for i, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		received, err := io.ReadAll(conn)
		if bytes.HasSuffix(received, []byte("]}\n\r\n0\r\n\r\n")) {
			t.Errorf("connection %d received its list after %v without reading: %v", i, cutAfter, err)
		} else if !bytes.HasPrefix(received, []byte("HTTP/1.1 503 ")) {
			cut++
		}
	}
	if t.Logf("%d of %d lists began and were cut", cut, unreadConns); cut == 0 {
		t.Error("no list began")
	}
	if err := <-slow; err != nil {
		t.Errorf("a client that reads slowly: %v", err)
	}
	withinMemory(t, server)
}

// otherAdmin logs in as the administrator of another organization than the customer's.
func otherAdmin(t *testing.T, server *instance.Server) (token string) {
	t.Helper()
	server.Admin(t, "", "org", "create", otherOrg)
	server.Admin(t, instance.Password+"\n", "user", "create", "--org", otherOrg, "--email", otherEmail, "--role",
		"admin", "--password-stdin")
	return server.Client(t).Do(http.MethodPost, login,
		instance.Credentials(otherEmail, otherOrg, instance.Password)).Want(http.StatusOK).Tokens().Authorization
}

// createLongRecords imports the records, in requests of less than 1 MiB.
func createLongRecords(t *testing.T, server *instance.Server, token string) {
	t.Helper()
	const atOnce = longRecords / 8
	client := server.Client(t)
	for first := 0; first < longRecords; first += atOnce {
		var items []any
		for i := range atOnce {
			items = append(items, longRecord(first+i))
		}
		response := client.Do(http.MethodPost, "/v1/registries/oci/basic/import", instance.JSON(map[string]any{"items": items}),
			"Authorization", token).Want(http.StatusOK)
		if stored := strings.Count(response.Body, `"stored"`); stored != atOnce {
			t.Fatalf("stored %d of %d records: %.300s", stored, atOnce, response.Body)
		}
	}
}

func longRecord(i int) any {
	return map[string]any{"endpoint": fmt.Sprintf("https://127.0.0.1:9/%s%d", strings.Repeat("x", 2000), i),
		"auth": map[string]string{"type": "noAuth"}}
}

// readSlowly reads the list with pauses, for longer than a request may take to arrive. It closes began with the first byte, or
// an error.
func readSlowly(ctx context.Context, server *instance.Server, token string, began chan<- struct{}) error {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
		return dialFrom(ctx, userAddress, to)
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+summary, nil)
	if err != nil {
		close(began)
		return err
	}
	request.Header.Set("Authorization", token)
	response, err := transport.RoundTrip(request)
	close(began)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var received bytes.Buffer
	for err == nil {
		time.Sleep(slowPause)
		_, err = io.CopyN(&received, response.Body, slowPiece)
	}
	var list struct{ Items []json.RawMessage }
	if decodeErr := json.Unmarshal(received.Bytes(), &list); decodeErr != nil || len(list.Items) != longRecords {
		return fmt.Errorf("received %d bytes, %d items: %w", received.Len(), len(list.Items), err)
	}
	return nil
}
