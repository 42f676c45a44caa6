package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
)

const exitCodes = "Exit codes: 0 done, 1 failed, 2 the command line or the settings cannot be used."

// examples has the examples of the administration commands.
var examples = map[string]string{
	"apikey create": `regwarden apikey create --org Acme --email ci@acme.example --name pipeline --expires 90d`,
	"apikey list":   `regwarden apikey list --org Acme`,
	"apikey revoke": `regwarden apikey revoke 0b9d2c1e-6f0a-4b7e-9d55-3f1f6f0a7c21`,
	"audit list": `regwarden audit list --since 1d --outcome refused
regwarden audit list --org Acme --action registry.update --output json`,
	"config": `regwarden config
regwarden config --config /etc/regwarden/regwarden.yaml --output json`,
	"key rotate": `regwarden key rotate
regwarden key rotate --master`,
	"migrate":          `regwarden migrate --from sqlite:/var/lib/regwarden --database-url-file /etc/regwarden/database-url`,
	"org create":       `regwarden org create Acme`,
	"org list":         `regwarden org list`,
	"project create":   `regwarden project create Blue --org Acme`,
	"project list":     `regwarden project list --org Acme`,
	"registry check":   `regwarden registry check harbor --org Acme`,
	"registry history": `regwarden registry history harbor --org Acme --limit 5`,
	"registry list":    `regwarden registry list --org Acme --output json`,
	"registry show":    `regwarden registry show harbor --org Acme`,
	"user create": `regwarden user create --org Acme --email ada@acme.example --project Blue
regwarden user create --org Acme --email boss@acme.example --role admin --password-stdin < password`,
	"user disable":  `regwarden user disable --org Acme --email ada@acme.example`,
	"user enable":   `regwarden user enable --org Acme --email ada@acme.example`,
	"user list":     `regwarden user list --org Acme`,
	"user password": `regwarden user password --org Acme --email ada@acme.example --password-stdin < password`,
	"user projects": `regwarden user projects --org Acme --email ada@acme.example --project Blue --project Green
regwarden user projects --org Acme --email ada@acme.example --clear`,
	"user role": `regwarden user role --org Acme --email ada@acme.example --role admin`,
	"version":   `regwarden version --output json`,
}

// completeHelp adds exit codes and examples to the help of the commands that do not have their own.
func completeHelp(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		completeHelp(sub)
	}
	if cmd.HasSubCommands() {
		return
	}
	if !strings.Contains(cmd.Long, "Exit codes:") {
		cmd.Long = cmp.Or(cmd.Long, cmd.Short+".") + "\n\n" + exitCodes
	}
	if example := examples[shortPath(cmd)]; example != "" {
		cmd.Example = "  " + strings.ReplaceAll(example, "\n", "\n  ")
	}
}
