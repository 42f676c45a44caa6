package command

import (
	"cmp"
	"errors"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Secrets with which credentials are obtained, as those of registries not in arguments.
const (
	EnvAWSSecretKey      = EnvPrefix + "REGISTRY_AWS_SECRET_KEY"
	EnvAWSSessionToken   = EnvPrefix + "REGISTRY_AWS_SESSION_TOKEN"
	EnvAzureClientSecret = EnvPrefix + "REGISTRY_AZURE_CLIENT_SECRET"
)

// SectionKey is the annotation of a flag with the heading of its section in help. CloudSection is that of cloudFlags.
const (
	SectionKey   = "section"
	CloudSection = "Credentials that a cloud issues"
)

// cloudFlags set what the credentials of a registry are obtained with.
type cloudFlags struct {
	accessKey, role, externalID       string // AWS
	serviceAccount                    string // Google: a file
	tenant, client                    string // Azure
	app, installation, privateKey     string // GitHub; the last one is a file
	secretKeyStdin, clientSecretStdin bool
	awsAmbient                        bool
}

// texts returns the flags with a value, by their names.
func (f *cloudFlags) texts() []cloudText {
	return []cloudText{
		{"aws-access-key", regcheck.ECR, &f.accessKey, "id of the access key for ECR; its secret is in " + EnvAWSSecretKey +
			", a session token in " + EnvAWSSessionToken},
		{"aws-role", regcheck.ECR, &f.role, "ARN of the role to assume"},
		{"aws-external-id", regcheck.ECR, &f.externalID, "external id that the trust policy of the role requires"},
		{"gcp-service-account", regcheck.GCP, &f.serviceAccount, "file of the service account's key (JSON)"},
		{"azure-tenant", regcheck.Azure, &f.tenant, "id of the tenant of Entra ID"},
		{"azure-client", regcheck.Azure, &f.client, "id of the application; its secret is in " + EnvAzureClientSecret},
		{"github-app", regcheck.GitHub, &f.app, "id of the GitHub App"},
		{"github-installation", regcheck.GitHub, &f.installation, "id of its installation in the organization"},
		{"github-private-key", regcheck.GitHub, &f.privateKey, "file of the app's private key (PEM)"},
	}
}

type cloudText struct {
	flag  string
	kind  regcheck.AuthType
	value *string
	usage string
}

func (f *cloudFlags) addTo(flags *pflag.FlagSet) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	for _, text := range f.texts() {
		set.StringVar(text.value, text.flag, "", text.usage)
		switch text.flag {
		case "aws-access-key":
			set.BoolVar(&f.secretKeyStdin, "aws-secret-key-stdin", false, "read the secret of the access key from standard input")
			set.BoolVar(&f.awsAmbient, "aws-ambient", false, "use the server's identity at AWS in place of a key, if it is allowed")
		case "azure-client":
			set.BoolVar(&f.clientSecretStdin, "azure-client-secret-stdin", false, "read the application's secret from standard input")
		}
	}
	set.VisitAll(func(flag *pflag.Flag) {
		flag.Annotations = map[string][]string{SectionKey: {CloudSection}}
		flags.AddFlag(flag)
	})
}

// kind returns the type of authentication of the flags that were given, "" without any.
func (f *cloudFlags) kind() (kind regcheck.AuthType, err error) {
	given := map[regcheck.AuthType]bool{}
	for _, text := range f.texts() {
		given[text.kind] = given[text.kind] || *text.value != ""
	}
	given[regcheck.ECR] = given[regcheck.ECR] || f.secretKeyStdin || f.awsAmbient
	given[regcheck.Azure] = given[regcheck.Azure] || f.clientSecretStdin
	for _, each := range []regcheck.AuthType{regcheck.ECR, regcheck.GCP, regcheck.Azure, regcheck.GitHub} {
		if given[each] && kind != "" {
			return "", UsageError{errors.New("the flags of AWS, Google, Azure and GitHub cannot be combined with one another")}
		}
		if given[each] {
			kind = each
		}
	}
	return kind, nil
}

// overlay replaces what the flags and the environment have, apart from secrets on standard input.
func (f *cloudFlags) overlay(a *regcheck.Auth) error {
	kind, err := f.kind()
	if err != nil {
		return err
	}
	if a.Type == "" {
		a.Type = kind
	}
	switch cmp.Or(kind, a.Type) {
	case regcheck.ECR:
		f.overlayAWS(orNew(&a.AWS))
	case regcheck.GCP:
		return overlayFile("gcp-service-account", f.serviceAccount, &orNew(&a.GCP).ServiceAccount)
	case regcheck.Azure:
		to := orNew(&a.Azure)
		Set(&to.TenantID, f.tenant)
		Set(&to.ClientID, f.client)
		Set(&to.ClientSecret, secret.String(os.Getenv(EnvAzureClientSecret)))
	case regcheck.GitHub:
		to := orNew(&a.GitHub)
		Set(&to.AppID, f.app)
		Set(&to.InstallationID, f.installation)
		return overlayFile("github-private-key", f.privateKey, &to.PrivateKey)
	default: // credentials that are given
	}
	return nil
}

