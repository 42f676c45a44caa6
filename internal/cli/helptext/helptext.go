// Package helptext shapes the help of commands: it wraps at the width of the terminal, and groups flags.
package helptext

import (
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/command"
)

// storeSection is the heading of the settings that name a store. Help lists them once, in "help store".
const storeSection = "Files and database"

// Sections are the headings of help and of docs/configuration.md, and the settings below each.
var Sections = []struct{ Heading, Names string }{
	{storeSection, "config data-dir database-url database-url-file allow-newer-database master-key-file master-key-command " +
		"audit-retention audit-refreshes"},
	{"Listeners and TLS", "listen console tls-cert tls-key tls-self-signed insecure-http public-url trusted-proxies metrics-listen " +
		"metrics-registries debug-listen"},
	{"Connections and memory", "max-connections max-connections-per-source request-memory response-memory"},
	{"Tokens and sessions", "default-org token-lifetime refresh-grace session-idle session-max sso-recheck refresh-accepts-authorization"},
	{"Logins", "login-workers login-queue login-wait login-free-failures login-max-wait login-isolation"},
	{"Checks", "check-concurrency check-per-org check-per-minute check-timeout aws-account"},
	{"Stored registries", "organization-registries organization-storage watch-interval watch-concurrency sync-interval"},
	{"Kubernetes cluster", "kubernetes kubeconfig kubernetes-namespaces kubernetes-organization kubernetes-cluster"},
	{"Egress policy", "egress-profile egress-allow egress-deny egress-allow-only egress-proxy egress-proxy-connect egress-dns " +
		"ambient-credentials"},
	{"Email and alerts", "smtp-host smtp-port smtp-username smtp-password-file smtp-from smtp-tls alert-mail-domains alert-mails-per-hour"},
	{"Logs", "log-format log-level"},
}

// NoteSections notes the section of each setting for help.
func NoteSections(flags *pflag.FlagSet) {
	for _, section := range Sections {
		for name := range strings.FieldsSeq(section.Names) {
			flags.Lookup(name).Annotations = map[string][]string{command.SectionKey: {section.Heading}}
		}
	}
}

func sectionOf(f *pflag.Flag) string { return strings.Join(f.Annotations[command.SectionKey], "") }

// targetFlags say where a command acts.
var targetFlags = []string{"org", "context", "server"}

var addHelpFunctions = sync.OnceFunc(func() {
	cobra.AddTemplateFunc("flagHelp", flagHelp)
	cobra.AddTemplateFunc("wrapped", Wrapped)
	cobra.AddTemplateFunc("examples", func(text string) string { return continued(text, Width()) })
})

// Shape wraps help at the width of the terminal and groups flags.
func Shape(root *cobra.Command) {
	addHelpFunctions()
	usage := root.UsageTemplate()
	usage = strings.Replace(usage, "{{.Example}}", "{{examples .Example}}", 1)
	from, to := strings.Index(usage, "{{if .HasAvailableLocalFlags}}"), strings.Index(usage, "{{if .HasHelpSubCommands}}")
	root.SetUsageTemplate(usage[:from] + "{{flagHelp .}}" + usage[to:])
	root.SetHelpTemplate(strings.Replace(root.HelpTemplate(), "{{. | trimTrailingWhitespaces}}", "{{wrapped .}}", 1))
}

// Width is the width of help: that of the terminal, 0 without one. A command prints its usage to a buffer first.
func Width() int { return command.PrinterTo(os.Stdout, true).Width }

// flagHelp lists the flags of a command: its own, those that say where it acts, then settings by their sections.
func flagHelp(cmd *cobra.Command) string {
	var text strings.Builder
	width, server := Width(), cmd.Flags().Lookup("listen") != nil
	group := func(heading string, include func(*pflag.Flag) bool) {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if include(f) {
				set.AddFlag(f)
			}
		})
		if set.HasAvailableFlags() {
			text.WriteString("\n\n" + heading + ":\n" + strings.TrimRight(Flags(set, width), " \n"))
		}
	}
	isTarget := func(f *pflag.Flag) bool {
		return slices.Contains(targetFlags, f.Name) && cmd.Flags().Lookup("server") != nil
	}
	group("Flags", func(f *pflag.Flag) bool { return !isTarget(f) && sectionOf(f) == "" })
	group(command.CloudSection, func(f *pflag.Flag) bool { return sectionOf(f) == command.CloudSection })
	group("Where it acts", isTarget)
	named := false
	for _, section := range Sections {
		if section.Heading != storeSection || server {
			group(section.Heading, func(f *pflag.Flag) bool {
				return sectionOf(f) == section.Heading && (server || f.Name != "default-org")
			})
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { named = named || f.Name == "data-dir" })
	if named && !server {
		text.WriteString("\n\n" + strings.Join(command.Wrap("A local store is named by --data-dir and other flags: "+
			"see 'regwarden help store'.", width), "\n"))
	}
	return text.String()
}

// minUsage is the least width of the description of a flag.
const minUsage = 24

// Flags lists flags with descriptions that are wrapped at the width of the terminal.
func Flags(set *pflag.FlagSet, width int) string {
	var text strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(set.FlagUsages(), " (default [])", "")) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		gap := strings.Index(line[indent:], "   ") // between the flag and its description
		if width == 0 || gap < 0 {
			text.WriteString(line)
			continue
		}
		flag, usage := line[:indent+gap], strings.TrimSpace(line[indent+gap:])
		column := len(strings.TrimRight(line, "\n")) - len(strings.TrimLeft(strings.TrimRight(line[indent+gap:], "\n"), " "))
		for _, part := range command.Wrap(usage, max(width-column, minUsage)) {
			text.WriteString(flag + strings.Repeat(" ", column-len(flag)) + part + "\n")
			flag = ""
		}
	}
	return text.String()
}

// Wrapped wraps the paragraphs of a text that are wider than the terminal. Indented lines stay as they are.
func Wrapped(text string) string {
	width := Width()
	text = strings.TrimRight(text, " \n")
	if width == 0 {
		return text
	}
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		lines := strings.Split(p, "\n")
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, " ") }) {
			paragraphs[i] = strings.Join(command.Wrap(strings.Join(lines, " "), width), "\n")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// continued continues commands that are wider than the terminal on the next line, before a flag or a redirection, to be pasted.
func continued(text string, width int) string {
	var shown strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.CutSuffix(line, "\n")
		const mark = " \\"
		for width > 0 && utf8.RuneCountInString(line) > width {
			at := -1
			for _, before := range []string{" --", " <", " |"} {
				at = max(at, strings.LastIndex(line[:min(len(line), width-len(mark)+1)], before))
			}
			if strings.TrimSpace(line[:max(at, 0)]) == "" {
				break
			}
			shown.WriteString(line[:at] + mark + "\n")
			line = "     " + line[at:]
		}
		shown.WriteString(line)
		if end {
			shown.WriteByte('\n')
		}
	}
	return shown.String()
}

// Strict refuses topics and shells that do not exist.
func Strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Example = "  regwarden help registry list\n  regwarden help store"
			cmd.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 {
					err = command.KnownCommand(found, rest)
				}
				return err
			}
		case "completion":
			cmd.Args = command.KnownCommand
			for _, shell := range cmd.Commands() {
				shell.Example = "  " + shell.CommandPath()
			}
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
