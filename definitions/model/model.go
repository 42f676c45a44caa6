// Package model has the types of what definitions.Read finds: registries, what was skipped, and problems, with their closed lists of words.
package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Format is the kind of a file.
type Format string

// Formats.
const (
	DockerConfig         Format = "docker-config"
	DockerAuthConfigEnv  Format = "docker-auth-config-env"
	Dockercfg            Format = "dockercfg"
	ContainersAuth       Format = "containers-auth"
	ContainersRegistries Format = "containers-registries-conf"
	ContainerdHosts      Format = "containerd-hosts"
	ContainerdConfig     Format = "containerd-config"
	Buildkitd            Format = "buildkitd"
	K3sRegistries        Format = "k3s-registries"
	Kubernetes           Format = "kubernetes"
	Kustomization        Format = "kustomization"
	HelmRepositories     Format = "helm-repositories"
	HelmChart            Format = "helm-chart"
	Helmfile             Format = "helmfile"
	Terraform            Format = "terraform"
	HarborRegistries     Format = "harbor-registries"
	Renovate             Format = "renovate"
	Dependabot           Format = "dependabot"
	GitHubWorkflow       Format = "github-workflow"
	GitLabCI             Format = "gitlab-ci"
	Talos                Format = "talos"
	DockerDaemon         Format = "docker-daemon"
	Helmwave             Format = "helmwave"
	Vendir               Format = "vendir"
	Skaffold             Format = "skaffold"
	Compose              Format = "compose"
	Dockerfile           Format = "dockerfile"
	Pipeline             Format = "pipeline"
	Script               Format = "script"
	ArgoCDImageUpdater   Format = "argocd-image-updater"
	Nomad                Format = "nomad"
	ECSTask              Format = "ecs-task"
	CloudFormation       Format = "cloudformation"
	Copilot              Format = "copilot"
	AzureContainer       Format = "azure-container"
	Render               Format = "render"
	GitLabRunner         Format = "gitlab-runner"
	CRIO                 Format = "crio"
	RKE                  Format = "rke"
	CloudInit            Format = "cloud-init"
	Butane               Format = "butane"
	Fleet                Format = "fleet"
	Helmsman             Format = "helmsman"
	DevSpace             Format = "devspace"
	Concourse            Format = "concourse"
	CircleCI             Format = "circleci"
	Bitbucket            Format = "bitbucket-pipelines"
	Drone                Format = "drone"
	Kamal                Format = "kamal"
	Distribution         Format = "distribution"
	Regsync              Format = "regsync"
	Regctl               Format = "regctl"
	RegistryDefinition   Format = "regwarden"
)

// Consumer is a program that uses registry definitions. Consumers choose credentials by different rules.
type Consumer string

// Consumers.
const (
	Docker     Consumer = "docker"
	Podman     Consumer = "podman"
	Kubelet    Consumer = "kubelet"
	Flux       Consumer = "flux"
	ArgoCD     Consumer = "argocd"
	Helm       Consumer = "helm"
	Containerd Consumer = "containerd"
)

// Consumers lists all consumers.
var Consumers = []Consumer{Docker, Podman, Kubelet, Flux, ArgoCD, Helm, Containerd}

// ConsumerNames lists the names of all consumers.
func ConsumerNames() []string {
	names := make([]string, len(Consumers))
	for i, c := range Consumers {
		names[i] = string(c)
	}
	return names
}

// Source is a place in a file. Line counts from 1; it is 0 if the format has no lines. Object is a name within the file, such as
// "HelmRepository flux-system/podinfo".
type Source struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitzero"`
	Object string `json:"object,omitempty"`
}

// InFile names a place within its file; it is empty for the file as a whole.
func (s Source) InFile() string {
	var parts []string
	if s.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", s.Line))
	}
	if s.Object != "" {
		parts = append(parts, s.Object)
	}
	return strings.Join(parts, ", ")
}

// String returns the place as file:line, only the file without a line.
func (s Source) String() string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// Resolution is whether a definition is complete.
type Resolution string

// Resolutions. Credentials of an unresolved definition exist, but not in the files that were read: it cannot be checked, and
// must never be reported as valid.
const (
	Resolved   Resolution = "resolved"
	Unresolved Resolution = "unresolved"
)