func (f *cloudFlags) overlayAWS(to *regcheck.AWSKey) {
	if f.awsAmbient {
		to.Ambient, to.AccessKey, to.SecretKey, to.SessionToken = true, "", "", ""
	} else if f.accessKey != "" {
		to.Ambient = false
	}
	Set(&to.AccessKey, f.accessKey)
	Set(&to.RoleARN, f.role)
	Set(&to.ExternalID, f.externalID)
	Set(&to.SecretKey, secret.String(os.Getenv(EnvAWSSecretKey)))
	Set(&to.SessionToken, secret.String(os.Getenv(EnvAWSSessionToken)))
}

// orNew returns what a field points to, which is created if there is nothing.
func orNew[T any](field **T) *T {
	if *field == nil {
		*field = new(T)
	}
	return *field
}

func overlayFile(flag, name string, into *secret.String) error {
	if name == "" {
		return nil
	}
	data, err := ReadFlagFile(flag, name)
	Set(into, secret.String(data))
	return err
}

// secretOnStdin is a secret that a flag has read from standard input, with a prompt on a terminal.
type secretOnStdin struct {
	given  *bool
	prompt string
	into   func(*regcheck.Auth) *secret.String
}

func (f *DefinitionFlags) secretsOnStdin() []secretOnStdin {
	return []secretOnStdin{
		{&f.PasswordStdin, "Password: ", func(a *regcheck.Auth) *secret.String { return &a.Password }},
		{&f.TokenStdin, "Token: ", func(a *regcheck.Auth) *secret.String { return &a.Token }},
		{&f.cloud.secretKeyStdin, "Secret of the access key: ",
			func(a *regcheck.Auth) *secret.String { return &orNew(&a.AWS).SecretKey }},
		{&f.cloud.clientSecretStdin, "Secret of the application: ",
			func(a *regcheck.Auth) *secret.String { return &orNew(&a.Azure).ClientSecret }},
	}
}

// OnStdin returns how many secrets are on standard input, which can have one.
func (f *DefinitionFlags) OnStdin() (n int) {
	for _, s := range f.secretsOnStdin() {
		if *s.given {
			n++
		}
	}
	return n
}

// readSecrets reads the secret on standard input, if there is one.
func (f *DefinitionFlags) readSecrets(a *regcheck.Auth, stdin io.Reader) (err error) {
	for _, s := range f.secretsOnStdin() {
		if *s.given && err == nil {
			*s.into(a), err = ReadSecret(stdin, s.prompt)
		}
	}
	return err
}

// Ask prompts for what the type of authentication requires and no flag has. Secrets are asked for when they are read.
func (f *DefinitionFlags) Ask(terminal io.Reader) error {
	kind, err := f.cloud.kind()
	if kind = cmp.Or(regcheck.AuthType(f.authType), kind); err != nil {
		return err
	}
	for _, q := range f.questions(kind) {
		if *q.value != "" {
			continue
		}
		if *q.value, err = Prompt(terminal, q.prompt+": "); err != nil {
			return err
		}
	}
	f.askSecret(kind)
	return nil
}

type question struct {
	prompt string
	value  *string
}

func (f *DefinitionFlags) questions(kind regcheck.AuthType) []question {
	all, c := []question{{"Endpoint", &f.endpoint}}, &f.cloud
	switch kind {
	case regcheck.Basic:
		return append(all, question{"Username", &f.username})
	case regcheck.ECR:
		if c.awsAmbient || c.role != "" { // which the identity of the server may assume
			return all
		}
		return append(all, question{"Id of the access key", &c.accessKey})
	case regcheck.GCP:
		return append(all, question{"File of the service account's key", &c.serviceAccount})
	case regcheck.Azure:
		return append(all, question{"Id of the tenant", &c.tenant}, question{"Id of the application", &c.client})
	case regcheck.GitHub:
		return append(all, question{"Id of the GitHub App", &c.app}, question{"Id of the installation", &c.installation},
			question{"File of the private key", &c.privateKey})
	default: // without a username
		return all
	}
}

// askSecret lets the secret that the type requires be read from the terminal, unless the environment has it.
func (f *DefinitionFlags) askSecret(kind regcheck.AuthType) {
	if kind == "" && f.username != "" {
		kind = regcheck.Basic
	}
	for _, s := range []struct {
		needed   bool
		variable string
		flag     *bool
	}{
		{kind == regcheck.Basic, EnvRegistryPassword, &f.PasswordStdin},
		{kind == regcheck.Token, EnvRegistryToken, &f.TokenStdin},
		{kind == regcheck.ECR && f.cloud.accessKey != "", EnvAWSSecretKey, &f.cloud.secretKeyStdin},
		{kind == regcheck.Azure, EnvAzureClientSecret, &f.cloud.clientSecretStdin},
	} {
		*s.flag = *s.flag || s.needed && os.Getenv(s.variable) == ""
	}
}

// AuthKind returns the type of authentication that the flags name, "" if they leave it to the definition.
func (f *DefinitionFlags) AuthKind() regcheck.AuthType {
	kind, _ := f.cloud.kind() // an error is that of New or Change
	return cmp.Or(regcheck.AuthType(f.authType), kind)
}

// Empty returns the fields of what credentials are obtained with that a flag given with an empty value removes.
func (f *DefinitionFlags) Empty(a *regcheck.Auth) map[string]*string {
	fields := map[string]*string{}
	if a.AWS != nil {
		fields["aws-access-key"], fields["aws-role"] = &a.AWS.AccessKey, &a.AWS.RoleARN
		fields["aws-external-id"] = &a.AWS.ExternalID
	}
	return fields
}
