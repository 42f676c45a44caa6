package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/access"
	"github.com/regwarden/regwarden/internal/cli/account"
	"github.com/regwarden/regwarden/internal/cli/alert"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/expiry"
	"github.com/regwarden/regwarden/internal/cli/helptext"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/registry"
	"github.com/regwarden/regwarden/internal/cli/serve"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/service/auth"
)

// branch is a command of the root with those below it. group is the title below which help lists it, if any.
type branch struct {
	name, group string
	build       func() *cobra.Command
}

// Titles in the help of the root.
const (
	ofRegistries = "Registry Commands:"
	ofServers    = "Server Commands:"
	ofLogins     = "Login Commands:"
	ofAccess     = "Access Commands:"
)

// branches lists the commands of the root in the order of its help.
func branches(program manage.Program) []branch {
	stored, access, own := registry.Commands{Program: program}, access.Commands{Program: program}, account.Commands{Program: program}
	return []branch{
		{"check", ofRegistries, newCheck},
		{"scan", ofRegistries, newScan},
		{"registry", ofRegistries, stored.Registry},
		{"import", ofRegistries, func() *cobra.Command { return stored.Import(&sourceFlags{}, somePaths) }},
		{"alert", ofRegistries, alert.Commands{Program: program}.Alert},
		{"expiry", ofRegistries, expiry.Commands{Program: program}.Expiry},
		{"serve", ofServers, func() *cobra.Command { return serve.New(program.Version) }},
		{"health", ofServers, newHealth},
		{"config", ofServers, newConfig},
		{"key", ofServers, newKey},
		{"backup", ofServers, newBackup},
		{"restore", ofServers, newRestore},
		{"migrate", ofServers, newMigrate},
		{"login", ofLogins, own.Login},
		{"logout", ofLogins, own.Logout},
		{"context", ofLogins, own.Context},
		{"whoami", ofLogins, own.Whoami},
		{"passwd", ofLogins, own.Passwd},
		{"mfa", ofLogins, own.MFA},
		{"doctor", ofServers, own.Doctor},
		{"org", ofAccess, access.Org},
		{"project", ofAccess, access.Project},
		{"user", ofAccess, access.User},
		{"team", ofAccess, access.Team},
		{"role", ofAccess, access.Role},
		{"apikey", ofAccess, access.APIKey},
		{"trust", ofAccess, access.Trust},
		{"sso", ofAccess, access.SSO},
		{"session", ofAccess, own.Session},
		{"audit", ofAccess, func() *cobra.Command { return withVerify(access.Audit()) }},
		{serve.HashCommand, "", serve.NewHashPasswords},
		{serve.ReadFileCommand, "", serve.NewReadFile},
		{"version", "", newVersion},
		{storeTopic, "", newStoreTopic},
	}
}

// newRoot returns the root with the branch that the arguments name. It has all branches if they name none, such as for help: building all
// takes longer than most commands do.
func newRoot(args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   "regwarden",
		Short: "Checks of OCI registry definitions, and authorization tokens",
		Long: "regwarden checks OCI registry definitions by actually using the registry, in a terminal or as a service.\n" +
			"For a definition that is not valid it reports which stage failed, which field is at fault and how to fix it.",
		Example: "  regwarden check ghcr.io/stefanprodan/charts/podinfo:6.7.1\n" +
			"  regwarden scan .\n" +
			"  regwarden serve",
		Version:       currentVersion().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          command.KnownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(command.FlagError)
	root.SetVersionTemplate(currentVersion().String())
	program := newProgram(root.Version)
	built := namedBy(args, branches(program))
	for _, b := range built {
		addBranch(root, b)
	}
	if len(built) > 1 { // else neither help nor completion was named
		helptext.Strict(root)
	}
	addCompletions(root, program.FlagNames())
	addHelp(root)
	helptext.Shape(root)
	return root
}

// newProgram returns what commands of stored things need, whether they use a server or a local store.
func newProgram(version string) manage.Program {
	return manage.Program{Version: version, PasswordRules: auth.PasswordHint,
		NewLocal: func() manage.Local { return serve.Local(settings.New(), version) }}
}

// namedBy returns the branch that arguments name, or that of the command line that a shell completes; all if there is none. The last
// argument of a completion is a word that is not complete yet.
func namedBy(args []string, all []branch) []branch {
	if len(args) > 2 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		args = args[1:]
	}
	i := -1
	if len(args) > 0 {
		i = slices.IndexFunc(all, func(b branch) bool { return b.name == args[0] })
	}
	if i < 0 {
		return all
	}
	return all[i : i+1]
}

// withVerify adds the one command of audit records that needs the key of the store.
func withVerify(audit *cobra.Command) *cobra.Command {
	audit.AddCommand(newAuditVerify())
	return audit
}

func addBranch(root *cobra.Command, b branch) {
	cmd := b.build()
	if cmd.GroupID = b.group; b.group != "" && !root.ContainsGroup(b.group) {
		root.AddGroup(&cobra.Group{ID: b.group, Title: b.group})
	}
	root.AddCommand(cmd)
}
