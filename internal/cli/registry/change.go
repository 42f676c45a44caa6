package registry

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/regcheck"
)

// registryChange are the flags that define a stored registry.
type registryChange struct {
	command.DefinitionFlags
	file, name              string
	sync, private, validate bool
}

func (f *registryChange) addTo(flags *pflag.FlagSet) {
	flags.StringVarP(&f.file, "file", "f", "", "file of the definition, JSON or YAML as for 'regwarden check' or the HTTP API; - for "+
		"standard input")
	f.AddTo(flags)
	flags.BoolVar(&f.sync, "sync", false, "synchronize the list of the registry's content")
	flags.BoolVar(&f.private, "private", false, "mark the registry as private")
	flags.BoolVar(&f.validate, "validate", false, "have the definition checked first, and store it only if it is valid")
}

// apply sets the switches that were given.
func (f *registryChange) apply(flags *pflag.FlagSet, spec *api.OCIRegistryRequestSpec) {
	if flags.Changed("sync") {
		spec.IsSyncSupported = f.sync
	}
	if flags.Changed("private") {
		spec.IsPrivate = f.private
	}
}

func (p Commands) registryCreate() *cobra.Command {
	var f registryChange
	project := ""
	cmd := p.Command("create NAME", "Store a registry definition; print its uid", command.OneArg,
		func(c *manage.Call, args []string) error {
			var r api.OCIRegistryRequest
			if stdin := c.Cmd.InOrStdin(); f.file == "" && command.IsTerminal(stdin) {
				if err := f.Ask(stdin); err != nil {
					return err
				}
			}
			if _, err := f.New(c.Cmd.InOrStdin(), f.file, &r); err != nil {
				return err
			}
			r.Metadata.Name = args[0]
			f.apply(c.Cmd.Flags(), &r.Spec)
			if err := f.check(c, r.Spec.OCIRegistryDefinition); err != nil {
				return err
			}
			in, _, err := c.RegistriesIn(project)
			if err != nil {
				return err
			}
			uid, err := in.Create(c.Ctx, r)
			return c.Created(err, uid, "Stored the registry %s.", args[0])
		}, manage.Changes, manage.Checks(&f.validate))
	cmd.Flags().StringVar(&project, "project", "", "name of the project that the registry belongs to (default: none)")
	f.addTo(cmd.Flags())
	return cmd
}

func (p Commands) registryUpdate() *cobra.Command {
	var f registryChange
	cmd := p.Command("update NAME", "Change a stored registry definition", command.OneArg, func(c *manage.Call, args []string) error {
		found, err := c.Client.Registries.Find(c.Ctx, args[0])
		if err != nil {
			return c.Unchecked(err)
		}
		stored, err := c.Client.Registries.Get(c.Ctx, found.Metadata.UID)
		if err != nil {
			return c.Unchecked(err)
		}
		changed := requestOf(stored)
		if err := f.change(c, &changed); err != nil {
			return err
		}
		if !changeGiven(c.Cmd) && reflect.DeepEqual(changed, requestOf(stored)) {
			return command.Usage(c.Cmd, errors.New("give what to change, with flags or a file"))
		}
		checked := changed.Spec.OCIRegistryDefinition
		checked.RegistryUID = found.Metadata.UID // for the secrets that are masked
		if err := f.check(c, checked); err != nil {
			return err
		}
		err = c.Client.Registries.Replace(c.Ctx, found.Metadata.UID, changed)
		return c.Changed(err, "Changed the registry %s.", changed.Metadata.Name)
	}, manage.Changes, manage.Checks(&f.validate))
	cmd.Flags().StringVar(&f.name, "name", "", "new name")
	f.addTo(cmd.Flags())
	return cmd
}

// changeGiven reports whether a flag of the definition was given. Secrets can also be given in the environment.
func changeGiven(cmd *cobra.Command) (given bool) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		given = given || f.Changed && f.Name != "validate" && f.Name != "quiet"
	})
	return given
}

