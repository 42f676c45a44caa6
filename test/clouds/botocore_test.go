package clouds

import (
	"encoding/base64"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/needs"
)

// botocoreECR prints the authorization token, or the code of the error. With a role, it is assumed first.
const botocoreECR = `
import os
import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError

def client(service, region, key):
    return botocore.session.get_session().create_client(service, region_name=region, verify=os.environ["CA"],
        aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"],
        aws_session_token=key.get("SessionToken"),
        config=Config(proxies={"https": os.environ["PROXY"]}, retries={"total_max_attempts": 1}))

key = {"AccessKeyId": os.environ["ID"], "SecretAccessKey": os.environ["SECRET"]}
service = os.environ["SERVICE"]
region = "us-east-1" if service == "ecr-public" else "eu-west-1"
try:
    if os.environ["ROLE"]:
        key = client("sts", "eu-west-1", key).assume_role(RoleArn=os.environ["ROLE"], RoleSessionName="test",
            ExternalId=os.environ["EXTERNAL"], DurationSeconds=900)["Credentials"]
    data = client(service, region, key).get_authorization_token()["authorizationData"]
    print((data[0] if isinstance(data, list) else data)["authorizationToken"])
except ClientError as e:
    print(e.response["Error"]["Code"])
`

// botocore, on which the command line of AWS is built, takes the imitations of ECR, ECR Public and STS for AWS'.
func TestBotocoreAtECR(t *testing.T) {
	needs.DebianPackage(t, "python3-botocore", exec.CommandContext(t.Context(), "python3", "-c", "import botocore").Run() == nil)
	w := newWorld(t)
	proxy, ca := proxyTo(t, w.network.to), file(t, w.ca)
	for _, row := range []struct{ service, id, secret, role, external, fails string }{
		{"ecr", "AKIAREADER", "reader-secret-of-aws", "", "", ""},
		{"ecr-public", "AKIAREADER", "reader-secret-of-aws", "", "", ""},
		{"ecr", "AKIANOTHING", "nothing-secret-of-aws", role, "org-1", ""},
		{"ecr", "AKIANOTHING", "nothing-secret-of-aws", role, "org-2", "AccessDenied"},
		{"ecr", "AKIANOTHING", "nothing-secret-of-aws", "", "", "AccessDeniedException"},
		{"ecr-public", "AKIAPRIVATE", "private-secret-of-aws", "", "", "AccessDeniedException"},
		{"ecr", "AKIAUNKNOWN", "x", "", "", "UnrecognizedClientException"},
		{"ecr", "AKIAREADER", "typo", "", "", "InvalidSignatureException"},
		{"ecr", "AKIAREADER", "typo", role, "org-1", "SignatureDoesNotMatch"},
	} {
		cmd := exec.CommandContext(t.Context(), "python3", "-c", botocoreECR)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "AWS_EC2_METADATA_DISABLED=true", "CA=" + ca,
			"PROXY=" + proxy, "SERVICE=" + row.service, "ID=" + row.id, "SECRET=" + row.secret, "ROLE=" + row.role,
			"EXTERNAL=" + row.external}
		out, err := cmd.CombinedOutput()
		printed := strings.TrimSpace(string(out))
		pair, _ := base64.StdEncoding.DecodeString(printed)
		user, password, _ := strings.Cut(string(pair), ":")
		if err != nil || row.fails != "" && printed != row.fails || row.fails == "" && !w.AWS.Accepts(user, password) {
			t.Errorf("%s with %s, role %q: %v, %q, want %q", row.service, row.id, row.role, err, printed, row.fails)
		}
	}
}
