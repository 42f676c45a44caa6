// Package definitions finds registry definitions in the files where teams already have them: configurations of docker, Kubernetes, Flux,
// Argo CD, Helm, containerd, Terraform and others. Each is resolved as the program that uses the file would resolve it.
//
// The package reads and never contacts a registry. It opens no file outside of the given file systems and starts no program.
// Files are hostile input: their number, size, depth and aliases are limited. The result has secrets as secret.String, which print masked.
package definitions

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/docker"
	"github.com/regwarden/regwarden/definitions/internal/kubernetes"
	"github.com/regwarden/regwarden/definitions/internal/projects"
	"github.com/regwarden/regwarden/definitions/internal/runtimes"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
)

// Scanner collects what many files have, in three passes: each file is read when it is added, what files say of each other is resolved when
// all have been added, and the result is reported. A Scanner is used by one goroutine at a time.
type Scanner struct {
	*scanner.Scanner
	cluster *kubernetes.Cluster
}

// NewScanner returns a Scanner without files.
func NewScanner(o model.Options) *Scanner {
	s := &Scanner{Scanner: scanner.New(o)}
	s.cluster = kubernetes.NewCluster(s.Scanner)
	s.Formats = formats(s.cluster, runtimes.NewMachines())
	return s
}

// Result resolves what was added, and returns it. No slice is nil.
func (s *Scanner) Result() model.Result {
	s.Complete(func() {
		s.cluster.Resolve()
		s.ApplyInsecure()
	})
	return s.Scanner.Result()
}

// Read returns what the files of fsys have.
func Read(ctx context.Context, fsys fs.FS, o model.Options) (model.Result, error) {
	s := NewScanner(o)
	if err := s.AddTree(ctx, "", fsys); err != nil {
		return model.Result{}, err
	}
	return s.Result(), nil
}

// Lookup returns the definition that a consumer would use for a reference (host[:port][/path], with or without tag), given its file of
// credentials, and the reasoning, one sentence per step. name is shown as the file. o.Format is one of DockerConfig, DockerAuthConfigEnv,
// Dockercfg and ContainersAuth; the error is for another one, and for a file that is not JSON. A file that the consumer rejects, and
// credentials that are not in it, are not an error: the definition is unresolved.
func Lookup(name string, config []byte, reference string, o model.Options) (model.Registry, []string, error) {
	return docker.LookUp(name, config, reference, o)
}

// ConsumerOf returns who uses a file of credentials: its format is one of those of Lookup.
func ConsumerOf(format model.Format) model.Consumer { return docker.ConsumerOf(format) }

// Locations returns where a consumer looks for credentials, in this order. It uses the first location that has an entry for the registry.
// Consumers whose credentials are in a cluster have no locations.
func Locations(consumer model.Consumer, e model.Environment) []model.Location {
	return docker.Locations(consumer, e)
}

// DefinitionJSON returns a definition that is written as JSON or YAML as the JSON body of the HTTP API. JSON is returned unchanged, so that
// the caller decodes both with the same rules: YAML becomes JSON with its types and all of its members. The error completes
// a sentence that begins with the name of the file, and has no values of it.
func DefinitionJSON(data []byte) ([]byte, error) { return projects.DefinitionJSON(data) }

// formats lists every format once; more specific ones are first.
func formats(cluster *kubernetes.Cluster, machines *runtimes.Machines) []scanner.Reader {
	return slices.Concat(docker.Formats, cluster.ImageUpdaterFormats(), machines.Formats(), projects.TerraformFormats(cluster),
		projects.TableFormats(), cluster.KustomizeFormats(), cluster.ObjectFormats(), projects.HelmFormats, projects.HarborFormats,
		projects.RenovateFormats, projects.DependabotFormats, projects.GitHubFormats, projects.PipelineFormats, projects.GitLabFormats,
		projects.ImageFormats, projects.RegwardenFormats)
}

// FormatNames lists the names of all formats.
func FormatNames() []string {
	var names []string
	for _, f := range NewScanner(model.Options{}).Formats {
		if !slices.Contains(names, string(f.Name)) {
			names = append(names, string(f.Name))
		}
	}
	return names
}

// KnownFormat returns the format of this name, and an error that lists all formats if there is none.
func KnownFormat(name string) (model.Format, error) {
	if names := FormatNames(); !slices.Contains(names, name) {
		return "", fmt.Errorf("unknown format %q; formats: %s", name, strings.Join(names, ", "))
	}
	return model.Format(name), nil
}
