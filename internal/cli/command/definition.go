package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Secrets of a definition come from the environment, a file or standard input: every user of the machine can read arguments.
const (
	EnvRegistryPassword = EnvPrefix + "REGISTRY_PASSWORD"
	EnvRegistryToken    = EnvPrefix + "REGISTRY_TOKEN"
)

// AuthTypes are the values of --auth-type.
var AuthTypes = []string{string(regcheck.NoAuth), string(regcheck.Basic), string(regcheck.Token), string(regcheck.ECR),
	string(regcheck.GCP), string(regcheck.Azure), string(regcheck.GitHub)}

// maxDefinition is the maximum size of a definition file, as of a body of the HTTP interface.
const maxDefinition = 1 << 20

// DefinitionFlags are the flags that set fields of a registry definition.
type DefinitionFlags struct {
	Provider                    string
	endpoint, basePath, content string
	authType, username          string
	PasswordStdin, TokenStdin   bool
	caFile, certFile, keyFile   string
	insecure                    bool
	references                  []string
	kind                        string
	passCredentials             bool
	Ambient                     bool // take the credentials of the environment; of commands that run as the user
	cloud                       cloudFlags
	renewed
}

// AddTo adds the flags to those of a command.
func (f *DefinitionFlags) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.endpoint, "endpoint", "", "[scheme://]host[:port][/path]")
	flags.StringVar(&f.basePath, "base-path", "", "path of the API before /v2/")
	flags.StringVar(&f.content, "content", "", "repository or prefix of repositories that must be readable, or repository:tag (field "+
		"baseContentPath)")
	flags.StringArrayVar(&f.references, "reference", nil,
		"repository:tag or repository@digest that must be complete; repeat it for each (field references)")
	flags.StringVar(&f.Provider, "provider-type", "", "type of the provider: helm, zarf or pack (default helm)")
	f.AddAuthTo(flags)
	flags.StringVar(&f.caFile, "ca", "", "file of CA certificates (PEM) to trust in addition to the system's")
	flags.StringVar(&f.certFile, "cert", "", "file of the client certificate (PEM)")
	flags.StringVar(&f.keyFile, "key", "", "file of the client certificate's key (PEM)")
	flags.BoolVar(&f.insecure, "insecure-skip-verify", false, "do not verify the registry's certificate")
	flags.StringVar(&f.kind, "kind", "", "oci, or chartRepository for a Helm repository with an index.yaml (default oci)")
	flags.BoolVar(&f.passCredentials, "pass-credentials", false,
		"send the credentials of a chart repository to other hosts that its index names, as Helm does")
}

// AddAuthTo adds the flags of credentials to those of a command.
func (f *DefinitionFlags) AddAuthTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.authType, "auth-type", "", "type of authentication: "+strings.Join(AuthTypes, ", ")+
		" (default: depends on the given credentials)")
	flags.StringVar(&f.username, "username", "", "username at the registry")
	flags.BoolVar(&f.PasswordStdin, "password-stdin", false, "read the password from standard input")
	flags.BoolVar(&f.TokenStdin, "token-stdin", false, "read the token from standard input")
	f.cloud.addTo(flags)
}

// isChartRepository reports whether the flags say that the reference is a chart repository.
func (f *DefinitionFlags) isChartRepository() bool {
	return f.kind == string(regcheck.KindChartRepository)
}

// New sets a registry to what the file, unless its name is empty, and the flags have, and parses its definition. It reports all problems of
// the definition at once.
func (f *DefinitionFlags) New(stdin io.Reader, file string, registry *api.OCIRegistryRequest) (*regcheck.Plan, error) {
	wrong, err := f.read(stdin, file, registry)
	if err != nil {
		return nil, err
	}
	plan, problems := regcheck.Parse(registry.Spec.Definition)
	if file != "" {
		return plan, DefinitionProblems(wrong, slices.Concat(registry.Spec.Unknown, problems), FieldProblem)
	}
	for i := range problems {
		problems[i].Problem = problems[i].Show(regcheck.Audience{Field: f.Named(DefinitionFlag)})
	}
	return plan, DefinitionProblems(wrong, problems, func(p fault.Field) string {
		return cmp.Or(credentialProblem(p), f.Named(DefinitionFlag)(p.Field)+" "+p.Problem)
	})
}

// Change replaces the fields of a registry that the file or the flags have. It reports problems of reading the file only: others
// depend on what is stored.
func (f *DefinitionFlags) Change(stdin io.Reader, file string, registry *api.OCIRegistryRequest) error {
	wrong, err := f.read(stdin, file, registry)
	if err != nil {
		return err
	}
	return DefinitionProblems(wrong, registry.Spec.Unknown, FieldProblem)
}

