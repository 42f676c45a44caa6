// Package content requests the tags and the catalog of a registry, and decides from them whether a content path can be read.
package content

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Client requests content from a registry. It is safe for concurrent use.
type Client struct {
	challenge.Client
	Base  endpoint.Base
	Login challenge.Login // of the definition, at a token service that only content names
	Limit int64           // maximum bytes of a body
	Now   func() time.Time
}

// Read sends a request for a path below /v2/, which may be redirected to another origin; authorization is not sent there.
func (c *Client) Read(ctx context.Context, path, query, authorization string) (*wire.Response, error) {
	u := c.Base.URL(path)
	u.RawQuery = query
	return c.Fetch(ctx, wire.Request{URL: u, Authorization: authorization}, true)
}

// Fetch sends a request for content.
func (c *Client) Fetch(ctx context.Context, what wire.Request, crossing bool) (*wire.Response, error) {
	what.Accept, what.Keep = oci.AcceptManifests, c.Limit
	return c.Wire.Fetch(ctx, what, crossing)
}
