package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/regwarden/regwarden/regcheck/internal/message"
)

// This file has what the APIs of AWS have in common: signatures (Signature Version 4) and errors.

// awsKey is an access key. The zero value signs nothing.
type awsKey struct{ id, secret, session string }

// signed signs a request for a service.
func (k awsKey) signed(ctx context.Context, r *Request, service, region string, now time.Time) (*Request, error) {
	if k.id == "" {
		return r, nil
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	request.Header = r.Header.Clone()
	hash := sha256.Sum256(r.Body)
	key := aws.Credentials{AccessKeyID: k.id, SecretAccessKey: k.secret, SessionToken: k.session}
	if err := signer.NewSigner().SignHTTP(ctx, key, request, hex.EncodeToString(hash[:]), service, region, now); err != nil {
		return nil, err
	}
	signed := *r
	signed.Header = request.Header
	signed.Secret = append(signed.Secret, k.secret, k.session)
	return &signed, nil
}

// awsError is an error of an AWS API.
type awsError struct{ code, text string }

// readAWSError reads an error in JSON (ECR) or XML (STS); its code is empty if the response is neither.
func readAWSError(a *Response) awsError {
	var body struct {
		Type  string `json:"__type"`
		Lower string `json:"message"`
		Upper string `json:"Message"`
	}
	if json.Unmarshal(a.Body, &body) == nil && body.Type != "" {
		_, code, namespaced := strings.Cut(body.Type, "#")
		if !namespaced {
			code = body.Type
		}
		return awsError{a.Show(code), a.Show(body.Lower + body.Upper)}
	}
	var document struct {
		Error struct{ Code, Message string }
	}
	if xml.Unmarshal(a.Body, &document) == nil {
		return awsError{a.Show(document.Error.Code), a.Show(document.Error.Message)}
	}
	return awsError{}
}

// refuse returns the refusal for a response other than 200. key is the member of auth that has the access key.
func (k awsKey) refuse(host string, a *Response, now time.Time) *Refusal {
	e := readAWSError(a)
	if e.code == "ThrottlingException" || e.code == "Throttling" {
		return &Refusal{Reason: Unavailable, Seen: message.Of("%s limits requests: %s.", host, e.code), Retry: true}
	}
	if refusal := busy(host, a); refusal != nil {
		return refusal
	}
	seen := message.Of("%s returned %d (%s: %s).", host, a.Status, e.code, e.text)
	switch e.code {
	case "":
		return notAPI(host, a)
	case "UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId":
		if k.session != "" { // AWS says the same of a session token that does not belong to the key
			return &Refusal{Reason: KeyUnknown, Field: "auth.aws.sessionToken", Seen: seen}
		}
		return &Refusal{Reason: KeyUnknown, Field: "auth.aws.accessKey", Seen: seen}
	case "IDPCommunicationError": // AWS did not reach the issuer of the token
		return &Refusal{Reason: Unavailable, Seen: seen, Retry: true}
	case "InvalidIdentityToken", "IDPRejectedClaim":
		return tokenRejected(seen)
	case "ExpiredTokenException", "ExpiredToken":
		if k.id == "" { // nothing was signed: it is the token of the cluster
			return tokenRejected(seen)
		}
		return &Refusal{Reason: KeyExpired, Field: "auth.aws.sessionToken", Seen: seen}
	case "InvalidSignatureException", "SignatureDoesNotMatch", "RequestExpired", "IncompleteSignature":
		if refusal := skewed(host, a, now); refusal != nil {
			return refusal
		}
		return &Refusal{Reason: SecretWrong, Field: "auth.aws.secretKey", Seen: seen}
	case "AccessDeniedException", "AccessDenied":
		return k.denied(seen, e)
	case "OptInRequired", "RegionDisabledException":
		return &Refusal{Reason: NotAuthorized, Field: "endpoint", Seen: seen,
			Hint: "Enable the region for the account, or correct the region in {endpoint}."}
	}
	return &Refusal{Reason: BadResponse, Seen: seen}
}

func tokenRejected(seen message.Text) *Refusal {
	return &Refusal{Reason: TokenRejected, Seen: seen,
		Hint: "Create the OpenID Connect provider of the cluster in IAM for issuer and audience of the token (sts.amazonaws.com), and " +
			"let the cluster renew the token."}
}

// denied names the action that the identity lacks. AWS writes "User: ARN is not authorized to perform: ACTION on resource: …".
func (awsKey) denied(seen message.Text, e awsError) *Refusal {
	_, after, _ := strings.Cut(e.text, "ot authorized to perform") // STS has no colon for tokens
	action, _, _ := strings.Cut(strings.TrimLeft(after, ": "), " ")
	switch action {
	case "":
		return &Refusal{Reason: NotAuthorized, Field: "auth.aws", Seen: seen}
	case "sts:AssumeRole":
		return &Refusal{Reason: RoleNotAssumed, Field: "auth.aws.roleArn", Seen: seen}
	case "sts:AssumeRoleWithWebIdentity":
		return &Refusal{Reason: RoleNotAssumed, Seen: seen,
			Hint: "Allow the subject and audience of the token in the trust policy of the role in AWS_ROLE_ARN. The role must exist."}
	}
	return &Refusal{Reason: NotAuthorized, Field: "auth.aws", Seen: seen,
		Hint: message.Of("Allow the user or role the action %s by its policy in IAM.", action)}
}

// stsRole is what a role is assumed with.
type stsRole struct{ arn, externalID, region, suffix string }

// maxSTSResponse are the bytes of a response that are read as XML.
const maxSTSResponse = 64 << 10

// assume returns the temporary key of a role (AssumeRole, API version 2011-06-15). 15 minutes is the shortest time that AWS allows.
func (k awsKey) assume(ctx context.Context, call Call, role stsRole, now time.Time) (awsKey, error) {
	form := url.Values{"Action": {"AssumeRole"}, "Version": {"2011-06-15"}, "RoleArn": {role.arn}, "RoleSessionName": {"registry-check"},
		"DurationSeconds": {"900"}}
	if role.externalID != "" {
		form.Set("ExternalId", role.externalID)
	}
	return k.sts(ctx, call, role, form, now)
}

// sts returns the temporary key that an operation of STS issues.
func (k awsKey) sts(ctx context.Context, call Call, role stsRole, form url.Values, now time.Time) (awsKey, error) {
	host := "sts." + role.region + "." + role.suffix
	request, err := k.signed(ctx, postForm(apiURL(host, "/"), form), "sts", role.region, now)
	if err != nil {
		return awsKey{}, err
	}
	if token := form.Get("WebIdentityToken"); token != "" {
		request.Secret = append(request.Secret, token)
	}
	a, err := call(ctx, request)
	if err != nil {
		return awsKey{}, err
	}
	if a.Status != http.StatusOK {
		return awsKey{}, k.refuse(host, a, now)
	}
	var read struct {
		ByRole  stsCredentials `xml:"AssumeRoleResult>Credentials"`
		ByToken stsCredentials `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if len(a.Body) > maxSTSResponse || xml.Unmarshal(a.Body, &read) != nil {
		return awsKey{}, notAPI(host, a)
	}
	issued := cmp.Or(read.ByRole, read.ByToken)
	if issued.ID == "" || issued.Secret == "" {
		return awsKey{}, notAPI(host, a)
	}
	return awsKey{issued.ID, issued.Secret, issued.Session}, nil
}

type stsCredentials struct {
	ID      string `xml:"AccessKeyId"`
	Secret  string `xml:"SecretAccessKey"`
	Session string `xml:"SessionToken"`
}
