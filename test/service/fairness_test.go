package service_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// Addresses of clients. All of 127.0.0.0/8 is this machine.
const (
	attackerAddress = "127.0.0.3"
	userAddress     = "127.0.0.2"
)

// TestLoginsUnderAttack fills the queue for hashing again and again. Each login of others succeeds at the first attempt.
func TestLoginsUnderAttack(t *testing.T) {
	for _, attack := range []struct {
		name, from string
		request    func(admin string, n int) *http.Request
	}{
		{"wrong passwords from another address", attackerAddress, wrongLogin},
		{"wrong passwords from the address of an account that logged in before", userAddress, wrongLogin},
		{"an administrator of another organization creates users", attackerAddress, createUser},
	} {
		t.Run(attack.name, func(t *testing.T) {
			// So many failures are free that the attack is not throttled: the order in the queue decides.
			server := instance.Start(t, instance.Options{Flags: []string{"--login-workers", "1", "--login-queue", "8", "--login-wait", "1m",
				"--login-free-failures", "100"}})
			server.Admin(t, "", "org", "create", "Beta")
			server.Admin(t, matePassword+"\n", "user", "create", "--org", "Beta", "--email", "mate@beta.example", "--password-stdin")
			user := server.ClientThrough(t, from(t, userAddress))
			login := func() instance.Response {
				return user.Do(http.MethodPost, "/v1/auth", instance.Credentials("mate@beta.example", "Beta", matePassword))
			}
			if attack.from == userAddress {
				login().Want(http.StatusOK)
			}
			admin := server.Client(t).Login().Authorization
			end := startAttack(t, server, attack.from, func(n int) *http.Request { return attack.request(admin, n) })
			for range 4 {
				login().Want(http.StatusOK)
			}
			end()
		})
	}
}

// TestOneAddressIsThrottled has one address guess at invented accounts.
func TestOneAddressIsThrottled(t *testing.T) {
	server := instance.Start(t, instance.Options{Flags: []string{"--login-free-failures", "1"}})
	attacker, other := server.ClientThrough(t, from(t, attackerAddress)), server.ClientThrough(t, from(t, userAddress))
	guess := func(i int) instance.Response {
		return attacker.Do(http.MethodPost, "/v1/auth",
			instance.Credentials(fmt.Sprintf("invented%d@acme.example", i), instance.Org, "wrong"))
	}
	for i := range 20 {
		guess(i).Want(http.StatusUnauthorized)
	}
	refused := guess(20)
	for i := range 5 { // a busy machine may take longer than the wait, which is twice as long the next time
		if refused.Status == http.StatusUnauthorized {
			refused = guess(21 + i)
		}
	}
	refused.Want(http.StatusTooManyRequests)
	wantRetryAfter(t, refused)
	other.Do(http.MethodPost, "/v1/auth", instance.Credentials(instance.Email, instance.Org, instance.Password)).Want(http.StatusOK)
}

func from(t *testing.T, address string) *http.Transport {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func wrongLogin(_ string, n int) *http.Request {
	return post("/v1/auth", instance.Credentials(fmt.Sprintf("invented%d@acme.example", n), instance.Org, "wrong"))
}

func createUser(admin string, n int) *http.Request {
	request := post("/v1/users", newUser(fmt.Sprintf("user%d@acme.example", n)))
	request.Header.Set("Authorization", admin)
	return request
}

func post(path, body string) *http.Request {
	request, err := http.NewRequest(http.MethodPost, path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	return request
}

// startAttack sends requests on 24 connections, again and again, and returns after the first 503: the queue is full.
func startAttack(t *testing.T, server *instance.Server, address string, request func(n int) *http.Request) (end func()) {
	t.Helper()
	const connections = 24
	client := &http.Client{Transport: from(t, address)}
	ctx, cancel := context.WithCancel(t.Context())
	full := make(chan struct{})
	var once sync.Once
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			for n := i; ctx.Err() == nil; n += connections {
				asked := request(n).WithContext(ctx)
				asked.URL.Scheme, asked.URL.Host = "http", strings.TrimPrefix(server.URL, "http://")
				response, err := client.Do(asked)
				if err != nil {
					continue
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if response.StatusCode == http.StatusServiceUnavailable {
					once.Do(func() { close(full) })
				}
				time.Sleep(5 * time.Millisecond) // leaves the processors to the service
			}
		})
	}
	<-full
	return func() { cancel(); all.Wait() }
}
