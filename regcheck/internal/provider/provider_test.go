package provider

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/source"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// A proxy that does not connect to a provider is named, and its status.
func TestProxyThatRefusesAProvider(t *testing.T) {
	for _, row := range []struct {
		err   egress.ProxyError
		want  string
		retry bool
	}{
		{egress.ProxyError{Host: "proxy.test:3128", Status: 403}, "the outbound proxy proxy.test:3128 returned 403", false},
		{egress.ProxyError{Host: "proxy.test:3128", Status: 503}, "the outbound proxy proxy.test:3128 returned 503", true},
		{egress.ProxyError{Host: "proxy.test:3128", Err: syscall.ECONNREFUSED},
			"the outbound proxy proxy.test:3128: the connection was refused", true},
		{egress.ProxyError{Err: egress.ErrProxyScheme}, "only HTTP proxies are supported", false},
	} {
		err := explain("api.test", &wire.StepError{Err: &row.err})
		r, ok := errors.AsType[*source.Refusal](err)
		if !ok || r.Reason != source.Unreachable || r.Retry != row.retry || !strings.Contains(r.Error(), row.want) {
			t.Errorf("%+v: %v", row.err, err)
		}
	}
}
