package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/secret"
)

// googleMachine is the service account of a machine or pod at Google, by the metadata server.
type googleMachine struct{}

// Depends implements Source.
func (googleMachine) Depends() []string { return []string{"gcp machine"} }

// Obtain implements Source.
func (googleMachine) Obtain(ctx context.Context, call Call, now time.Time) (Credentials, error) {
	a, err := call(ctx, &Request{Method: http.MethodGet, Local: true, Header: http.Header{"Metadata-Flavor": {"Google"}},
		URL: metadataURL("/computeMetadata/v1/instance/service-accounts/default/token", url.Values{"scopes": {googleScope}})})
	if err != nil {
		return Credentials{}, unreachableLocal(err)
	}
	seen := message.Of("%s returned %d (%s).", metadata, a.Status, a.excerpt())
	switch {
	case a.Status == http.StatusOK && a.Header.Get("Metadata-Flavor") != "Google":
		return Credentials{}, notAPI(metadata, a)
	case a.Status == http.StatusNotFound:
		return Credentials{}, &Refusal{Reason: IdentityMissing, Seen: seen, Hint: "Attach a service account to the machine."}
	case a.Status == http.StatusForbidden:
		return Credentials{}, &Refusal{Reason: NotAuthorized, Seen: seen,
			Hint: "Grant the Kubernetes service account roles/iam.workloadIdentityUser on the service account of Google."}
	}
	token, err := readOAuthToken(metadata, a, now)
	if err != nil {
		return Credentials{}, refuseFederation(metadata, a, err, "")
	}
	return googleCredentials(metadata, token), nil
}

func googleCredentials(issuer string, token oauthToken) Credentials {
	return Credentials{Username: "oauth2accesstoken", Password: token.Access, Expires: token.Expires, Issuer: issuer}
}

// googleFile is the file that GOOGLE_APPLICATION_CREDENTIALS names.
type googleFile struct {
	*Ambient
	path string
}

// Depends implements Source.
func (f googleFile) Depends() []string { return []string{"gcp file", f.path} }

// Obtain implements Source.
func (f googleFile) Obtain(ctx context.Context, call Call, now time.Time) (Credentials, error) {
	text, err := f.read(f.path, maxKey)
	if err != nil {
		return Credentials{}, err
	}
	var file federation
	if json.Unmarshal(text, &file) == nil && file.Type == "external_account" {
		return f.federated(ctx, call, file, now)
	}
	account, err := readGoogleAccount(string(text))
	if err != nil {
		return Credentials{}, &Refusal{Reason: IdentityMissing,
			Seen: "The file in GOOGLE_APPLICATION_CREDENTIALS has neither the type service_account nor external_account.",
			Hint: "Name the key file of a service account, or one for workload identity federation."}
	}
	return Google{Account: account}.Obtain(ctx, call, now)
}

// federation is a file for workload identity federation, as gcloud writes it.
type federation struct {
	Type             string `json:"type"`
	Audience         string `json:"audience"`
	SubjectTokenType string `json:"subject_token_type"`
	TokenURL         string `json:"token_url"`
	Impersonation    string `json:"service_account_impersonation_url"`
	Source           struct {
		File   string `json:"file"`
		Format struct {
			Type  string `json:"type"`
			Field string `json:"subject_token_field_name"`
		} `json:"format"`
	} `json:"credential_source"`
}

const (
	googleSTS = "sts.googleapis.com"
	googleIAM = "iamcredentials.googleapis.com"
)

