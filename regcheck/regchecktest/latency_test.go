package regchecktest

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"
)

// TCP, TLS 1.3 and one request are three round trips; a second request on the connection is one more.
func TestFarTakesItsTime(t *testing.T) {
	const oneWay = 30 * time.Millisecond
	g := Start(t, "open")
	c := client(t, g, nil)
	transport := c.Transport.(*http.Transport)
	transport.DisableKeepAlives = false
	dialer := g.Far(oneWay)
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		addresses, err := g.LookupNetIP(ctx, "ip", "registry.test")
		if err != nil {
			return nil, err
		}
		return dialer.DialContext(ctx, network, net.JoinHostPort(addresses[0].String(), "443"))
	}
	for i, trips := range []float64{3, 1} {
		begin := time.Now()
		if a := ask(t, c, "https://registry.test/v2/", nil); a.status != 200 {
			t.Fatalf("%+v", a)
		}
		if spent := float64(time.Since(begin)) / float64(2*oneWay); spent < trips-0.01 || spent > trips+0.9 {
			t.Errorf("request %d took %.2f round trips, want %.0f", i+1, spent, trips)
		}
	}
	transport.CloseIdleConnections()
}