func (f *DefinitionFlags) read(stdin io.Reader, file string, registry *api.OCIRegistryRequest) (wrong []fault.Field, err error) {
	if file == "-" && f.OnStdin() > 0 {
		return nil, errStdinTwice
	}
	if file != "" {
		if wrong, err = readFile(file, stdin, registry); err != nil {
			return nil, err
		}
	}
	return wrong, AsUsage(f.Overlay(&registry.Spec.Definition, stdin))
}

// inSpec is the prefix of the fields of a definition in a body of the API.
const inSpec = "spec."

// readFile reads a definition, or the body of the API that stores one, as JSON or YAML.
func readFile(name string, stdin io.Reader, registry *api.OCIRegistryRequest) (wrong []fault.Field, err error) {
	data, err := readDefinition(name, stdin)
	if err != nil {
		return nil, err
	}
	return DecodeRegistry(name, data, registry)
}

// DecodeRegistry reads a definition, or the body of the API that stores one, as JSON or YAML. name is that of the file. Unknown fields are
// in registry.Spec.Unknown.
func DecodeRegistry(name string, data []byte, registry *api.OCIRegistryRequest) (wrong []fault.Field, err error) {
	if data, err = definitions.DefinitionJSON(data); err != nil {
		return nil, UsageError{fmt.Errorf("%s %w", inputName(name), err)}
	}
	var body struct {
		Spec *struct{} `json:"spec"`
	}
	if _, err := strictjson.Decode(data, &body); err != nil {
		return nil, unreadable(name, err)
	}
	if body.Spec == nil {
		wrong, err = strictjson.Decode(data, &registry.Spec)
		registry.Spec.NoteUnknown(strictjson.Unknown(data, &registry.Spec))
		return fault.Join(wrong, labelProblems(registry.Spec.OCIRegistryDefinition)), unreadable(name, err)
	}
	wrong, err = strictjson.Decode(data, registry)
	unknown, known := strictjson.Unknown(data, registry)
	registry.Spec.NoteUnknown(slices.DeleteFunc(unknown, func(path string) bool { return !strings.HasPrefix(path, inSpec) }), known)
	return fault.Join(wrong, labelProblems(registry.Spec.OCIRegistryDefinition)), unreadable(name, err)
}

// FieldProblem returns a problem of a definition that was not given by flags.
func FieldProblem(p fault.Field) string { return p.Field + ": " + p.Problem }

// DefinitionProblems returns the usage error that lists the problems of a definition, nil if there are none.
func DefinitionProblems(wrong []fault.Field, problems []regcheck.Problem, show func(fault.Field) string) error {
	more := make([]fault.Field, len(problems))
	for i, p := range problems {
		more[i] = fault.Field{Field: p.Field, Problem: p.Problem}
	}
	all := fault.Join(wrong, more)
	if len(all) == 0 {
		return nil
	}
	text := "the definition is not usable:"
	for _, p := range all {
		text += "\n  " + show(p)
	}
	return UsageError{errors.New(text)}
}

// unreadable describes why a definition file is not unambiguous. It returns nil for nil.
func unreadable(name string, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || len(f.Fields) != 1 || f.Fields[0].Field != strictjson.Body {
		return err
	}
	return UsageError{fmt.Errorf("%s %s", inputName(name), f.Fields[0].Problem)}
}

func inputName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

func readDefinition(name string, stdin io.Reader) ([]byte, error) {
	source := stdin
	if name != "-" {
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			hint := ""
			if !strings.ContainsAny(name[:1], "./~") {
				hint = "; a registry of this name is https://" + name
			}
			return nil, UsageError{fmt.Errorf("cannot read %s: no such file%s", name, hint)}
		}
		if err != nil {
			return nil, UsageError{err}
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, maxDefinition+1))
	if err == nil && len(data) > maxDefinition {
		err = fmt.Errorf("%s is larger than 1 MiB, the limit of a definition file", name)
	}
	return data, AsUsage(err)
}

var (
	errStdinTwice = UsageError{errors.New("standard input can be only one of: the definition, the password, the token, another secret")}

	errStdinAndFile = UsageError{errors.New("a secret on standard input cannot be combined with --password-file, --token-file or " +
		"--credential-helper; give one of them")}
)

// Overlay replaces fields of the definition by the flags and the environment.
func (f *DefinitionFlags) Overlay(d *regcheck.Definition, stdin io.Reader) error {
	switch n := f.OnStdin(); {
	case n > 1:
		return errStdinTwice
	case n > 0 && f.renewed != (renewed{}):
		return errStdinAndFile
	}
	if d.Auth == nil {
		d.Auth = &regcheck.Auth{}
	}
	a := d.Auth
	Set(&d.Kind, regcheck.Kind(f.kind))
	Set(&d.Endpoint, f.endpoint)
	Set(&d.BasePath, f.basePath)
	Set(&d.BaseContentPath, f.content)
	if len(f.references) > 0 {
		d.References = slices.DeleteFunc(slices.Clone(f.references), func(r string) bool { return r == "" })
	}
	Set(&d.ProviderType, regcheck.ProviderType(f.Provider))
	Set(&a.Type, regcheck.AuthType(f.authType))
	Set(&a.Username, f.username)
	Set(&a.Password, secret.String(os.Getenv(EnvRegistryPassword)))
	Set(&a.Token, secret.String(os.Getenv(EnvRegistryToken)))
	a.PassCredentials = a.PassCredentials || f.passCredentials
	if err := f.OverlayTLS(a); err != nil {
		return err
	}
	if err := f.cloud.overlay(a); err != nil {
		return err
	}
	if err := f.renewed.overlay(a); err != nil {
		return err
	}
	if f.Ambient && d.Endpoint != "" {
		return UseAmbient(d)
	}
	return f.readSecrets(a, stdin)
}

