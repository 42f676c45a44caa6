package clouds

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/regwarden/regwarden/regcheck"
)

// partitions have a region of each, and the domain of its hosts.
var partitions = map[string]string{
	"eu-west-1": "amazonaws.com", "us-gov-west-1": "amazonaws.com", "cn-north-1": "amazonaws.com.cn", "us-iso-east-1": "c2s.ic.gov",
	"us-isob-east-1": "sc2s.sgov.gov", "eu-isoe-west-1": "cloud.adc-e.uk", "us-isof-south-1": "csp.hci.ic.gov",
	"eusc-de-east-1": "amazonaws.eu",
}

// The APIs of a registry are where AWS' own clients find them, in every partition.
func TestPartitions(t *testing.T) {
	w := newWorld(t)
	for region, domain := range partitions {
		api, err := ecr.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), ecr.EndpointParameters{Region: aws.String(region)})
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := sts.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), sts.EndpointParameters{Region: aws.String(region),
			UseGlobalEndpoint: aws.Bool(false)})
		if err != nil {
			t.Fatal(err)
		}
		if tokens.URI.Host != "sts."+region+"."+domain {
			t.Errorf("%s: AWS' client uses %s", region, tokens.URI.Host)
		}
		report := w.check(t, "123456789012.dkr.ecr."+region+"."+domain, awsRole("org-1"))
		if said := stage(report, regcheck.StageCredentials).Detail; !report.Valid ||
			!strings.HasPrefix(said, api.URI.Host+" issued a password for AWS") {
			t.Errorf("%s: %s: %s, want %s", region, report.Code, said+report.Message, api.URI.Host)
		}
	}
}