// Registry is a definition that was found.
type Registry struct {
	Sources    []Source            `json:"source"` // every place that uses it, at least one
	Format     Format              `json:"format"`
	Consumer   Consumer            `json:"consumer,omitempty"`
	Definition regcheck.Definition `json:"definition"`
	Resolution Resolution          `json:"resolution"`
	Reason     UnresolvedReason    `json:"reason"` // null if resolved
	Detail     Detail              `json:"detail"` // what is missing, for people
	Notices    []Notice            `json:"notices"`
	Secret     *Source             `json:"-"`                    // the object with the credentials, if it is another one
	Steps      []string            `json:"-"`                    // how the consumer chose the credentials, with Options.Explain
	Report     *regcheck.Report    `json:"report"`               // null unless it was checked
	NotChecked string              `json:"notChecked,omitempty"` // why the check has no report: a fault of the checker, not of the registry
	// DefinitionProblems is why a complete definition cannot be used, such as a line break in a password: it is not valid, and no
	// registry was contacted. Before a check they have nothing about a private key but that it is none.
	DefinitionProblems []regcheck.Problem `json:"definitionProblems,omitempty"`
}

// Detail is a text that is null in JSON if it is empty.
type Detail string

// MarshalJSON writes null for no text.
func (d Detail) MarshalJSON() ([]byte, error) { return textOrNull(string(d)) }

// MarshalJSON writes null for no reason.
func (r UnresolvedReason) MarshalJSON() ([]byte, error) { return textOrNull(string(r)) }

func textOrNull(text string) ([]byte, error) {
	if text == "" {
		return []byte("null"), nil
	}
	return json.Marshal(text)
}

// Notice is something that the user should know about a definition. It does not change the result of its check.
type Notice struct {
	Code    NoticeCode `json:"code"`
	Message string     `json:"message"`
}

// Skipped is something that was recognized and is not a registry definition to check.
type Skipped struct {
	Source  Source     `json:"source"`
	Reason  SkipReason `json:"reason"`
	Message string     `json:"message"`
}

// Problem is something that cannot be read, and that its consumer cannot read either.
type Problem struct {
	Source  Source        `json:"source"`
	Reason  ProblemReason `json:"reason"`
	Message string        `json:"message"`
}

// Result is what was found, in the order of the files. Definitions that differ only in their source are one.
type Result struct {
	Registries []Registry `json:"registries"`
	Skipped    []Skipped  `json:"skipped"`
	Problems   []Problem  `json:"problems"`
	References []Registry `json:"references,omitempty"` // images and charts that are used without credentials of the files
	LeftOut    []string   `json:"leftOut,omitempty"`    // directories of test data, documentation and vendored code; the first 1,000
	Summary    Summary    `json:"summary"`
}

// Summary counts what a Result has. Found counts definitions; each of them is unresolved, valid, not valid or not checked.
type Summary struct {
	Found      int `json:"found"`
	Checked    int `json:"checked"`
	Valid      int `json:"valid"`
	NotValid   int `json:"notValid"`
	Unresolved int `json:"unresolved"`
	Skipped    int `json:"skipped"`
	Problems   int `json:"problems"`
	Excluded   int `json:"excluded,omitempty"` // files and directories that were not read
	Ignored    int `json:"ignored,omitempty"`  // issues that a comment names; they are not in the result
	Known      int `json:"known,omitempty"`    // issues of a baseline; they are not in the result
	References int `json:"references,omitempty"`
	LeftOut    int `json:"leftOut,omitempty"`  // directories that were not read
	Unparsed   int `json:"unparsed,omitempty"` // files that cannot be parsed, and are of no known program

	Silent Silent `json:"silent,omitzero"`
}

// Silent counts the files of a directory that define nothing.
type Silent struct {
	Foreign   int `json:"foreign,omitempty"`   // not opened: source code, documentation, pictures and archives by their names
	Irregular int `json:"irregular,omitempty"` // not opened: links, pipes and devices
	TooLarge  int `json:"tooLarge,omitempty"`
	Binary    int `json:"binary,omitempty"`
	Unrelated int `json:"unrelated,omitempty"` // of no known format
}

// Validate sets DefinitionProblems of complete definitions, which needs no check, and Summary.
func (r *Result) Validate() {
	r.ValidateWhile(func() bool { return true })
}