// OverlayTLS replaces auth.tls by the flags.
func (f *DefinitionFlags) OverlayTLS(a *regcheck.Auth) error {
	if f.insecure {
		a.TLS.Enabled, a.TLS.InsecureSkipVerify = true, true
	}
	var key string
	for _, file := range []struct {
		flag, name string
		into       *string
	}{{"ca", f.caFile, &a.TLS.CA}, {"cert", f.certFile, &a.TLS.Certificate}, {"key", f.keyFile, &key}} {
		if file.name == "" {
			continue
		}
		data, err := ReadFlagFile(file.flag, file.name)
		if err != nil {
			return err
		}
		a.TLS.Enabled, *file.into = true, string(data)
	}
	Set(&a.TLS.Key, secret.String(key))
	return nil
}

// Set sets a field unless the value is empty.
func Set[T ~string](field *T, value T) {
	if value != "" {
		*field = value
	}
}

// definitionFlags has the flag of "regwarden check" that sets a field of a definition.
var definitionFlags = map[string]string{
	"kind": "--kind", "auth.passCredentials": "--pass-credentials",
	"endpoint": "--endpoint", "basePath": "--base-path", "baseContentPath": "--content", "references": "--reference",
	"providerType": "--provider-type",
	"auth.type":    "--auth-type", "auth.username": "--username", "auth.password": "--password-stdin", "auth.token": "--token-stdin",
	"auth.tls.ca": "--ca", "auth.tls.certificate": "--cert", "auth.tls.key": "--key",
	"auth.tls.insecureSkipVerify": "--insecure-skip-verify",
	"auth.tls.enabled":            "", // implied by the other flags of TLS

	"auth.aws": "a flag of AWS", "auth.gcp": "a flag of Google", "auth.azure": "a flag of Azure", "auth.github": "a flag of GitHub",
	"auth.aws.accessKey": "--aws-access-key", "auth.aws.secretKey": "--aws-secret-key-stdin",
	"auth.aws.ambient": "--aws-ambient", "auth.aws.sessionToken": EnvAWSSessionToken,
	"auth.aws.roleArn": "--aws-role", "auth.aws.externalId": "--aws-external-id",
	"auth.gcp.serviceAccount": "--gcp-service-account",
	"auth.azure.tenantId":     "--azure-tenant", "auth.azure.clientId": "--azure-client",
	"auth.azure.clientSecret": "--azure-client-secret-stdin",
	"auth.github.appId":       "--github-app", "auth.github.installationId": "--github-installation",
	"auth.github.privateKey": "--github-private-key",

	"auth.exec": "--credential-helper", "auth.file.password": "--password-file", "auth.file.token": "--token-file",
}

// DefinitionFlag returns the flag that sets a field. It is a regcheck.Audience.Field.
func DefinitionFlag(path string) string {
	list, _, _ := strings.Cut(path, "[")
	return definitionFlags[list]
}

// credentialProblem returns how to give a secret that is missing, "" for other problems.
func credentialProblem(p fault.Field) string {
	required := strings.HasPrefix(p.Problem, "is required")
	switch {
	case required && p.Field == "auth.password":
		return "give the password with --password-stdin or " + EnvRegistryPassword
	case required && p.Field == "auth.token":
		return "give the token with --token-stdin or " + EnvRegistryToken
	case required && p.Field == "auth.aws.secretKey":
		return "give the secret of the access key with --aws-secret-key-stdin or " + EnvAWSSecretKey
	case required && p.Field == "auth.azure.clientSecret":
		return "give the secret of the application with --azure-client-secret-stdin or " + EnvAzureClientSecret
	}
	return ""
}

// labelProblems lists the problems of the fields that only the service uses.
func labelProblems(d api.OCIRegistryDefinition) (found []fault.Field) {
	for _, f := range []fault.Field{{Field: "registryUid", Problem: regcheck.TextProblem(d.RegistryUID)},
		{Field: "scope", Problem: regcheck.TextProblem(d.Scope)}} {
		if f.Problem != "" {
			found = append(found, f)
		}
	}
	return found
}

func AsUsage(err error) error {
	_, ended := errors.AsType[Interrupted](err)
	if ended || err == nil {
		return err
	}
	return UsageError{err}
}
