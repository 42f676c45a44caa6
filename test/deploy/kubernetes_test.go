package deploy_test

import (
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/egress"
)

// manifest reads a file as Kubernetes does, but refuses what it would ignore: a misspelt field.
func manifest[T any](t *testing.T, name string) T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict(mustFile(t, "kubernetes/"+name), &object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}

func TestKustomizationNamesEveryManifest(t *testing.T) {
	k := manifest[struct {
		APIVersion, Kind, Namespace string
		Resources                   []string
		Images                      []struct{ Name, NewName string }
	}](t, "kustomization.yaml")
	files, err := filepath.Glob(filepath.Join(deployDir, "kubernetes", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		if name := filepath.Base(file); name != "kustomization.yaml" {
			names = append(names, name)
		}
	}
	slices.Sort(k.Resources)
	if !slices.Equal(names, k.Resources) {
		t.Errorf("there are %v, and it names %v", names, k.Resources)
	}
	if space := manifest[corev1.Namespace](t, "namespace.yaml"); space.Name != k.Namespace {
		t.Errorf("namespace %q is made, %q used", space.Name, k.Namespace)
	}
}

func TestDeployment(t *testing.T) {
	_, objects := scenario(t, "replicas")
	d := object[appsv1.Deployment](t, objects, "Deployment")
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	t.Run("settings", func(t *testing.T) {
		var used []string
		for name := range object[corev1.ConfigMap](t, objects, "ConfigMap").Data {
			used = append(used, name)
		}
		for _, e := range c.Env {
			used = append(used, e.Name)
			if e.ValueFrom != nil {
				t.Errorf("%s holds a secret in the environment; mount it as a file", e.Name)
			}
		}
		knows(t, "replicas", used)
	})
	t.Run("probes", func(t *testing.T) {
		if got := c.ReadinessProbe.HTTPGet.Path; got != api.PathReady {
			t.Errorf("readiness asks %s", got)
		}
		if got := c.LivenessProbe.HTTPGet.Path; got != api.PathHealth {
			t.Errorf("liveness asks %s: a store that is away would restart every replica", got)
		}
	})
	t.Run("ports", func(t *testing.T) {
		settings := object[corev1.ConfigMap](t, objects, "ConfigMap").Data
		for i, name := range []string{"REGWARDEN_LISTEN", "REGWARDEN_METRICS_LISTEN"} {
			if at, err := netip.ParseAddrPort(settings[name]); err != nil || int32(at.Port()) != c.Ports[i].ContainerPort {
				t.Errorf("%s is %s, the port %d", name, settings[name], c.Ports[i].ContainerPort)
			}
		}
	})
	t.Run("rights", func(t *testing.T) {
		if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || s.Capabilities.Drop[0] != "ALL" ||
			!*pod.SecurityContext.RunAsNonRoot {
			t.Error("the container has more rights than it needs")
		}
		if account := object[corev1.ServiceAccount](t, objects, "ServiceAccount"); *account.AutomountServiceAccountToken ||
			account.Name != pod.ServiceAccountName {
			t.Error("the pod is given a token of the cluster")
		}
	})
	t.Run("selectors", func(t *testing.T) {
		labels := d.Spec.Template.Labels
		for where, selector := range map[string]map[string]string{
			"deployment":          d.Spec.Selector.MatchLabels,
			"service":             object[corev1.Service](t, objects, "Service").Spec.Selector,
			"poddisruptionbudget": object[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget").Spec.Selector.MatchLabels,
			"networkpolicy":       object[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy").Spec.PodSelector.MatchLabels,
		} {
			for key, value := range selector {
				if labels[key] != value {
					t.Errorf("%s selects %s=%s, which the pods are not", where, key, value)
				}
			}
		}
	})
	t.Run("shutdown", func(t *testing.T) {
		const requests = 30 // seconds that requests under way may take
		if *d.Spec.Template.Spec.TerminationGracePeriodSeconds < requests+c.Lifecycle.PreStop.Sleep.Seconds {
			t.Error("pods are killed before requests under way have had their time")
		}
	})
}

// TestNetworkPolicyAgreesWithTheAddressPolicy asks both about the first and last address of every range that either
// names, and about their neighbours.
func TestNetworkPolicyAgreesWithTheAddressPolicy(t *testing.T) {
	blocks := ipBlocks(t)
	policy, err := egress.ParsePolicy(egress.Settings{Profile: "private"})
	if err != nil {
		t.Fatal(err)
	}
	asked := map[netip.Addr]bool{}
	for _, edge := range edges(t, blocks) {
		if asked[edge] || nat64.Contains(edge) {
			continue // NAT64 is the site's: the manifest says what to add
		}
		asked[edge] = true
		_, denied := policy.Evaluate(netip.AddrPortFrom(edge, 443))
		if allowed := blocks.allow(edge); allowed == (denied != nil) {
			t.Errorf("%s: the NetworkPolicy allows it: %t, the address policy: %t", edge, allowed, denied == nil)
		}
	}
	if len(asked) < 80 {
		t.Errorf("only %d addresses were asked about", len(asked))
	}
}

// Each address of docs/cloud-credentials.md is one that the unit and the NetworkPolicy block, and its examples allow one of them.
func TestAddressesOfIdentities(t *testing.T) {
	_, text, found := strings.Cut(string(mustFile(t, "../docs/cloud-credentials.md")), "\n### Allow the address\n")
	text, _, _ = strings.Cut(text, "\n## ")
	_, example, foundExample := strings.Cut(text, "\n\n    networkPolicy:\n")
	if !found || !foundExample {
		t.Fatalf("the page has no example:\n%s", text)
	}
	objects, _, err := render(t, valuesOf(t, []byte("networkPolicy:\n"+example)))
	if err != nil {
		t.Fatal(err)
	}
	rules := object[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy").Spec.Egress
	allowed := netip.MustParsePrefix(rules[len(rules)-1].To[0].IPBlock.CIDR).Addr()
	unit := regexp.MustCompile(`(?m)^IPAddressDeny=(.*)$`).FindStringSubmatch(string(mustFile(t, "systemd/regwarden.service")))
	var denied blockList
	for cidr := range strings.FieldsSeq(unit[1]) {
		denied = append(denied, block{cidr: netip.MustParsePrefix(cidr)})
	}
	blocks, asked := ipBlocks(t), 0
	for _, name := range regexp.MustCompile("`([0-9a-f]+[.:][0-9a-f.:]+)`").FindAllStringSubmatch(text, -1) {
		address := netip.MustParseAddr(name[1])
		if asked++; blocks.allow(address) || !denied.allow(address) {
			t.Errorf("%s is not blocked", address)
		}
	}
	if asked < 7 || !strings.Contains(text, "\n    IPAddressAllow="+allowed.String()+"\n") || !denied.allow(allowed) {
		t.Errorf("%d addresses, and the example allows %s", asked, allowed)
	}
}

var nat64 = netip.MustParsePrefix("64:ff9b::/96")

type block struct {
	cidr   netip.Prefix
	except []netip.Prefix
}

type blockList []block

func (l blockList) allow(a netip.Addr) bool {
	return slices.ContainsFunc(l, func(b block) bool {
		return b.cidr.Contains(a) && !slices.ContainsFunc(b.except, func(p netip.Prefix) bool { return p.Contains(a) })
	})
}

func ipBlocks(t *testing.T) blockList {
	t.Helper()
	var list blockList
	_, objects := scenario(t, "replicas")
	for _, rule := range object[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy").Spec.Egress {
		for _, to := range rule.To {
			if to.IPBlock == nil {
				continue
			}
			b := block{cidr: netip.MustParsePrefix(to.IPBlock.CIDR)}
			for _, text := range to.IPBlock.Except {
				b.except = append(b.except, netip.MustParsePrefix(text))
			}
			list = append(list, b)
		}
	}
	return list
}

// edges are the first and last addresses of the NetworkPolicy's ranges and of those of the threat model, and the addresses
// next to them.
func edges(t *testing.T, blocks blockList) []netip.Addr {
	t.Helper()
	var ranges []netip.Prefix
	for _, b := range blocks {
		ranges = append(append(ranges, b.cidr), b.except...)
	}
	for _, text := range []string{
		"169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128", "100.100.100.200/32",
		"168.63.129.16/32", "192.0.0.192/32",
		"127.0.0.0/8", "::1/128", "0.0.0.0/8", "::/128", "224.0.0.0/4", "ff00::/8", "240.0.0.0/4", "192.0.0.0/24",
		"198.18.0.0/15", "192.88.99.0/24",
		"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20", "2001::/23", "fec0::/10", "100::/64",
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "2002::/16", "::/96",
		"64:ff9b:1::/48", "::ffff:0:0:0/96",
	} {
		ranges = append(ranges, netip.MustParsePrefix(text))
	}
	var found []netip.Addr
	for _, r := range ranges {
		first, last := r.Masked().Addr(), lastOf(r)
		for _, a := range []netip.Addr{first.Prev(), first, last, last.Next()} {
			if a.IsValid() && !a.Is4In6() {
				found = append(found, a)
			}
		}
	}
	return found
}

func lastOf(p netip.Prefix) netip.Addr {
	raw := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(raw)*8; bit++ {
		raw[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(raw)
	return last
}
