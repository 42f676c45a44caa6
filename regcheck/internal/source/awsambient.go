package source

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/message"
)

// This file has how the process gets an access key of AWS, in the order of the SDKs: variables, web identity (IRSA), the agents of EKS and
// ECS, the instance profile.

// awsIdentity is one of these ways.
type awsIdentity interface {
	key(ctx context.Context, call Call, now time.Time) (awsKey, error)
	depends() []string
}

// aws returns the identity of the process.
func (a *Ambient) aws(r ecrRegistry) awsIdentity {
	relative, full := a.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), a.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if relative != "" {
		full = "http://169.254.170.2" + relative // ECS
	}
	switch file, role := a.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), a.Getenv("AWS_ROLE_ARN"); {
	case a.Getenv("AWS_ACCESS_KEY_ID") != "":
		return variablesKey{awsKey{a.Getenv("AWS_ACCESS_KEY_ID"), a.Getenv("AWS_SECRET_ACCESS_KEY"), a.Getenv("AWS_SESSION_TOKEN")}}
	case file != "":
		return webIdentity{a, file, stsRole{arn: role, region: r.Region, suffix: r.Suffix}}
	case full != "":
		return containerAgent{a, full}
	}
	return instanceProfile{a.Getenv("AWS_EC2_METADATA_DISABLED") == "true"}
}

// variablesKey is the key that variables have.
type variablesKey struct{ awsKey }

func (k variablesKey) key(context.Context, Call, time.Time) (awsKey, error) {
	for _, v := range []struct{ name, value string }{{"AWS_ACCESS_KEY_ID", k.id}, {"AWS_SECRET_ACCESS_KEY", k.secret},
		{"AWS_SESSION_TOKEN", k.session}} {
		problem := endpoint.TextProblem(v.value)
		if v.value == "" && v.name == "AWS_SECRET_ACCESS_KEY" {
			problem = "must be set, as AWS_ACCESS_KEY_ID is"
		}
		if problem != "" {
			return awsKey{}, &Refusal{Reason: IdentityMissing, Seen: message.Of("%s %s.", v.name, problem),
				Hint: message.Of("Correct %s in the environment of {program}.", v.name)}
		}
	}
	return k.awsKey, nil
}

func (k variablesKey) depends() []string { return []string{"key", k.id, k.secret, k.session} }

// webIdentity is a token that the cluster renews, for which STS issues a key of a role (AssumeRoleWithWebIdentity).
type webIdentity struct {
	*Ambient
	file string
	role stsRole
}

func (w webIdentity) depends() []string { return []string{"web identity", w.file, w.role.arn} }

func (w webIdentity) key(ctx context.Context, call Call, now time.Time) (awsKey, error) {
	if !roleARN.Get().MatchString(w.role.arn) {
		return awsKey{}, &Refusal{Reason: IdentityMissing,
			Seen: "AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not the ARN of a role.",
			Hint: "Set AWS_ROLE_ARN to the role that trusts the token."}
	}
	token, err := w.readToken(w.file)
	if err != nil {
		return awsKey{}, err
	}
	form := url.Values{"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {w.role.arn},
		"RoleSessionName": {"registry-check"}, "DurationSeconds": {"3600"}, "WebIdentityToken": {token}}
	key, err := awsKey{}.sts(ctx, call, w.role, form, now)
	return key, withClaims(err, token)
}

// containerAgent is the agent of EKS pod identities, or that of ECS.
type containerAgent struct {
	*Ambient
	url string
}

func (c containerAgent) depends() []string { return []string{"container", c.url} }

// agents are the addresses of the agents, on plain HTTP.
var agents = map[string]bool{"169.254.170.2": true, "169.254.170.23": true, "fd00:ec2::23": true}

