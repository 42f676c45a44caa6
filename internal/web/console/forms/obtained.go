package forms

import (
	"strings"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// types returns the classes of a field that belongs to some types of authentication. Styles show those of the chosen one.
func types(of ...regcheck.AuthType) string {
	classes := make([]string, len(of))
	for i, one := range of {
		classes[i] = "of-" + string(one)
	}
	return strings.Join(classes, " ")
}

// typeOf has the type of each member of auth with what credentials are obtained with.
var typeOf = map[string]regcheck.AuthType{"aws": regcheck.ECR, "gcp": regcheck.GCP, "azure": regcheck.Azure, "github": regcheck.GitHub}

// obtainedWith returns the fields of what credentials are obtained with.
func obtainedWith(a regcheck.Auth) []Field {
	aws, gcp, azure, github := orZero(a.AWS), orZero(a.GCP), orZero(a.Azure), orZero(a.GitHub)
	fields := []Field{
		{Name: "aws.accessKey", Label: "Access key", Value: aws.AccessKey, Hint: "Its id, such as AKIA…"},
		{Name: "aws.secretKey", Label: "Secret key", Type: "password", Hint: unchanged(aws.SecretKey)},
		{Name: "aws.sessionToken", Label: "Session token", Type: "password",
			Hint: "Only of a temporary access key. The stored one stays with the stored secret key."},
		{Name: "aws.roleArn", Label: "Role", Value: aws.RoleARN, Hint: "ARN of a role to assume with the key, if any"},
		{Name: "aws.externalId", Label: "External ID", Value: aws.ExternalID,
			Hint: "If the trust policy of the role requires one"},
		{Name: "gcp.serviceAccount", Label: "Service account key", Type: "textarea", Secret: true, File: true,
			Hint: also("The key file, which is JSON.", gcp.ServiceAccount)},
		{Name: "azure.tenantId", Label: "Tenant ID", Value: azure.TenantID},
		{Name: "azure.clientId", Label: "Client ID", Value: azure.ClientID, Hint: "Application ID in Entra ID"},
		{Name: "azure.clientSecret", Label: "Client secret", Type: "password",
			Hint: also("The value of the secret, not its ID.", azure.ClientSecret)},
		{Name: "github.appId", Label: "App ID", Value: github.AppID, Hint: "Or the client ID of the app"},
		{Name: "github.installationId", Label: "Installation ID", Value: github.InstallationID,
			Hint: "The number at the end of the address of the installation's page"},
		{Name: "github.privateKey", Label: "Private key", Type: "textarea", Secret: true, File: true,
			Hint: also("PEM.", github.PrivateKey)},
	}
	for i, f := range fields {
		member, _, _ := strings.Cut(f.Name, ".")
		fields[i].Path, fields[i].Types = "auth."+f.Name, types(typeOf[member])
	}
	return fields
}

// also returns a hint that continues with what an empty field means.
func also(hint string, stored secret.String) string {
	return strings.TrimSpace(hint + " " + unchanged(stored))
}

func orZero[T any](v *T) (zero T) {
	if v != nil {
		return *v
	}
	return zero
}

// readObtained reads what the chosen type obtains credentials with.
func readObtained(sent Values, a *regcheck.Auth) {
	value := sent.PostFormValue
	hidden := func(name string) secret.String { return secret.String(textarea(sent, name)) }
	switch a.Type {
	case regcheck.ECR:
		a.AWS = &regcheck.AWSKey{AccessKey: value("aws.accessKey"), SecretKey: hidden("aws.secretKey"),
			SessionToken: hidden("aws.sessionToken"), RoleARN: value("aws.roleArn"), ExternalID: value("aws.externalId")}
	case regcheck.GCP:
		a.GCP = &regcheck.GCPKey{ServiceAccount: hidden("gcp.serviceAccount")}
	case regcheck.Azure:
		a.Azure = &regcheck.AzureClient{TenantID: value("azure.tenantId"), ClientID: value("azure.clientId"),
			ClientSecret: hidden("azure.clientSecret")}
	case regcheck.GitHub:
		a.GitHub = &regcheck.GitHubApp{AppID: value("github.appId"), InstallationID: value("github.installationId"),
			PrivateKey: hidden("github.privateKey")}
	default: // credentials that are given
	}
}

// Identity returns the fields, with values, of the identity with which a definition obtains credentials.
func Identity(a *regcheck.Auth) (shown []Field) {
	for _, f := range obtainedWith(orZero(a)) {
		if f.Value != "" {
			shown = append(shown, f)
		}
	}
	return shown
}
