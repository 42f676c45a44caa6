package server

import (
	"cmp"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/ambient"
)

// accountHandlers handles the route of the operator's accounts at clouds.
type accountHandlers struct {
	aws map[string]string // account ids by partition
}

// codeNoAWSAccount is not ResourceNotFound, by which public clients drop a resource.
const codeNoAWSAccount = "AwsAccountNotConfigured"

// getAWSAccount is GET /v1/clouds/aws/account/sts. The external id is that of the organization, so that no organization can
// have the role of another one assumed.
func (h accountHandlers) getAWSAccount(c *call) (response, error) {
	query := readQuery(c.URL.RawQuery)
	partition := cmp.Or(query.text("partition"), "aws")
	if partition != "aws" && partition != "aws-us-gov" {
		query.problems = append(query.problems, fault.Field{Field: "partition", Problem: "must be one of aws, aws-us-gov"})
	}
	if err := fault.InvalidIfAny(query.problems); err != nil {
		return response{}, err
	}
	account := h.aws[partition]
	if account == "" {
		return response{}, &fault.Error{Kind: fault.NotFound, Code: codeNoAWSAccount,
			Message: "This server has no AWS account in the partition " + partition + ". Ask its operator to set aws-account."}
	}
	external := ambient.ExternalID(c.principal.OrgUID)
	return response{http.StatusOK, api.AWSAccount{AccountID: account, ExternalID: external, Partition: partition}}, nil
}