// ValidateWhile is Validate for a caller with little time: when more returns false, the other definitions have no DefinitionProblems.
func (r *Result) ValidateWhile(more func() bool) {
	known := tlsProblems{}
	for i := range r.Registries {
		if !more() {
			break
		}
		if found := &r.Registries[i]; found.Resolution == Resolved {
			found.DefinitionProblems = known.problems(found.Definition)
		}
	}
	r.Summarize()
}

// tlsProblems are the problems of certificates and keys, which are read once however many definitions have them.
type tlsProblems map[regcheck.TLS][]regcheck.Problem

func (t tlsProblems) problems(d regcheck.Definition) []regcheck.Problem {
	if d.Auth.TLS == (regcheck.TLS{}) {
		return d.FileProblems()
	}
	auth := *d.Auth
	problems, known := t[auth.TLS]
	if !known {
		problems = regcheck.Definition{Endpoint: "https://host", Auth: &regcheck.Auth{TLS: auth.TLS}}.FileProblems()
		t[auth.TLS] = problems
	}
	auth.TLS, d.Auth = regcheck.TLS{}, &auth
	return append(d.FileProblems(), problems...)
}

// Summarize sets r.Summary from the rest, after reports have been added.
func (r *Result) Summarize() {
	s := &r.Summary
	*s = Summary{Found: len(r.Registries), Skipped: len(r.Skipped), Problems: len(r.Problems),
		Excluded: s.Excluded, Ignored: s.Ignored, Known: s.Known, References: len(r.References), LeftOut: s.LeftOut, Unparsed: s.Unparsed,
		Silent: s.Silent}
	for _, found := range r.Registries {
		switch {
		case found.Resolution == Unresolved:
			r.Summary.Unresolved++
		case len(found.DefinitionProblems) > 0:
			r.Summary.NotValid++
		case found.Report == nil:
		case found.Report.Valid:
			r.Summary.Checked++
			r.Summary.Valid++
		default:
			r.Summary.Checked++
			r.Summary.NotValid++
		}
	}
}

// DefaultFileTime is a FileTime for files of others. Files that are used in practice take a small part of it.
const DefaultFileTime = 2 * time.Second

// Options is how to read.
type Options struct {
	// Format forces the format of all files. Empty: it is detected from each file's content.
	Format Format
	// As is the consumer by whose rules credentials are chosen. Empty: the consumer of the format.
	As Consumer
	// Helper asks credential helpers. nil: none is started, and definitions whose credentials they have are unresolved.
	Helper Helper `json:"-"`
	// All reads the directories of test data, documentation and vendored code too, which a walk of a tree leaves out.
	All bool
	// SkipUnknown reads a file that is named itself as one that a walk finds: what no known program reads, and what is too large, is left
	// out silently. It is for lists of files that the user did not choose one by one, such as those of a commit.
	SkipUnknown bool
	// Explain keeps how consumers chose the credentials in the Steps of each Registry.
	Explain bool
	// Now is the time against which credentials expire; the zero value means time.Now.
	Now time.Time
	// FileTime is the processor time that reading one file may take; then its result has what was found until then, and a problem that
	// says so. It is compared between entries, not while a file is decoded. Only one Scanner of the process can be used at a time then.
	// 0: no limit.
	FileTime time.Duration
	// MemoryIsFull reports, between entries, that reading has to end as with FileTime. nil: it never has to.
	MemoryIsFull func() bool `json:"-"`
	// Versioned reports whether a file, named as in sources, is in a repository: a Secret in plain text has a notice there. nil: none is.
	Versioned func(file string) bool `json:"-"`
	// ReadFile reads a file outside of the tree that a scanned file names. nil: such files are not read.
	ReadFile func(name string) ([]byte, error) `json:"-"`
}

// Helper returns the credentials that a credential helper such as docker-credential-ecr-login has for a server. Empty credentials mean
// that it has none. It returns ErrHelperNotAllowed for a program that must not be started.
type Helper func(program, server string) (username string, password secret.String, err error)

// ErrHelperNotAllowed is the error of a Helper that did not start the program.
var ErrHelperNotAllowed = errors.New("the program was not allowed")

// Environment is what the locations of credentials depend on.
type Environment struct {
	OS     string // as runtime.GOOS has it
	Getenv func(string) string
	Home   string
	UID    int
}

// Location is where a consumer looks for credentials: a file, or an environment variable that has the text of one.
type Location struct {
	Path     string
	Variable string
	Format   Format
}
