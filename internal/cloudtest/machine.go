package cloudtest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The addresses at which machines have the services for the identity of their programs. They exist only as the Host of requests to an
// imitation on loopback.
const (
	Metadata = "169.254.169.254"
	PodAgent = "169.254.170.23"

	AppService = "/msi/token" // of App Service, at an address that a variable has
)

// Machine imitates the metadata services of a machine in each cloud, and the agent of EKS pod identities.
type Machine struct {
	*Clouds
	InstanceRole  string // the ARN of the role in the instance profile, "" for none
	Broken        bool   // the instance profile has a role that EC2 may not assume
	PodRole       string // of the pod, "" for none
	PodToken      string // that the agent accepts
	GoogleAccount string // attached, "" for none
	AzureTenant   string
	AzureIDs      []string // client ids of attached identities
	Disabled      bool     // the metadata service
	sessions      issued
}

func (m *Machine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	switch {
	case m == nil || m.Disabled:
		http.Error(w, "Forbidden", http.StatusForbidden)
	case host == PodAgent:
		m.podIdentity(w, r)
	case strings.HasPrefix(r.URL.Path, "/latest/"):
		m.imds(w, r)
	case strings.HasPrefix(r.URL.Path, "/computeMetadata/"):
		m.google(w, r)
	case r.URL.Path == "/metadata/identity/oauth2/token", r.URL.Path == AppService:
		m.azure(w, r)
	default:
		http.NotFound(w, r)
	}
}

// imds is version 2 of EC2's metadata service, which requires a session.
func (m *Machine) imds(w http.ResponseWriter, r *http.Request) {
	now := m.AWS.Now()
	role := m.InstanceRole[strings.LastIndex(m.InstanceRole, "/")+1:]
	rest, isRole := strings.CutPrefix(r.URL.Path, "/latest/meta-data/iam/security-credentials/")
	switch {
	case r.URL.Path == "/latest/api/token" && r.Method == http.MethodPut:
		seconds, err := strconv.Atoi(r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds"))
		if err != nil || seconds < 1 || seconds > 21600 || r.Header.Get("X-Forwarded-For") != "" {
			http.Error(w, "Bad Request", http.StatusBadRequest)
			return
		}
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", strconv.Itoa(seconds))
		_, _ = w.Write([]byte(m.sessions.add("", now.Add(time.Duration(seconds)*time.Second))))
	case !m.sessions.valid(r.Header.Get("X-Aws-Ec2-Metadata-Token"), now):
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	case isRole && rest == "" && role != "":
		_, _ = w.Write([]byte(role))
	case isRole && rest == role && role != "" && m.Broken:
		respond(w, now, http.StatusOK, map[string]string{"Code": "AssumeRoleUnauthorizedAccess",
			"Message": "EC2 cannot assume the role " + role + ".  Please see documentation."})
	case isRole && rest == role && role != "":
		m.sendKey(w, m.AWS.Roles[m.InstanceRole], map[string]any{"Code": "Success", "Type": "AWS-HMAC"})
	default:
		http.NotFound(w, r)
	}
}

// sendKey sends a key of a role as metadata services do.
func (m *Machine) sendKey(w http.ResponseWriter, role AWSRole, body map[string]any) {
	s := m.AWS.session(role, 6*time.Hour)
	body["AccessKeyId"], body["SecretAccessKey"], body["Token"] = s.AccessKeyID, s.SecretAccessKey, s.SessionToken
	body["Expiration"] = s.Expiration
	respond(w, m.AWS.Now(), http.StatusOK, body)
}

func (m *Machine) podIdentity(w http.ResponseWriter, r *http.Request) {
	role, known := m.AWS.Roles[m.PodRole]
	switch {
	case r.URL.Path != "/v1/credentials":
		http.NotFound(w, r)
	case r.Header.Get("Authorization") != m.PodToken:
		http.Error(w, "Service account token cannot be empty or is invalid", http.StatusBadRequest)
	case !known:
		http.Error(w, "Unauthorized Exception! EKS does not have permissions to assume the associated role.", http.StatusForbidden)
	default:
		m.sendKey(w, role, map[string]any{"AccountId": role.Account})
	}
}

func (m *Machine) google(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Metadata-Flavor", "Google")
	const account = "/computeMetadata/v1/instance/service-accounts/default/"
	switch {
	case r.Header.Get("Metadata-Flavor") != "Google":
		http.Error(w, "Missing required header: Metadata-Flavor", http.StatusForbidden)
	case m.GoogleAccount == "" || !strings.HasPrefix(r.URL.Path, account):
		http.NotFound(w, r)
	case r.URL.Path == account+"token":
		if m.Google.Accounts[m.GoogleAccount].Disabled {
			http.Error(w, "Unable to generate access token; IAM returned 403 Forbidden: Permission "+
				"'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).", http.StatusForbidden)
			return
		}
		respond(w, m.Google.Now(), http.StatusOK, map[string]any{"token_type": "Bearer", "expires_in": 3599,
			"access_token": m.Google.tokens.addFor(m.GoogleAccount, "ya29.", m.Google.Now().Add(time.Hour))})
	case r.URL.Path == account+"email":
		_, _ = w.Write([]byte(m.GoogleAccount))
	default:
		http.NotFound(w, r)
	}
}

// azure sends numbers as texts, as Azure does.
func (m *Machine) azure(w http.ResponseWriter, r *http.Request) {
	now, query := m.Azure.Now(), r.URL.Query()
	fail := func(text string) {
		body := map[string]any{"error": "invalid_request", "error_description": text}
		if r.URL.Path == AppService {
			body = map[string]any{"statusCode": http.StatusBadRequest, "message": text}
		}
		respond(w, now, http.StatusBadRequest, body)
	}
	id := query.Get("client_id")
	if id == "" && len(m.AzureIDs) == 1 {
		id = m.AzureIDs[0]
	}
	client, known := m.Azure.Tenants[m.AzureTenant][id]
	version := "2018-02-01"
	if r.URL.Path == AppService {
		version = "2019-08-01"
	}
	switch {
	case r.URL.Path == AppService && r.Header.Get("X-Identity-Header") != "identity-header":
		fail("The header X-IDENTITY-HEADER is not valid")
	case r.URL.Path != AppService && (r.Header.Get("Metadata") != "true" || r.Header.Get("X-Forwarded-For") != ""):
		fail("Required metadata header not specified")
	case query.Get("api-version") != version || query.Get("resource") == "":
		fail("The api-version or resource is not valid")
	case id == "" && len(m.AzureIDs) > 1:
		fail("Multiple user assigned identities exist, please specify the clientId / resourceId of the identity in the token request")
	case !known && r.URL.Path == AppService:
		fail("Unable to load requested managed identity.")
	case !known:
		fail("Identity not found")
	default:
		respond(w, now, http.StatusOK, map[string]string{"access_token": m.Azure.accessToken(client), "client_id": id,
			"expires_in": "3599", "expires_on": strconv.FormatInt(now.Add(time.Hour).Unix(), 10), "resource": query.Get("resource"),
			"token_type": "Bearer"})
	}
}
