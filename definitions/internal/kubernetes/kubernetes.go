// Package kubernetes reads Kubernetes objects: pull Secrets and the workloads that use them, Flux, Argo CD and its Image Updater, Zarf.
package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/docker"
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

// externalSecrets are kinds of other programs that are used as ExternalSecrets are: their objects create a Secret from another store.
var externalSecrets = map[string]bool{"onepassword.com/OnePasswordItem": true, "secrets.hashicorp.com/VaultStaticSecret": true,
	"secrets.hashicorp.com/VaultDynamicSecret": true}

// coreKinds has what resolves the objects of Kubernetes itself, and of controllers that create Secrets.
var coreKinds = map[string]resolver{
	"Secret":       resolveSecret,
	bitnamiSecret:  resolveBitnamiSecret,
	externalSecret: resolveExternalSecret,
}

func (o *object) secretType() string { return o.node.Get("type").Text() }

func resolveSecret(c *Cluster, o *object) {
	_, docker := dockerKeys[o.secretType()]
	switch {
	case o.isEncrypted():
		if docker || isSOPS(o.node.Get("type")) {
			c.Skip(o.at(nil), model.SkipEncrypted, "SOPS encrypted the Secret. "+readInstead)
		}
	case docker:
		addPullSecret(c, o)
	case o.namespace == "zarf" && o.name == "zarf-state":
		addZarfState(c, o)
	case o.secretType() == "kubernetes.io/basic-auth":
		addTektonLogin(c, o)
	default:
		reportWrongType(c, o)
	}
}

// addTektonLogin adds the registries that annotations of a Secret name: Tekton logs in there in each step.
func addTektonLogin(c *Cluster, o *object) {
	for _, annotation := range o.node.Get("metadata", "annotations").Pairs() {
		if !strings.HasPrefix(annotation.Key, "tekton.dev/docker-") {
			continue
		}
		e := scanner.Entry{At: o.at(annotation.Value), Address: annotation.Value.Text(), Path: scanner.PathIgnored}
		e.Format, e.Consumer, e.Notices = model.Kubernetes, model.Docker, o.plainNotices(c)
		e.Definition.Auth = o.login(&e.Registry)
		e.Add(c.Scanner)
	}
}

// reportWrongType reports a Secret that has a key of a pull Secret, but another type. It is decoded only if something else than kubelet
// reads it, such as a pod that mounts it as the docker config of kaniko.
func reportWrongType(c *Cluster, o *object) {
	if reader := c.readerOf(o); reader != "" && addOtherConfig(c, o, reader) {
		return
	}
	for secretType, key := range dockerKeys {
		for _, member := range []string{"data", "stringData"} {
			if n := o.node.Get(member, key); n != nil {
				c.Problem(o.at(n), model.ProblemWrongShape,
					"The Secret has the key %s, but not the type %s, without which kubelet and Flux ignore the key. Delete the Secret "+
						"and create it with this type.", key, secretType)
				return
			}
		}
	}
}

func addPullSecret(c *Cluster, o *object) {
	d := o.readDockerFile()
	if reportUnreadable(c, o, d) {
		return
	}
	at := o.at(d.value.at)
	if hint := shapeHint(o.secretType(), d.value.text, d.config); hint != "" {
		c.Problem(at, model.ProblemWrongShape, "%s", hint)
		return
	}
	consumer := c.Consumer(model.Kubelet)
	rules := docker.RulesOf(consumer, model.Kubernetes)
	docker.CredentialFile{Config: d.config, Reader: model.Kubernetes, Consumer: consumer, Rules: rules, Cluster: true,
		Notices: o.plainNotices(c), At: func(int, string) model.Source { return at }}.Add(c.Scanner)
	switch entries := d.config.Entries(rules); {
	case len(entries) == 0 && !d.config.HasHelpers() && d.config.Rejected(rules) == nil:
		c.Skip(at, model.SkipEmptyEntry, "The Secret has no entries.")
	case rules == dockerauth.Kubelet && d.config.HasHelpers() && !hasCredentials(entries):
		c.Problem(at, model.ProblemAuthMissing,
			"The Secret has no credentials: they are in credsStore or credHelpers of another machine, which kubelet ignores. Create the "+
				"Secret with kubectl create secret docker-registry.")
	}
}

