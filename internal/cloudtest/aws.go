package cloudtest

import (
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// AWS imitates ECR, ECR Public and STS in every region.
type AWS struct {
	Now   func() time.Time
	Keys  map[string]AWSKey  // by access key id
	Roles map[string]AWSRole // by ARN
	Down  func() bool        // nil: never

	Life    time.Duration       // of passwords; 12 hours by default
	Tokens  map[string]Trust    // clusters whose tokens are accepted, by their issuer
	Regions map[string]string   // where a repository is; everywhere by default
	Shares  map[string][]string // other accounts that the policy of a repository allows to pull, by its name

	mu        sync.Mutex
	temporary map[string]AWSKey
	passwords issued
}

// AWSKey is an access key and what its user or role may do.
type AWSKey struct {
	Secret  string
	Session string // of a temporary key
	Account string
	Actions []string // such as ecr:GetAuthorizationToken, on every resource
	Policy  Policy   // what it may do on single resources
	Until   time.Time
}

// AWSRole is a role: who may assume it, and what it may do then.
type AWSRole struct {
	Trusts   []string // access key ids, and subjects of tokens
	External string
	Account  string
	Actions  []string
}

// Accepts reports whether a registry accepts a username and password.
func (a *AWS) Accepts(user, password string) bool {
	return user == "AWS" && a.passwords.valid(password, a.Now())
}

// Revoke makes the passwords that were issued invalid.
func (a *AWS) Revoke() { a.passwords.revoke() }

// Issued returns how many passwords were issued.
func (a *AWS) Issued() int { return a.passwords.number() }

func (a *AWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.Down != nil && a.Down() {
		http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	form, _ := url.ParseQuery(string(body))
	target, isSTS := r.Header.Get("X-Amz-Target"), strings.HasPrefix(r.Host, "sts.")
	call := &awsCall{aws: a, w: w, r: r, body: body, xml: isSTS}
	switch {
	case r.Method != http.MethodPost:
		call.fail(http.StatusMethodNotAllowed, "MethodNotAllowed", "Use POST.")
	case isSTS && form.Get("Action") == "AssumeRole":
		call.assumeRole(form)
	case isSTS && form.Get("Action") == "AssumeRoleWithWebIdentity":
		call.assumeRoleWithWebIdentity(form)
	case strings.HasSuffix(target, ".GetAuthorizationToken"):
		call.authorizationToken(strings.HasPrefix(target, "SpencerFrontendService."))
	default:
		call.fail(http.StatusBadRequest, "UnknownOperationException", "")
	}
}

type awsCall struct {
	aws  *AWS
	w    http.ResponseWriter
	r    *http.Request
	body []byte
	xml  bool
}

// fail sends an error as its API does: ECR JSON with a type, STS XML.
func (c *awsCall) fail(status int, code, message string) {
	if !c.xml {
		respond(c.w, c.aws.Now(), status, map[string]string{"__type": code, "message": message})
		return
	}
	type failure struct {
		Type, Code, Message string
	}
	c.sendXML(status, struct {
		XMLName xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ ErrorResponse"`
		Error   failure
	}{Error: failure{"Sender", code, message}})
}

func (c *awsCall) sendXML(status int, body any) {
	c.w.Header().Set("Date", c.aws.Now().UTC().Format(http.TimeFormat))
	c.w.Header().Set("Content-Type", "text/xml")
	c.w.WriteHeader(status)
	_ = xml.NewEncoder(c.w).Encode(body)
}

// caller verifies the signature, as AWS does, and returns the key. ok is false if an error was sent.
func (c *awsCall) caller(service string) (id string, key AWSKey, ok bool) {
	unknown, wrong, expired := "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException"
	if c.xml {
		unknown, wrong, expired = "InvalidClientTokenId", "SignatureDoesNotMatch", "ExpiredToken"
	}
	s, signed := readSignature(c.r)
	if !signed {
		c.fail(http.StatusBadRequest, "MissingAuthenticationTokenException", "Missing Authentication Token")
		return "", key, false
	}
	key, known := c.aws.key(s.key)
	now := c.aws.Now()
	switch {
	case !known || c.r.Header.Get("X-Amz-Security-Token") != key.Session:
		c.fail(http.StatusForbidden, unknown, "The security token included in the request is invalid.")
	case s.time.Sub(now).Abs() > 5*time.Minute:
		c.fail(http.StatusForbidden, wrong, "Signature expired: "+s.time.Format("20060102T150405Z")+" is now earlier than "+
			now.UTC().Add(-5*time.Minute).Format("20060102T150405Z")+" ("+now.UTC().Format("20060102T150405Z")+" - 5 min.)")
	case s.service != service || s.region != c.region() || !s.matches(c.r, c.body, key.Secret):
		c.fail(http.StatusForbidden, wrong, "The request signature we calculated does not match the signature you provided. "+
			"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
	case !key.Until.IsZero() && !now.Before(key.Until):
		c.fail(http.StatusForbidden, expired, "The security token included in the request is expired")
	default:
		return s.key, key, true
	}
	return "", key, false
}

// region is the region in the host's name.
func (c *awsCall) region() string {
	parts := strings.Split(c.r.Host, ".")
	for i, part := range parts {
		if (part == "ecr" || part == "ecr-public" || part == "sts" || part == "ecr-fips") && i+1 < len(parts) {
			return parts[i+1]
		}
	}
	return ""
}

func (a *AWS) key(id string) (AWSKey, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if key, ok := a.temporary[id]; ok {
		return key, true
	}
	key, ok := a.Keys[id]
	return key, ok
}

func (c *awsCall) authorizationToken(public bool) {
	service, actions := "ecr", []string{"ecr:GetAuthorizationToken"}
	if public {
		service, actions = "ecr-public", []string{"ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"}
	}
	id, key, ok := c.caller(service)
	if !ok {
		return
	}
	for _, action := range actions {
		if !key.allows(action, "*") {
			c.fail(http.StatusBadRequest, "AccessDeniedException", key.notAuthorized(id, action, "*", "identity"))
			return
		}
	}
	until := c.aws.Now().Add(cmp.Or(c.aws.Life, 12*time.Hour))
	if !key.Until.IsZero() && key.Until.Before(until) {
		until = key.Until // a password does not outlive the temporary key
	}
	token := base64.StdEncoding.EncodeToString([]byte("AWS:" + c.aws.passwords.addFor(id, "", until)))
	data := map[string]any{"authorizationToken": token, "expiresAt": float64(until.UnixMilli()) / 1000}
	if public {
		respond(c.w, c.aws.Now(), http.StatusOK, map[string]any{"authorizationData": data})
		return
	}
	data["proxyEndpoint"] = "https://" + key.Account + ".dkr.ecr." + c.region() + ".amazonaws.com"
	respond(c.w, c.aws.Now(), http.StatusOK, map[string]any{"authorizationData": []any{data}})
}

func (c *awsCall) assumeRole(form url.Values) {
	id, key, ok := c.caller("sts")
	if !ok {
		return
	}
	role, known := c.aws.Roles[form.Get("RoleArn")]
	if !known || !slices.Contains(role.Trusts, id) || role.External != form.Get("ExternalId") {
		c.fail(http.StatusForbidden, "AccessDenied", "User: arn:aws:iam::"+key.Account+":user/"+id+
			" is not authorized to perform: sts:AssumeRole on resource: "+form.Get("RoleArn"))
		return
	}
	seconds, err := strconv.Atoi(form.Get("DurationSeconds"))
	if err != nil || seconds < 900 || form.Get("RoleSessionName") == "" {
		c.fail(http.StatusBadRequest, "ValidationError", "1 validation error detected")
		return
	}
	c.sendXML(http.StatusOK, struct {
		XMLName xml.Name       `xml:"https://sts.amazonaws.com/doc/2011-06-15/ AssumeRoleResponse"`
		Result  stsCredentials `xml:"AssumeRoleResult>Credentials"`
	}{Result: c.aws.session(role, time.Duration(seconds)*time.Second)})
}

type stsCredentials struct {
	AccessKeyID     string `xml:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      string
}

// session returns a temporary key of a role.
func (a *AWS) session(role AWSRole, life time.Duration) stsCredentials {
	assumed := AWSKey{Account: role.Account, Actions: role.Actions, Until: a.Now().Add(life)}
	id := a.assumed(&assumed)
	return stsCredentials{id, assumed.Secret, assumed.Session, assumed.Until.UTC().Format(time.RFC3339)}
}

// assumeRoleWithWebIdentity is not signed: the token of a cluster proves who the caller is.
func (c *awsCall) assumeRoleWithWebIdentity(form url.Values) {
	role, known := c.aws.Roles[form.Get("RoleArn")]
	subject, problem := verify(form.Get("WebIdentityToken"), c.aws.Tokens, c.aws.Now())
	switch {
	case problem == wrongIssuer || problem == wrongSignature:
		c.fail(http.StatusBadRequest, "InvalidIdentityToken", "No OpenIDConnect provider found in your account for the issuer")
	case problem == wrongAudience:
		c.fail(http.StatusBadRequest, "InvalidIdentityToken", "Incorrect token audience")
	case problem == expired:
		c.fail(http.StatusBadRequest, "ExpiredTokenException", "Token expired: current date/time must be before the expiration date/time")
	case !known || !slices.Contains(role.Trusts, subject):
		c.fail(http.StatusForbidden, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")
	case form.Get("RoleSessionName") == "":
		c.fail(http.StatusBadRequest, "ValidationError", "1 validation error detected")
	default:
		c.sendXML(http.StatusOK, struct {
			XMLName xml.Name       `xml:"https://sts.amazonaws.com/doc/2011-06-15/ AssumeRoleWithWebIdentityResponse"`
			Result  stsCredentials `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
		}{Result: c.aws.session(role, time.Hour)})
	}
}

// assumed adds a temporary key.
func (a *AWS) assumed(key *AWSKey) string {
	var random issued
	key.Secret, key.Session = random.add("", key.Until), random.add("session/", key.Until)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.temporary == nil {
		a.temporary = map[string]AWSKey{}
	}
	id := "ASIA" + strconv.Itoa(1000+len(a.temporary))
	a.temporary[id] = *key
	return id
}
