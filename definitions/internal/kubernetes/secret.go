package kubernetes

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// secretData is what a Secret has. It is read once, however many objects refer to it.
type secretData struct {
	encrypted        bool
	data, stringData map[string]*node.Node
	values           map[string]secretValue // those that were read

	docker *dockerFile
	auths  *updaterAuths
}

// dockerFile is the value of a pull Secret.
type dockerFile struct {
	config *dockerauth.Config // nil if it cannot be read, and when an index has it
	value  secretValue
	legacy bool
	err    error // of a text that is not JSON

	patterns *dockerauth.Patterns // nil until it is needed
	hosts    *dockerHosts         // nil until it is needed
}

// secret returns what the object has as a Secret.
func (o *object) secret() *secretData {
	if o.read == nil {
		o.read = &secretData{data: members(o.node.Get("data")), stringData: members(o.node.Get("stringData"))}
		o.read.encrypted = o.node.Get("sops").IsObject() || hasSOPS(o.read.data) || hasSOPS(o.read.stringData)
	}
	return o.read
}

func members(n *node.Node) map[string]*node.Node {
	if len(n.Pairs()) == 0 {
		return nil
	}
	byName := make(map[string]*node.Node, len(n.Pairs()))
	for _, p := range n.Pairs() {
		byName[p.Key] = p.Value
	}
	return byName
}

// isEncrypted reports whether SOPS encrypted the object.
func (o *object) isEncrypted() bool { return o.secret().encrypted }

func hasSOPS(members map[string]*node.Node) bool {
	for _, value := range members {
		if isSOPS(value) {
			return true
		}
	}
	return false
}

func isSOPS(n *node.Node) bool { return strings.HasPrefix(n.Text(), "ENC[AES256_GCM,") }

// anyKey is for all keys of a Secret whose names are not known. No key has this name.
const anyKey = "*"

// secretValue is a value of a Secret.
type secretValue struct {
	text string
	at   *node.Node // nil if the Secret does not have it
	gap  *gap       // why it cannot be read
}

// secretValue reads the value of one key. stringData has precedence over data.
func (o *object) secretValue(key string) secretValue {
	of := o.secret()
	v, known := of.values[key]
	if !known {
		if of.values == nil {
			of.values = map[string]secretValue{}
		}
		v = o.readValue(key)
		of.values[key] = v
	}
	return v
}

func (o *object) readValue(key string) secretValue {
	if g := o.unread[key]; g != nil {
		return secretValue{at: o.node, gap: g}
	}
	n, isPlain := o.secret().stringData[key], true
	if n == nil {
		n, isPlain = o.read.data[key], false
	}
	switch {
	case n == nil && o.unread[anyKey] != nil:
		return secretValue{at: o.node, gap: o.unread[anyKey]}
	case n == nil:
		return secretValue{}
	case n.IsNull() && o.file.Annotated:
		return secretValue{"", n, gapf(model.UnresolvedTemplate, placeholderText, key, dockerauth.Show(o.name))}
	case (!isPlain || key == dockerKeys[o.secretType()]) && scanner.IsBase64Placeholder(n.Text()):
		return secretValue{"", n, gapf(model.UnresolvedTemplate, placeholderText, key, dockerauth.Show(o.name))}
	case isPlain:
		return secretValue{n.Text(), n, o.placeholder(key, n.Text())}
	}
	decoded, err := base64.StdEncoding.DecodeString(n.Text())
	if err == nil {
		return secretValue{string(decoded), n, nil}
	}
	if g := o.placeholder(key, n.Text()); g != nil {
		return secretValue{"", n, g}
	}
	return secretValue{"", n, gapf(model.UnresolvedIncomplete,
		"The value %q of the Secret %q is not valid base64, which Kubernetes rejects.", key, dockerauth.Show(o.name))}
}

// login returns username and password of a Secret. r lacks those that cannot be read.
func (o *object) login(r *model.Registry) *regcheck.Auth {
	username, password := o.secretValue("username"), o.secretValue("password")
	lacks(r, username.gap)
	lacks(r, password.gap)
	return scanner.BasicAuth(username.text, password.text)
}

// plainNotices returns the notice for a Secret with a password that is in plain text under version control.
func (o *object) plainNotices(c *Cluster) []model.Notice {
	if c.Options.Versioned == nil || !c.Options.Versioned(o.file.Name) {
		return nil
	}
	return []model.Notice{{Code: model.NoticeSecretInRepository,
		Message: fmt.Sprintf("The Secret %q is not encrypted, and everyone who can read the repository can use it. "+
			"Encrypt it with SOPS or as a SealedSecret, or create it by an ExternalSecret. Then replace the "+
			"password.", dockerauth.Show(o.name))}}
}

// placeholder returns a gap for a value that is replaced before Kubernetes reads it: by Helm, Flux, envsubst, or Argo CD's Vault plugin.
func (o *object) placeholder(key, text string) *gap {
	if argoVault := strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">"); !argoVault && !scanner.IsTemplate(text) {
		return nil
	}
	return gapf(model.UnresolvedTemplate, placeholderText, key, dockerauth.Show(o.name))
}

const placeholderText = "The value %q of the Secret %q is a placeholder, which is replaced before Kubernetes reads it."

// dockerFile returns what a pull Secret has.
func (o *object) dockerFile() *dockerFile {
	of := o.secret()
	if of.docker == nil {
		of.docker = o.readDockerFile()
	}
	return of.docker
}

// readDockerFile is dockerFile for what is needed once, and not stored.
func (o *object) readDockerFile() *dockerFile {
	d := &dockerFile{value: o.readValue(dockerKeys[o.secretType()])}
	if d.value.at != nil && d.value.gap == nil {
		d.legacy = o.secretType() == dockercfgSecret
		d.config, d.err = dockerauth.Parse([]byte(d.value.text), d.legacy)
	}
	return d
}

// usable returns why a consumer cannot read the value, nil if it can.
func (d *dockerFile) usable(o *object) *gap {
	switch {
	case d.value.at == nil:
		return gapf(model.UnresolvedIncomplete, "The Secret %q lacks the key %s.", dockerauth.Show(o.name), dockerKeys[o.secretType()])
	case d.value.gap != nil:
		return d.value.gap
	case d.err != nil:
		return gapf(model.UnresolvedIncomplete, "The value %s of the Secret %q is not valid JSON.", dockerKeys[o.secretType()],
			dockerauth.Show(o.name))
	}
	return nil
}

// index returns the entries by what kubelet compares.
func (d *dockerFile) index() *dockerauth.Patterns {
	if d.patterns == nil {
		d.patterns = d.only(dockerauth.Kubelet).Patterns()
	}
	return d.patterns
}

// only returns the file for an index by the rules of one consumer.
func (d *dockerFile) only(rules dockerauth.Rules) *dockerauth.Config {
	config := d.config
	if d.config = nil; config == nil {
		config, _ = dockerauth.Parse([]byte(d.value.text), d.legacy)
	}
	return config.Only(rules)
}
