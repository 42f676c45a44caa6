package kubernetes

import (
	"cmp"

	"github.com/regwarden/regwarden/definitions/internal/docker"
	"github.com/regwarden/regwarden/definitions/model"
)

// installerSecrets are the fields of OpenShift's installers with the name of a pull Secret, whose type they do not compare. They read it in
// the namespace of the new cluster, which is not always that of the object.
var installerSecrets = map[string]string{
	"hypershift.openshift.io/HostedCluster":                 "spec.pullSecret.name",
	"hive.openshift.io/ClusterDeployment":                   "spec.pullSecretRef.name",
	"hive.openshift.io/ClusterPool":                         "spec.pullSecretRef.name",
	"agent-install.openshift.io/InfraEnv":                   "spec.pullSecretRef.name",
	"extensions.hive.openshift.io/AgentClusterInstall":      "spec.pullSecretRef.name",
	"ran.openshift.io/SiteConfig":                           "spec.pullSecretRef.name",
	"siteconfig.open-cluster-management.io/ClusterInstance": "spec.pullSecretRef.name",
}

// installerKinds returns the kinds that are stored for what they refer to.
func installerKinds() map[string]resolver {
	all := map[string]resolver{}
	for kind := range installerSecrets {
		all[kind] = func(*Cluster, *object) {}
	}
	return all
}

// readerOf returns what reads a Secret whose type is not that of a pull Secret, as a sentence; "" if nothing is known to.
func (c *Cluster) readerOf(secret *object) string {
	if c.readers == nil {
		c.readers = map[objectName]string{}
		for _, o := range c.objects {
			c.addReaders(o)
		}
	}
	namespace := cmp.Or(secret.namespace, anyNamespace)
	return cmp.Or(c.readers[objectName{namespace: namespace, name: secret.name}], c.readers[objectName{name: secret.name}])
}

// addReaders adds the Secrets that an object reads. Those without a namespace may be in any.
func (c *Cluster) addReaders(o *object) {
	add := func(namespace, name, reader string) {
		if name != "" {
			c.readers[objectName{namespace: namespace, name: name}] = reader
			c.readers[objectName{namespace: anyNamespace, name: name}] = reader
		}
	}
	for _, volume := range o.node.Get(podSpecs[o.groupKind()]...).Get("volumes").Items() {
		add(o.namespace, volume.Get("secret", "secretName").Text(), "The pods that mount it use it.")
	}
	add("", firstText(o.node, installerSecrets[o.groupKind()]), "The installer of OpenShift uses it.")
}

// addOtherConfig adds the docker config of a Secret of another type than kubelet's, and reports whether it has one.
func addOtherConfig(c *Cluster, o *object, reader string) bool {
	for _, key := range []string{dockerKeys[dockerConfigSecret], "config.json"} {
		v, isOther := o.secretValue(key), key == "config.json" // which may be that of another program
		mayExist := v.gap != nil && v.gap == o.unread[anyKey]
		at := func(int, string) model.Source { return o.at(v.at) }
		file, err := docker.NewCredentialFile(c.Scanner, []byte(v.text), model.DockerConfig, at)
		switch {
		case v.at == nil, mayExist, isOther && (v.gap != nil || err != nil):
			continue
		case v.gap != nil:
			reportGap(c, o.at(v.at), key, v.gap)
			return true
		case err != nil:
			c.Problem(o.at(v.at), model.ProblemNotJSON, "The value %s is not valid JSON. %s", key, reader)
			return true
		}
		file.Reader, file.Cluster = model.Kubernetes, true
		file.Notices = append(o.plainNotices(c), model.Notice{Code: model.NoticeNotUsedByConsumer,
			Message: "kubelet pulls no image with this Secret, because of its type. " + reader})
		file.Add(c.Scanner)
		return true
	}
	return false
}
