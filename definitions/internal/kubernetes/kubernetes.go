// Package kubernetes reads Kubernetes objects: pull Secrets and the workloads that use them, Flux, Argo CD and its Image Updater, Zarf.
package kubernetes

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

const (
	dockerConfigSecret = "kubernetes.io/dockerconfigjson"
	dockercfgSecret    = "kubernetes.io/dockercfg"
	bitnamiSecret      = "bitnami.com/SealedSecret"
	externalSecret     = "external-secrets.io/ExternalSecret"
)

// dockerKeys has the key of each type of Secret that kubelet uses.
var dockerKeys = map[string]string{dockerConfigSecret: ".dockerconfigjson", dockercfgSecret: ".dockercfg"}

// coreKinds has what resolves the objects of Kubernetes itself, and of controllers that create Secrets.
var coreKinds = map[string]resolver{
	"Secret":       resolveSecret,
	bitnamiSecret:  resolveBitnamiSecret,
	externalSecret: resolveExternalSecret,
}

func (o *object) secretType() string { return o.node.Get("type").Text() }

func resolveSecret(s *scanner.Scanner, o *object) {
	_, docker := dockerKeys[o.secretType()]
	switch {
	case o.isEncrypted():
		if docker || isSOPS(o.node.Get("type")) {
			s.Skip(o.at(nil), model.SkipEncrypted, "SOPS encrypted the Secret. "+readInstead)
		}
	case docker:
		addPullSecret(s, o)
	case o.namespace == "zarf" && o.name == "zarf-state":
		addZarfState(s, o)
	default:
		reportWrongType(s, o)
	}
}

// reportWrongType reports a Secret that has a key of a pull Secret, but another type. It is not decoded.
func reportWrongType(s *scanner.Scanner, o *object) {
	for secretType, key := range dockerKeys {
		for _, member := range []string{"data", "stringData"} {
			if n := o.node.Get(member, key); n != nil {
				s.Problem(o.at(n), model.ProblemWrongShape, "The Secret has the key %s, but not the type %s, without which kubelet and Flux ignore the key. Delete the Secret and create it with this type.", key, secretType)
				return
			}
		}
	}
}

func addPullSecret(s *scanner.Scanner, o *object) {
	key := dockerKeys[o.secretType()]
	d := o.readDockerFile()
	config, v := d.config, d.value
	switch {
	case v.at == nil:
		s.Problem(o.at(nil), model.ProblemWrongShape, "Kubernetes rejects the Secret: its type %s needs the key %s.", o.secretType(), key)
		return
	case v.gap != nil && v.gap.reason == model.UnresolvedTemplate:
		s.Skip(o.at(v.at), model.SkipTemplate, "The value %s is a placeholder. %s", key, readInstead)
		return
	case v.gap != nil:
		s.Problem(o.at(v.at), model.ProblemInvalidBase64, "Kubernetes rejects the Secret: the value %s is not valid base64. Encode it with base64 -w0, or move it to stringData.", key)
		return
	case d.err != nil:
		s.Problem(o.at(v.at), model.ProblemNotJSON, "Kubernetes rejects the Secret: the value %s is not valid JSON.", key)
		return
	}
	if hint := shapeHint(o.secretType(), v.text, config); hint != "" {
		s.Problem(o.at(v.at), model.ProblemWrongShape, "%s", hint)
		return
	}
	consumer := s.Consumer(model.Kubelet)
	rules := scanner.RulesOf(consumer, model.Kubernetes)
	s.AddCredentials(scanner.CredentialFile{Config: config, Reader: model.Kubernetes, Consumer: consumer, Rules: rules, At: func(int, string) model.Source { return o.at(v.at) }})
	if len(config.Entries(rules)) == 0 && config.Store == "" && len(config.Helpers) == 0 && config.Rejected(rules) == nil {
		s.Skip(o.at(v.at), model.SkipEmptyEntry, "The Secret has no entries.")
	}
	if rules == dockerauth.Kubelet && (config.Store != "" || len(config.Helpers) > 0) && !hasCredentials(config) {
		s.Problem(o.at(v.at), model.ProblemAuthMissing, "The Secret has no credentials: they are in credsStore or credHelpers of another machine, which kubelet ignores. Create the Secret with kubectl create secret docker-registry.")
	}
}