// reportUnreadable reports a pull Secret whose value cannot be read, and returns whether it did.
func reportUnreadable(c *Cluster, o *object, d *dockerFile) bool {
	key, v := dockerKeys[o.secretType()], d.value
	switch {
	case v.at == nil:
		c.Problem(o.at(nil), model.ProblemWrongShape, "Kubernetes rejects the Secret: its type %s needs the key %s.", o.secretType(), key)
	case v.gap != nil:
		reportGap(c, o.at(v.at), key, v.gap)
	case d.err != nil:
		c.Problem(o.at(v.at), model.ProblemNotJSON, "Kubernetes rejects the Secret: the value %s is not valid JSON.", key)
	default:
		return false
	}
	return true
}

func reportGap(c *Cluster, at model.Source, key string, g *gap) {
	switch g.reason {
	case model.UnresolvedTemplate:
		c.Skip(at, model.SkipTemplate, "The value %s is a placeholder. %s", key, readInstead)
	case model.UnresolvedEncrypted:
		c.Skip(at, model.SkipEncrypted, "%s", g.detail)
	case model.UnresolvedConfigFile:
		c.Skip(at, model.SkipTemplate, "%s", g.detail)
	default:
		c.Problem(at, model.ProblemInvalidBase64,
			"Kubernetes rejects the Secret: the value %s is not valid base64. Encode it with base64 -w0, or move it to stringData.", key)
	}
}

// shapeHint returns what is wrong with a value that has the entries of the other type.
func shapeHint(secretType, text string, config *dockerauth.Config) string {
	nested := strings.Contains(text, `"auths"`)
	switch entries := config.Entries(dockerauth.Kubelet); {
	case strings.TrimSpace(text) == "{}": // which another program fills
		return ""
	case secretType == dockercfgSecret && nested:
		return "kubelet finds no credentials: with the type " + dockercfgSecret +
			", the value has its entries without auths. Use the type " + dockerConfigSecret + "."
	case secretType == dockerConfigSecret && !nested && len(entries) == 0 && !config.HasHelpers():
		return "kubelet finds no credentials: with the type " + dockerConfigSecret + ", the value must have its entries in auths."
	}
	return ""
}

func hasCredentials(entries []*dockerauth.Entry) bool {
	return slices.ContainsFunc(entries, func(e *dockerauth.Entry) bool { return !e.Empty() })
}

func resolveBitnamiSecret(c *Cluster, o *object) {
	if _, docker := dockerKeys[o.node.Get("spec", "template", "type").Text()]; docker {
		c.Skip(o.at(nil), model.SkipEncrypted, "The SealedSecret is encrypted. "+readInstead)
	}
}

func resolveExternalSecret(c *Cluster, o *object) {
	if _, docker := dockerKeys[o.node.Get("spec", "target", "template", "type").Text()]; docker {
		c.Skip(o.at(nil), model.SkipTemplate,
			"The ExternalSecret is a template for a Secret, whose values are in another store. "+readInstead)
	}
}

// zarfPort is the NodePort of Zarf's registry unless it is set.
const zarfPort = 31999

// addZarfState adds the registry of Zarf. Nodes pull from it with one user, and Zarf pushes to it with another.
func addZarfState(c *Cluster, o *object) {
	v := o.secretValue("state")
	if v.at == nil || v.gap != nil {
		c.Problem(o.at(v.at), model.ProblemWrongShape, "Zarf needs the key state with the state in JSON.")
		return
	}
	root, err := node.JSON([]byte(v.text))
	if err != nil {
		c.Problem(o.at(v.at), model.ProblemNotJSON, "Zarf cannot read its state: the value is not valid JSON.")
		return
	}
	info := root.Get("registryInfo")
	address := info.Get("address").Text()
	if address == "" {
		address = fmt.Sprintf("127.0.0.1:%d", zarfPort)
	}
	for _, user := range []string{"pull", "push"} {
		login := dockerauth.Credential{Username: info.Get(user + "Username").Text(),
			Password: secret.String(info.Get(user + "Password").Text())}
		if login == (dockerauth.Credential{}) {
			continue
		}
		host, path, _ := strings.Cut(address, "/")
		r := o.registry(v.at, model.Kubelet, host, path)
		r.Definition.ProviderType = regcheck.Zarf
		docker.Use(&r, login, dockerauth.Kubelet)
		c.Found(r)
	}
}