func (c containerAgent) key(ctx context.Context, call Call, _ time.Time) (awsKey, error) {
	target, err := url.Parse(c.url)
	if err != nil || target.Scheme != "http" || !agents[target.Hostname()] {
		return awsKey{}, &Refusal{Reason: IdentityMissing,
			Seen: "AWS_CONTAINER_CREDENTIALS_FULL_URI is not the address of an agent of EKS or ECS.",
			Hint: "Set it to http://169.254.170.23/v1/credentials, or remove it."}
	}
	request := &Request{Method: http.MethodGet, URL: target, Header: http.Header{}, Local: true}
	token := c.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := c.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		if token, err = c.readToken(file); err != nil {
			return awsKey{}, err
		}
	}
	if token != "" {
		request.Header.Set("Authorization", token)
		request.Secret = []string{token}
	}
	a, err := call(ctx, request)
	if err != nil {
		return awsKey{}, unreachableLocal(err)
	}
	if a.Status >= 400 && a.Status < 500 && a.Status != http.StatusTooManyRequests {
		return awsKey{}, &Refusal{Reason: NotAuthorized, Seen: message.Of("%s returned %d (%s).", target.Host, a.Status, a.excerpt()),
			Hint: "Associate the service account of the pod with a role (EKS pod identity association), whose trust policy allows " +
				"pods.eks.amazonaws.com sts:AssumeRole and sts:TagSession."}
	}
	return readLocalKey(target.Host, a)
}

// instanceProfile is the role of an EC2 instance (IMDSv2).
type instanceProfile struct{ disabled bool }

func (instanceProfile) depends() []string { return []string{"instance"} }

// metadata is where AWS, Google and Azure have their metadata services.
var metadata = netip.AddrFrom4([4]byte{169, 254, 169, 254}).String()

func metadataURL(path string, query url.Values) *url.URL {
	return &url.URL{Scheme: "http", Host: metadata, Path: path, RawQuery: query.Encode()}
}

func (p instanceProfile) key(ctx context.Context, call Call, _ time.Time) (awsKey, error) {
	if p.disabled {
		return awsKey{}, &Refusal{Reason: IdentityMissing,
			Seen: "No variable has an identity at AWS, and AWS_EC2_METADATA_DISABLED is set."}
	}
	token, err := p.get(ctx, call, &Request{Method: http.MethodPut, URL: metadataURL("/latest/api/token", nil),
		Header: http.Header{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": {"60"}}})
	if err != nil {
		return awsKey{}, err
	}
	const path = "/latest/meta-data/iam/security-credentials/"
	with := func(path string) *Request {
		return &Request{Method: http.MethodGet, URL: metadataURL(path, nil), Secret: []string{string(token.Body)},
			Header: http.Header{"X-Aws-Ec2-Metadata-Token": {string(token.Body)}}}
	}
	role, err := p.get(ctx, call, with(path))
	if err != nil {
		return awsKey{}, err
	}
	a, err := p.get(ctx, call, with(path+string(role.Body)))
	if err != nil {
		return awsKey{}, err
	}
	return readLocalKey(metadata, a)
}

func (instanceProfile) get(ctx context.Context, call Call, request *Request) (*Response, error) {
	request.Local = true
	a, err := call(ctx, request)
	if err != nil {
		return nil, unreachableLocal(err)
	}
	if refusal := busy(metadata, a); refusal != nil {
		return nil, refusal
	}
	if a.Status != http.StatusOK || len(a.Body) == 0 {
		return nil, &Refusal{Reason: IdentityMissing, Seen: message.Of("%s returned %d for %s.", metadata, a.Status, request.URL.Path),
			Hint: "Attach an instance profile with a role to the instance, and leave its metadata service (IMDSv2) enabled."}
	}
	return a, nil
}

// readLocalKey reads a key as agents and the metadata service send it.
func readLocalKey(host string, a *Response) (awsKey, error) {
	if refusal := busy(host, a); refusal != nil {
		return awsKey{}, refusal
	}
	var body struct {
		Code, Message                       string
		AccessKeyID, SecretAccessKey, Token string
	}
	if json.Unmarshal(a.Body, &body) != nil {
		return awsKey{}, notAPI(host, a)
	}
	if body.Code != "" && body.Code != "Success" {
		return awsKey{}, &Refusal{Reason: NotAuthorized,
			Seen: message.Of("%s returned %s (%s).", host, a.Show(body.Code), a.Show(body.Message)),
			Hint: "Allow ec2.amazonaws.com sts:AssumeRole in the trust policy of the role in the instance profile."}
	}
	if body.AccessKeyID == "" || body.SecretAccessKey == "" {
		return awsKey{}, notAPI(host, a)
	}
	return awsKey{body.AccessKeyID, body.SecretAccessKey, body.Token}, nil
}
