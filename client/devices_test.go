package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
)

// A login that a person is confirming survives errors of the network and of proxies, with longer waits, until it expires.
func TestAwaitContinuesAfterErrors(t *testing.T) {
	refused := func() *http.Response {
		return response(400, `{"code":"InvalidRequest","message":"m","details":{},"ref":"ref-1","error":"expired_token"}`)
	}
	for _, tt := range []struct {
		name      string
		expiresIn int64
		failures  int
		last      func() *http.Response
		waited    time.Duration
		token     bool
	}{
		{"confirmed", 600, 2, func() *http.Response {
			return response(200, `{"access_token":"t","refresh_token":"r"}`)
		}, (5 + 10 + 20) * time.Second, true},
		{"refused", 600, 0, refused, 5 * time.Second, false},
		{"expired", 300, 99, refused, (5 + 10 + 20 + 40 + 4*60) * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts, began := 0, time.Now()
				c := newClient(t, "a.example", client.Config{Transport: transport(func(*http.Request) (*http.Response, error) {
					switch attempts++; {
					case attempts > tt.failures:
						return tt.last(), nil
					case attempts%2 == 1:
						return nil, io.ErrUnexpectedEOF
					}
					return response([]int{429, 502}[attempts/2%2], "<html>", "Content-Type", "text/html"), nil
				})})
				token, _, err := c.Devices.Await(t.Context(), &api.DeviceLogin{DeviceCode: "d", Interval: 5, ExpiresIn: tt.expiresIn})
				if (err == nil) != tt.token || (token == "t") != tt.token || time.Since(began) != tt.waited {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		began := time.Now()
		c := newClient(t, "a.example", client.Config{Transport: transport(func(*http.Request) (*http.Response, error) {
			return nil, io.ErrUnexpectedEOF
		})})
		_, _, err := c.Devices.Await(ctx, &api.DeviceLogin{DeviceCode: "d", Interval: 5, ExpiresIn: 600})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 7*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// An error that stays as it is ends the wait at once.
func TestAwaitEndsAfterPermanentErrors(t *testing.T) {
	page := func(status int, headers ...string) func() (*http.Response, error) {
		return func() (*http.Response, error) {
			return response(status, "<html>", append(headers, "Content-Type", "text/html")...), nil
		}
	}
	for name, respond := range map[string]func() (*http.Response, error){
		"refused by a proxy": page(403), "login of a network": page(200), "redirect": page(302, "Location", "https://other.example/"),
		"certificate": func() (*http.Response, error) {
			return nil, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
		},
		"port without TLS": func() (*http.Response, error) { return nil, http.ErrSchemeMismatch },
		"port of TLS": func() (*http.Response, error) {
			return response(400, "The plain HTTP request was sent to HTTPS port", "Content-Type", "text/html"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				c := newClient(t, "http://127.0.0.1", client.Config{Transport: transport(func(*http.Request) (*http.Response, error) {
					attempts++
					return respond()
				})})
				_, _, err := c.Devices.Await(t.Context(), &api.DeviceLogin{DeviceCode: "d", Interval: 5, ExpiresIn: 600})
				if err == nil || attempts != 1 {
					t.Errorf("%d attempts: %v", attempts, err)
				}
			})
		})
	}
}
