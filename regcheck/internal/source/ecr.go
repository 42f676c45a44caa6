package source

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/secret"
)

// AWSKey is what a password for ECR is obtained with (auth.type ecr): an access key, and the role to assume with it, if any.
type AWSKey struct {
	AccessKey    string        `json:"accessKey,omitempty"`
	SecretKey    secret.String `json:"secretKey,omitempty"`
	SessionToken secret.String `json:"sessionToken,omitempty"` // of a temporary access key
	RoleARN      string        `json:"roleArn,omitempty"`
	ExternalID   string        `json:"externalId,omitempty"` // which the trust policy of the role requires
	Ambient      bool          `json:"ambient,omitempty"`    // instead of an access key: the identity of the process
}

// Serves implements Settings.
func (*AWSKey) Serves(host string) bool {
	_, ok := readECRHost(host)
	return ok
}

var roleARN = lazyregexp.New(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,512}$`)

// Source implements Settings.
func (k *AWSKey) Source(registry *url.URL, note Note) Source {
	ecr, ok := readECRHost(registry.Hostname())
	if !ok {
		note("endpoint",
			"must be a registry of ECR, such as 123456789012.dkr.ecr.eu-west-1.amazonaws.com or public.ecr.aws")
	}
	k.readKey(note)
	note("auth.aws.externalId", endpoint.TextProblem(k.ExternalID))
	if k.RoleARN != "" && !roleARN.Get().MatchString(k.RoleARN) {
		note("auth.aws.roleArn", "must be the ARN of a role, such as arn:aws:iam::123456789012:role/pull")
	}
	if k.ExternalID != "" && k.RoleARN == "" {
		note("auth.aws.externalId", "requires {auth.aws.roleArn}")
	}
	return ECR{Registry: ecr, AccessKey: k.AccessKey, Secret: k.SecretKey, Session: k.SessionToken, Role: k.RoleARN,
		External: k.ExternalID, Ambient: k.usesProcess()}
}

// usesProcess reports whether the process signs, as it does for a role without a key: Palette's clients know no other way to say it.
func (k *AWSKey) usesProcess() bool {
	return k.Ambient || k.RoleARN != "" && k.AccessKey == "" && k.SecretKey == "" && k.SessionToken == ""
}

// readKey notes the problems of the access key.
func (k *AWSKey) readKey(note Note) {
	if k.Ambient && (k.AccessKey != "" || k.SecretKey != "" || k.SessionToken != "") {
		note("auth.aws.ambient", "cannot be combined with an access key")
		return
	}
	if !k.usesProcess() {
		required(note, "auth.aws.accessKey", k.AccessKey)
		required(note, "auth.aws.secretKey", k.SecretKey.Reveal())
	}
	note("auth.aws.sessionToken", endpoint.TextProblem(k.SessionToken.Reveal()))
}

// ECR obtains the password of Amazon's registries, which is valid for 12 hours, by GetAuthorizationToken.
type ECR struct {
	Registry  ecrRegistry
	AccessKey string
	Secret    secret.String
	Session   secret.String // of a temporary access key
	Role      string        // the ARN of a role to assume with the key, "" for none
	External  string        // the external id that the trust policy of the role requires, "" for none
	Ambient   bool          // the identity of the process instead of an access key
	identity  awsIdentity   // that of the process, once it is bound
}

// ecrRegistry is what the host name of a registry at Amazon says.
type ecrRegistry struct {
	Public  bool
	Account string
	Region  string
	FIPS    bool
	Suffix  string // of the names of services in the partition, such as amazonaws.com
}

// ecrHost has the forms that AWS documents: with dual stack, with FIPS, and in the partitions of China and of isolated regions.
var ecrHost = lazyregexp.New(`^([0-9]{12})\.dkr[.-]ecr(-fips)?\.([a-z0-9-]{1,32})\.` +
	`(amazonaws\.com|amazonaws\.com\.cn|on\.aws|on\.amazonwebservices\.com\.cn|` +
	`c2s\.ic\.gov|sc2s\.sgov\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov|amazonaws\.eu)$`)

// services has the suffix of the names of services where it differs from that of registries with dual stack.
var services = map[string]string{"on.aws": "amazonaws.com", "on.amazonwebservices.com.cn": "amazonaws.com.cn"}

// readECRHost reads the host name of a registry. ok is false if it is not one of Amazon.
func readECRHost(host string) (r ecrRegistry, ok bool) {
	if host == "public.ecr.aws" || host == "ecr-public.aws.com" {
		return ecrRegistry{Public: true, Region: "us-east-1", Suffix: "amazonaws.com"}, true // the only region with this API
	}
	parts := ecrHost.Get().FindStringSubmatch(host)
	if parts == nil {
		return ecrRegistry{}, false
	}
	r = ecrRegistry{Account: parts[1], FIPS: parts[2] != "", Region: parts[3], Suffix: parts[4]}
	if other, differs := services[r.Suffix]; differs {
		r.Suffix = other
	}
	return r, true
}

// api returns host, name for signatures and operation of GetAuthorizationToken.
func (r ecrRegistry) api() (host, service, operation string) {
	switch {
	case r.Public:
		return "api.ecr-public." + r.Region + "." + r.Suffix, "ecr-public", "SpencerFrontendService.GetAuthorizationToken"
	case r.FIPS:
		return "ecr-fips." + r.Region + "." + r.Suffix, "ecr", "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"
	}
	return "api.ecr." + r.Region + "." + r.Suffix, "ecr", "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"
}

// Depends implements Source.
func (e ECR) Depends() []string {
	all := []string{"ecr", e.Registry.Account, e.Registry.Region, e.Registry.Suffix, strconv.FormatBool(e.Registry.FIPS), e.AccessKey,
		string(e.Secret), string(e.Session), e.Role, e.External}
	if e.identity != nil {
		all = append(all, e.identity.depends()...)
	}
	return all
}

// bind implements binder.
func (e ECR) bind(a *Ambient) Source {
	if !e.Ambient {
		return e
	}
	if r := a.refuse("aws", "auth.aws"); r != nil {
		return r
	}
	if e.Role != "" && a.ExternalID != "" {
		if e.External != "" && e.External != a.ExternalID {
			return refused{&Refusal{Reason: RoleNotAssumed, Field: "auth.aws.externalId",
				Seen: "Another external id than that of the organization was not sent.",
				Hint: message.Of("Set {auth.aws.externalId} to %s, and require it in the trust policy of the role.", a.ExternalID)}}
		}
		e.External = a.ExternalID
	}
	e.identity = a.aws(e.Registry)
	return e
}

// Obtain implements Source.
func (e ECR) Obtain(ctx context.Context, call Call, now time.Time) (Credentials, error) {
	got, err := e.obtain(ctx, call, now)
	if r, ok := errors.AsType[*Refusal](err); ok && e.Ambient && strings.HasPrefix(r.Field, "auth.aws.") && r.Field != "auth.aws.roleArn" {
		r.Field = "auth.aws" // which has no key
	}
	return got, err
}

// accessKey returns the key that signs the request for a password.
func (e ECR) accessKey(ctx context.Context, call Call, now time.Time) (awsKey, error) {
	key := awsKey{e.AccessKey, string(e.Secret), string(e.Session)}
	if e.identity != nil {
		own, err := e.identity.key(ctx, call, now)
		if err != nil {
			return key, err
		}
		key = own
	}
	if e.Role == "" {
		return key, nil
	}
	return key.assume(ctx, call, stsRole{e.Role, e.External, e.Registry.Region, e.Registry.Suffix}, now)
}

func (e ECR) obtain(ctx context.Context, call Call, now time.Time) (Credentials, error) {
	key, err := e.accessKey(ctx, call, now)
	if err != nil {
		return Credentials{}, err
	}
	host, service, operation := e.Registry.api()
	request := post(apiURL(host, "/"), "application/x-amz-json-1.1", []byte("{}"))
	request.Header.Set("X-Amz-Target", operation)
	request, err = key.signed(ctx, request, service, e.Registry.Region, now)
	if err != nil {
		return Credentials{}, err
	}
	a, err := call(ctx, request)
	if err != nil {
		return Credentials{}, err
	}
	if a.Status != http.StatusOK {
		return Credentials{}, key.refuse(host, a, now)
	}
	return e.read(host, a)
}

// ecrToken is an element of a response.
type ecrToken struct {
	Token    string  `json:"authorizationToken"`
	Expires  float64 `json:"expiresAt"` // seconds since 1970
	Endpoint string  `json:"proxyEndpoint"`
}

// read reads a response. ECR sends a list of one element, ECR Public the element.
func (e ECR) read(host string, a *Response) (Credentials, error) {
	var body struct {
		Data json.RawMessage `json:"authorizationData"`
	}
	var list []ecrToken
	var one ecrToken
	if json.Unmarshal(a.Body, &body) != nil {
		return Credentials{}, notAPI(host, a)
	}
	if json.Unmarshal(body.Data, &list) == nil && len(list) > 0 {
		one = list[0]
	} else if json.Unmarshal(body.Data, &one) != nil {
		return Credentials{}, notAPI(host, a)
	}
	pair, err := base64.StdEncoding.DecodeString(one.Token)
	user, password, ok := strings.Cut(string(pair), ":")
	if err != nil || !ok || user == "" || password == "" {
		return Credentials{}, notAPI(host, a)
	}
	c := Credentials{Username: user, Password: secret.String(password), Issuer: host, Account: e.otherAccount(one.Endpoint)}
	if !e.Registry.Public {
		c.Region = e.Registry.Region
	}
	if one.Expires > 0 {
		c.Expires = time.Unix(int64(one.Expires), 0)
	}
	return c, nil
}

// otherAccount returns the account of the key if it is not the registry's. The password is valid there only where a policy of the
// repository allows that account, which later stages find out.
func (e ECR) otherAccount(endpoint string) string {
	issued, ok := readECRHost(strings.TrimPrefix(endpoint, "https://"))
	if !ok || issued.Account == e.Registry.Account {
		return ""
	}
	return issued.Account
}

// Region returns the region of the registry at an endpoint as it is written, "" if it is not one of Amazon.
func (*AWSKey) Region(written string) string {
	base, problem := endpoint.Read(written)
	if problem != "" {
		return ""
	}
	registry, _ := readECRHost(base.Host)
	return registry.Region
}