// shapeHint returns what is wrong with a value that has the entries of the other type.
func shapeHint(secretType, text string, config *dockerauth.Config) string {
	nested := strings.Contains(text, `"auths"`)
	switch entries := config.Entries(dockerauth.Kubelet); {
	case secretType == dockercfgSecret && nested:
		return "kubelet finds no credentials: with the type " + dockercfgSecret +
			", the value has its entries without auths. Use the type " + dockerConfigSecret + "."
	case secretType == dockerConfigSecret && !nested && len(entries) == 0 && config.Store == "" && len(config.Helpers) == 0:
		return "kubelet finds no credentials: with the type " + dockerConfigSecret + ", the value must have its entries in auths."
	}
	return ""
}

func hasCredentials(config *dockerauth.Config) bool {
	return slices.ContainsFunc(config.Entries(dockerauth.Kubelet), func(e *dockerauth.Entry) bool { return !e.Empty() })
}

func resolveBitnamiSecret(s *scanner.Scanner, o *object) {
	if _, docker := dockerKeys[o.node.Get("spec", "template", "type").Text()]; docker {
		s.Skip(o.at(nil), model.SkipEncrypted, "The SealedSecret is encrypted. "+readInstead)
	}
}

func resolveExternalSecret(s *scanner.Scanner, o *object) {
	if _, docker := dockerKeys[o.node.Get("spec", "target", "template", "type").Text()]; docker {
		s.Skip(o.at(nil), model.SkipTemplate, "The ExternalSecret is a template for a Secret, whose values are in another store. "+readInstead)
	}
}

// zarfPort is the NodePort of Zarf's registry unless it is set.
const zarfPort = 31999

// addZarfState adds the registry of Zarf. Nodes pull from it with one user, and Zarf pushes to it with another.
func addZarfState(s *scanner.Scanner, o *object) {
	v := o.secretValue("state")
	if v.at == nil || v.gap != nil {
		s.Problem(o.at(v.at), model.ProblemWrongShape, "Zarf needs the key state with the state in JSON.")
		return
	}
	root, err := node.JSON([]byte(v.text))
	if err != nil {
		s.Problem(o.at(v.at), model.ProblemNotJSON, "Zarf cannot read its state: the value is not valid JSON.")
		return
	}
	info := root.Get("registryInfo")
	address := info.Get("address").Text()
	if address == "" {
		address = fmt.Sprintf("127.0.0.1:%d", zarfPort)
	}
	for _, user := range []string{"pull", "push"} {
		c := dockerauth.Credential{Username: info.Get(user + "Username").Text(), Password: secret.String(info.Get(user + "Password").Text())}
		if c == (dockerauth.Credential{}) {
			continue
		}
		r := model.Registry{Sources: []model.Source{o.at(v.at)}, Format: model.Kubernetes, Consumer: model.Kubelet}
		host, path, _ := strings.Cut(address, "/")
		r.Definition = regcheck.Definition{Endpoint: scanner.EndpointOf(host), BaseContentPath: path, ProviderType: regcheck.Zarf}
		reachedFrom(&r, host)
		scanner.Use(&r, c, dockerauth.Kubelet)
		s.Found(r)
	}
}

// reachedFrom adds notices about hosts that only a node or the cluster reaches. containerd, which pulls for kubelet, connects to the node
// itself without TLS.
func reachedFrom(r *model.Registry, host string) {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	address, err := netip.ParseAddr(strings.Trim(name, "[]"))
	switch {
	case name == "localhost" || err == nil && address.IsLoopback():
		scanner.AddNotice(r, model.NoticeOnlyFromTheNode, "%s is each node of the cluster itself. Run the check on a node.", host)
		if r.Consumer == model.Kubelet {
			scanner.SetPlainHTTP(r, "containerd")
		}
	case strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".svc.cluster.local"):
		scanner.AddNotice(r, model.NoticeOnlyFromTheCluster, "%s is a Service of the cluster. Run the check in the cluster.", host)
	}
}
