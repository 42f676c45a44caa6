package registries

import (
	"maps"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// What credentials are obtained with is stored as settings, which are shown, and up to two secrets in the place of password and token.
// Of a chart repository, the settings have how a password is used.

// encryptedPair are the secrets of a type, nil for those that it does not have.
type encryptedPair struct{ first, second *secret.String }

// settingsOf returns what a stores for its type. The secrets are those of a itself.
func settingsOf(a *regcheck.Auth) (map[string]string, encryptedPair) {
	settings, encrypted := map[string]string{"passCredentials": flagged(a.PassCredentials)}, encryptedPair{&a.Password, &a.Token}
	switch kind := a.Kind(); {
	case kind == regcheck.ECR && a.AWS != nil:
		settings = map[string]string{"accessKey": a.AWS.AccessKey, "roleArn": a.AWS.RoleARN, "externalId": a.AWS.ExternalID,
			"ambient": flagged(a.AWS.Ambient)}
		encrypted = encryptedPair{&a.AWS.SecretKey, &a.AWS.SessionToken}
	case kind == regcheck.GCP && a.GCP != nil:
		settings = map[string]string{"ambient": flagged(a.GCP.Ambient)}
		encrypted = encryptedPair{first: &a.GCP.ServiceAccount}
	case kind == regcheck.Azure && a.Azure != nil:
		settings = map[string]string{"tenantId": a.Azure.TenantID, "clientId": a.Azure.ClientID, "ambient": flagged(a.Azure.Ambient)}
		encrypted = encryptedPair{first: &a.Azure.ClientSecret}
	case kind == regcheck.GitHub && a.GitHub != nil:
		settings = map[string]string{"appId": a.GitHub.AppID, "installationId": a.GitHub.InstallationID}
		encrypted = encryptedPair{first: &a.GitHub.PrivateKey}
	}
	maps.DeleteFunc(settings, func(_, value string) bool { return value == "" })
	return settings, encrypted
}

// restore sets the members of a type from what is stored.
func restore(a *regcheck.Auth, settings map[string]string, first, second secret.String) {
	switch a.Type {
	case regcheck.ECR:
		a.AWS = &regcheck.AWSKey{AccessKey: settings["accessKey"], RoleARN: settings["roleArn"], ExternalID: settings["externalId"],
			Ambient: settings["ambient"] != "", SecretKey: first, SessionToken: second}
	case regcheck.GCP:
		a.GCP = &regcheck.GCPKey{ServiceAccount: first, Ambient: settings["ambient"] != ""}
	case regcheck.Azure:
		a.Azure = &regcheck.AzureClient{TenantID: settings["tenantId"], ClientID: settings["clientId"], ClientSecret: first,
			Ambient: settings["ambient"] != ""}
	case regcheck.GitHub:
		a.GitHub = &regcheck.GitHubApp{AppID: settings["appId"], InstallationID: settings["installationId"], PrivateKey: first}
	default:
		a.Password, a.Token, a.PassCredentials = first, second, settings["passCredentials"] != ""
	}
}

// flagged returns how a setting is stored that is true or false.
func flagged(is bool) string {
	if is {
		return "true"
	}
	return ""
}

// valueOf returns a secret, "" for one that its type does not have.
func valueOf(s *secret.String) secret.String {
	if s == nil {
		return ""
	}
	return *s
}