// change replaces what the flags and the file have. Secrets that neither has stay masked, which means that the stored ones are used.
func (f *registryChange) change(c *manage.Call, r *api.OCIRegistryRequest) error {
	flags := c.Cmd.Flags()
	if kind := f.AuthKind(); kind != "" && kind != r.Spec.Auth.Kind() {
		r.Spec.Auth = &regcheck.Auth{Type: kind, TLS: r.Spec.Auth.TLS} // without the credentials of the former type
	}
	name, username, open := r.Metadata.Name, r.Spec.Auth.Username, r.Spec.Auth.Type == regcheck.NoAuth
	if open {
		r.Spec.Auth.Type, r.Spec.Auth.Username = "", "" // so that given credentials decide
	}
	if err := f.Change(c.Cmd.InOrStdin(), f.file, r); err != nil {
		return err
	}
	r.Spec.Auth.Type = r.Spec.Auth.Kind()
	if a := r.Spec.Auth; open && a.Username == "" && !a.Type.IsObtained() {
		a.Username = username
	}
	r.Metadata.Name = name
	command.Set(&r.Metadata.Name, f.name)
	f.clear(flags, &r.Spec.Definition)
	f.apply(flags, &r.Spec)
	dropStoredSession(r.Spec.Auth)
	return nil
}

// clear removes the fields whose flag was given with an empty value.
func (f *registryChange) clear(flags *pflag.FlagSet, d *regcheck.Definition) {
	tls, fields := &d.Auth.TLS, f.Empty(d.Auth)
	maps.Copy(fields, map[string]*string{"base-path": &d.BasePath, "content": &d.BaseContentPath, "username": &d.Auth.Username,
		"ca": &tls.CA, "cert": &tls.Certificate})
	for name, field := range fields {
		if flags.Changed(name) && flags.Lookup(name).Value.String() == "" {
			*field = ""
		}
	}
	if flags.Changed("key") && flags.Lookup("key").Value.String() == "" || tls.Certificate == "" {
		tls.Key = ""
	}
	if flags.Changed("pass-credentials") {
		d.Auth.PassCredentials = flags.Lookup("pass-credentials").Value.String() == "true"
	}
	if flags.Changed("insecure-skip-verify") {
		tls.InsecureSkipVerify = flags.Lookup("insecure-skip-verify").Value.String() == "true"
	}
}

// check refuses a definition that is not valid, with its report on standard error.
func (f *registryChange) check(c *manage.Call, d api.OCIRegistryDefinition) error {
	if !f.validate {
		return nil
	}
	report, err := c.Client.Diagnose(c.Ctx, d)
	if err != nil || report.Valid {
		return c.Unchecked(err)
	}
	show := command.ReportOutput{Cmd: c.Cmd, Out: c.Cmd.ErrOrStderr()}
	if f.file == "" {
		show.Field = command.DefinitionFlag
	}
	if err := show.Show(d.Endpoint, report); err != nil {
		fmt.Fprintln(c.Cmd.ErrOrStderr(), "\nNothing was stored, since the definition is not valid and --validate was given.")
		return err
	}
	return nil
}

// requestOf returns the request that would store a registry as it is stored.
func requestOf(r *api.OCIRegistry) api.OCIRegistryRequest {
	s, a := r.Spec, r.Spec.Auth
	request := api.OCIRegistryRequest{Metadata: api.OCIRegistryName{Name: r.Metadata.Name, Annotations: r.Metadata.Annotations,
		Labels: r.Metadata.Labels}}
	request.Spec = api.OCIRegistryRequestSpec{IsSyncSupported: s.IsSyncSupported, ContainsSpectroManifest: s.ContainsSpectroManifest,
		IsPrivate: s.IsPrivate}
	request.Spec.Scope = s.Scope
	request.Spec.Definition = regcheck.Definition{Endpoint: s.Endpoint, BasePath: s.BasePath, BaseContentPath: s.BaseContentPath,
		Kind:       regcheck.Kind(s.Kind),
		References: s.References, ProviderType: regcheck.ProviderType(s.ProviderType),
		Auth: &regcheck.Auth{Type: regcheck.AuthType(a.Type), Username: a.Username, Password: a.Password, Token: a.Token,
			AWS: a.AWS, GCP: a.GCP, Azure: a.Azure, GitHub: a.GitHub, PassCredentials: a.PassCredentials,
			TLS: regcheck.TLS{CA: a.TLS.CA, Certificate: a.TLS.Certificate, Enabled: a.TLS.Enabled,
				InsecureSkipVerify: a.TLS.InsecureSkipVerify, Key: a.TLS.Key}}}
	request.Spec.Auth = request.Spec.Auth.Clone() // it is changed, and compared with r
	return request
}
