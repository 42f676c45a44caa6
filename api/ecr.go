package api

import "github.com/regwarden/regwarden/secret"

// Types of ECRCredentials.
const (
	CredentialTypeSecret = "secret" // an access key and its secret
	CredentialTypeSTS    = "sts"    // a role, which the operator of the server assumes
)

// ECRRegistryRequest is the body that stores or replaces a registry of Amazon ECR.
type ECRRegistryRequest struct {
	Metadata OCIRegistryName `json:"metadata"`
	Spec     ECRRegistrySpec `json:"spec"`
}

// ECRRegistrySpec describes a registry of Amazon ECR in the words of public clients: an OCI registry with auth.type ecr, or with noAuth if
// it is not private and has no credentials. It is also the body of PathECRValidate. In responses secrets are masked, and TLS is nil if it
// changes nothing: public clients show every other value as a difference.
type ECRRegistrySpec struct {
	Endpoint                string          `json:"endpoint"`
	IsPrivate               *bool           `json:"isPrivate"`
	ProviderType            string          `json:"providerType"`
	BaseContentPath         string          `json:"baseContentPath,omitempty"`
	DefaultRegion           string          `json:"defaultRegion,omitempty"` // in responses, from the endpoint
	IsSyncSupported         bool            `json:"isSyncSupported"`
	ContainsSpectroManifest bool            `json:"containsSpectroManifest"`
	Scope                   string          `json:"scope,omitempty"`
	RegistryUID             string          `json:"registryUid,omitempty"` // of the stored registry whose secrets are used
	Credentials             *ECRCredentials `json:"credentials"`
	TLS                     *OCIRegistryTLS `json:"tls,omitempty"`
}

// ECRCredentials are what a password for ECR is obtained with.
type ECRCredentials struct {
	CredentialType string        `json:"credentialType"` // empty means secret
	AccessKey      string        `json:"accessKey,omitempty"`
	SecretKey      secret.String `json:"secretKey,omitempty"`
	STS            *ECRRole      `json:"sts,omitempty"`
}

// ECRRole is a role to assume.
type ECRRole struct {
	ARN        string `json:"arn"`
	ExternalID string `json:"externalId"`
}

// ECRRegistry is the response of PathOCIRegistryECR.
type ECRRegistry struct {
	Metadata OCIRegistryMetadata `json:"metadata"`
	Spec     ECRRegistrySpec     `json:"spec"`
	Status   OCIRegistryStatus   `json:"status"`
}

// AWSAccount is the response of PathAWSAccount: whom the trust policy of a role must allow, and with which external id.
type AWSAccount struct {
	AccountID  string `json:"accountId"`
	ExternalID string `json:"externalId"`
	Partition  string `json:"partition"`
}
