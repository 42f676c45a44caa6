// Package ambient decides which organizations may use the identity that the server has at clouds. That identity belongs to the operator:
// a member of another organization must not get credentials by it (confused deputy).
package ambient

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck"
)

// Policy has the clouds whose identity an organization may use, by its uid. The zero value allows nothing.
type Policy map[string][]string

var clouds = []string{"aws", "gcp", "azure"}

// Parse reads entries of the form CLOUD:ORGANIZATION, with the uid of the organization: names can be given to others.
func Parse(entries []string) (Policy, error) {
	p := Policy{}
	for _, entry := range entries {
		cloud, org, _ := strings.Cut(entry, ":")
		if !slices.Contains(clouds, cloud) || org == "" {
			return nil, fmt.Errorf("ambient-credentials: %q must be aws, gcp or azure and the uid of an organization, as aws:UID", entry)
		}
		p[org] = append(p[org], cloud)
	}
	return p, nil
}

// For returns a checker for the definitions of an organization.
func (p Policy) For(c *regcheck.Checker, orgUID string) *regcheck.Checker {
	allowed := p[orgUID]
	if orgUID == "" || len(allowed) == 0 {
		return c
	}
	own := *c
	own.Ambient = &regcheck.Ambient{Clouds: allowed, ExternalID: ExternalID(orgUID), Getenv: os.Getenv, ReadFile: os.ReadFile}
	return &own
}

// ExternalID returns the external id with which the server assumes roles for an organization. A role of its account requires it in its
// trust policy, so that no other organization can name the role. It is not secret.
func ExternalID(orgUID string) string { return "regwarden-" + orgUID }