// federated exchanges the token of a cluster (RFC 8693), and with it gets one of a service account if the file names one. The URLs of the
// file are not used except the name of the account: the file could send the token to any server.
func (f googleFile) federated(ctx context.Context, call Call, file federation, now time.Time) (Credentials, error) {
	account, ok := cutAround(file.Impersonation, "https://"+googleIAM+"/v1/projects/-/serviceAccounts/", ":generateAccessToken")
	if file.Source.File == "" || file.TokenURL != "https://"+googleSTS+"/v1/token" || file.Impersonation != "" && !ok ||
		strings.ContainsAny(account, "/?#%") {
		return Credentials{}, &Refusal{Reason: IdentityMissing,
			Seen: "The file in GOOGLE_APPLICATION_CREDENTIALS has no credential_source.file, or other URLs than those of Google.",
			Hint: "Create it with gcloud iam workload-identity-pools create-cred-config and --credential-source-file."}
	}
	subject, err := f.subjectToken(file)
	if err != nil {
		return Credentials{}, err
	}
	request := postForm(apiURL(googleSTS, "/v1/token"), url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "audience": {file.Audience}, "scope": {googleScope},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"}, "subject_token": {subject},
		"subject_token_type": {file.SubjectTokenType}})
	request.Secret = []string{subject}
	a, err := call(ctx, request)
	if err != nil {
		return Credentials{}, err
	}
	token, err := readOAuthToken(googleSTS, a, now)
	if err != nil {
		return Credentials{}, refuseFederation(googleSTS, a, err, subject)
	}
	if account == "" {
		return googleCredentials(googleSTS, token), nil
	}
	return impersonate(ctx, call, account, token.Access)
}

// subjectToken reads the token of the cluster.
func (f googleFile) subjectToken(file federation) (string, error) {
	text, err := f.read(file.Source.File, maxToken)
	if err != nil || file.Source.Format.Type != "json" {
		if err != nil {
			return "", err
		}
		return f.readToken(file.Source.File)
	}
	var members map[string]any
	if json.Unmarshal(bytes.TrimSpace(text), &members) == nil {
		if token, ok := members[file.Source.Format.Field].(string); ok && token != "" {
			return token, nil
		}
	}
	return "", &Refusal{Reason: FileMissing,
		Seen: message.Of("%s has no member %q with a token.", file.Source.File, file.Source.Format.Field)}
}

// refuseFederation explains an error of Google's Security Token Service.
func refuseFederation(host string, a *Response, err error, token string) error {
	e, ok := errors.AsType[*oauthError](err)
	if !ok {
		return err
	}
	r := &Refusal{Reason: TokenRejected, Seen: e.seen(host, a),
		Hint: "Correct issuer, audience and conditions of the provider in the workload identity pool, or the audience of the token."}
	if e.Code == "invalid_target" {
		r.Hint = "Correct audience in the file of GOOGLE_APPLICATION_CREDENTIALS, or enable the workload identity pool and its provider."
	}
	return withClaims(r, token)
}

// impersonate returns a token of a service account.
func impersonate(ctx context.Context, call Call, account string, access secret.String) (Credentials, error) {
	body, err := json.Marshal(map[string]any{"scope": strings.Fields(googleScope), "lifetime": "3600s"})
	if err != nil {
		return Credentials{}, err
	}
	request := post(apiURL(googleIAM, "/v1/projects/-/serviceAccounts/"+account+":generateAccessToken"), "application/json", body)
	request.Header.Set("Authorization", "Bearer "+access.Reveal())
	request.Secret = []string{access.Reveal()}
	a, err := call(ctx, request)
	if err != nil {
		return Credentials{}, err
	}
	var issued struct {
		Token   string    `json:"accessToken"`
		Expires time.Time `json:"expireTime"`
		Error   struct{ Message string }
	}
	refusal := busy(googleIAM, a)
	switch {
	case refusal != nil:
		return Credentials{}, refusal
	case json.Unmarshal(a.Body, &issued) != nil:
	case a.Status == http.StatusOK && issued.Token != "":
		return googleCredentials(googleIAM, oauthToken{secret.String(issued.Token), issued.Expires}), nil
	case issued.Error.Message != "":
		return Credentials{}, refuseImpersonation(a, issued.Error.Message, account)
	}
	return Credentials{}, notAPI(googleIAM, a)
}

// refuseImpersonation explains an error of Google's IAM.
func refuseImpersonation(a *Response, text, account string) *Refusal {
	r := &Refusal{Reason: BadResponse, Seen: message.Of("%s returned %d (%s).", googleIAM, a.Status, a.Show(text))}
	switch a.Status {
	case http.StatusForbidden:
		r.Reason = NotAuthorized
		r.Hint = message.Of("Grant the subject of the token roles/iam.workloadIdentityUser on the service account %s.", account)
	case http.StatusNotFound:
		r.Reason = KeyUnknown
		r.Hint = message.Of("Create the service account %s, or name another one in the file of GOOGLE_APPLICATION_CREDENTIALS.", account)
	}
	return r
}
