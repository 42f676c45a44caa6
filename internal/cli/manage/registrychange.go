package manage

import (
	"errors"
	"reflect"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
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

func (p Program) registryCreate() *cobra.Command {
	var f registryChange
	cmd := p.command("create NAME", "Store a registry definition; print its uid", command.OneArg, func(c *call, args []string) error {
		var r api.OCIRegistryRequest
		if _, err := f.New(c.cmd.InOrStdin(), f.file, &r); err != nil {
			return err
		}
		r.Metadata.Name = args[0]
		f.apply(c.cmd.Flags(), &r.Spec)
		if err := f.check(c, r.Spec.OCIRegistryDefinition); err != nil {
			return err
		}
		uid, err := c.client.Registries.Create(c.ctx, r)
		if err != nil {
			return err
		}
		return c.created(uid, "Stored the registry %s.", args[0])
	}, changes)
	f.addTo(cmd.Flags())
	return cmd
}

func (p Program) registryUpdate() *cobra.Command {
	var f registryChange
	cmd := p.command("update NAME", "Change a stored registry definition", command.OneArg, func(c *call, args []string) error {
		found, err := c.client.Registries.Find(c.ctx, args[0])
		if err != nil {
			return err
		}
		stored, err := c.client.Registries.Get(c.ctx, found.Metadata.UID)
		if err != nil {
			return err
		}
		changed := requestOf(stored)
		if err := f.change(c, &changed); err != nil {
			return err
		}
		if !changeGiven(c.cmd) && reflect.DeepEqual(changed, requestOf(stored)) {
			return command.Usage(c.cmd, errors.New("give what to change, with flags or a file"))
		}
		checked := changed.Spec.OCIRegistryDefinition
		checked.RegistryUID = found.Metadata.UID // for the secrets that are masked
		if err := f.check(c, checked); err != nil {
			return err
		}
		if err := c.client.Registries.Replace(c.ctx, found.Metadata.UID, changed); err != nil {
			return err
		}
		c.changed("Changed the registry %s.", changed.Metadata.Name)
		return nil
	}, changes)
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
func (f *registryChange) change(c *call, r *api.OCIRegistryRequest) error {
	flags := c.cmd.Flags()
	if kind := flags.Lookup("auth-type").Value.String(); kind != "" && kind != string(r.Spec.Auth.Kind()) {
		r.Spec.Auth.Username, r.Spec.Auth.Password, r.Spec.Auth.Token = "", "", "" // of the former type
	}
	name := r.Metadata.Name
	if r.Spec.Auth.Type == regcheck.NoAuth {
		r.Spec.Auth.Type = "" // so that given credentials decide
	}
	if err := f.Change(c.cmd.InOrStdin(), f.file, r); err != nil {
		return err
	}
	r.Spec.Auth.Type = r.Spec.Auth.Kind()
	r.Metadata.Name = name
	command.Set(&r.Metadata.Name, f.name)
	f.clear(flags, &r.Spec.Definition)
	f.apply(flags, &r.Spec)
	return nil
}

// clear removes the fields whose flag was given with an empty value.
func (f *registryChange) clear(flags *pflag.FlagSet, d *regcheck.Definition) {
	tls := &d.Auth.TLS
	for name, field := range map[string]*string{"base-path": &d.BasePath, "content": &d.BaseContentPath, "username": &d.Auth.Username, "ca": &tls.CA, "cert": &tls.Certificate} {
		if flags.Changed(name) && flags.Lookup(name).Value.String() == "" {
			*field = ""
		}
	}
	if flags.Changed("key") && flags.Lookup("key").Value.String() == "" || tls.Certificate == "" {
		tls.Key = ""
	}
	if flags.Changed("insecure-skip-verify") {
		tls.InsecureSkipVerify = flags.Lookup("insecure-skip-verify").Value.String() == "true"
	}
}

// check refuses a definition that is not valid, with its report on standard error.
func (f *registryChange) check(c *call, d api.OCIRegistryDefinition) error {
	if !f.validate {
		return nil
	}
	report, err := c.client.Diagnose(c.ctx, d)
	if err != nil || report.Valid {
		return command.Unchecked(c.ctx, err)
	}
	show := command.ReportOutput{Cmd: c.cmd, Out: c.cmd.ErrOrStderr()}
	if f.file == "" {
		show.Field = command.DefinitionFlag
	}
	return show.Show(d.Endpoint, report)
}

// requestOf returns the request that would store a registry as it is stored.
func requestOf(r *api.OCIRegistry) api.OCIRegistryRequest {
	s, a := r.Spec, r.Spec.Auth
	request := api.OCIRegistryRequest{Metadata: api.OCIRegistryName{Name: r.Metadata.Name, Annotations: r.Metadata.Annotations,
		Labels: r.Metadata.Labels}}
	request.Spec = api.OCIRegistryRequestSpec{IsSyncSupported: s.IsSyncSupported, ContainsSpectroManifest: s.ContainsSpectroManifest,
		IsPrivate: s.IsPrivate}
	request.Spec.Scope = s.Scope
	request.Spec.Definition = regcheck.Definition{Endpoint: s.Endpoint, BasePath: s.BasePath, BaseContentPath: s.BaseContentPath, References: s.References, ProviderType: regcheck.ProviderType(s.ProviderType),
		Auth: &regcheck.Auth{Type: regcheck.AuthType(a.Type), Username: a.Username, Password: a.Password, Token: a.Token,
			TLS: regcheck.TLS{CA: a.TLS.CA, Certificate: a.TLS.Certificate, Enabled: a.TLS.Enabled, InsecureSkipVerify: a.TLS.InsecureSkipVerify, Key: a.TLS.Key}}}
	return request
}
