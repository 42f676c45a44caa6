package kubernetes_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// rendered has the kinds of the chart, with the path of each.
var rendered = map[string]string{
	"ConfigMap":             "/api/v1/namespaces/%s/configmaps",
	"Secret":                "/api/v1/namespaces/%s/secrets",
	"Service":               "/api/v1/namespaces/%s/services",
	"ServiceAccount":        "/api/v1/namespaces/%s/serviceaccounts",
	"PersistentVolumeClaim": "/api/v1/namespaces/%s/persistentvolumeclaims",
	"Deployment":            "/apis/apps/v1/namespaces/%s/deployments",
	"Ingress":               "/apis/networking.k8s.io/v1/namespaces/%s/ingresses",
	"NetworkPolicy":         "/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies",
	"PodDisruptionBudget":   "/apis/policy/v1/namespaces/%s/poddisruptionbudgets",
	"Role":                  "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles",
	"RoleBinding":           "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings",
	"ClusterRole":           "/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"ClusterRoleBinding":    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"ServiceMonitor":        "/apis/monitoring.coreos.com/v1/namespaces/%s/servicemonitors",
	"PrometheusRule":        "/apis/monitoring.coreos.com/v1/namespaces/%s/prometheusrules",
}

// Every object that the chart makes in a scenario is admitted, and has no field that the server does not know. Nothing is stored.
func testChart(t *testing.T, server *apiServer) {
	server.post(t, "/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: regwarden, "+
		"labels: {pod-security.kubernetes.io/enforce: restricted}}}")
	admitted := map[string]int{}
	for _, file := range []string{"deploy/testdata/chart/sqlite", "deploy/testdata/chart/replicas", "deploy/testdata/chart/cluster",
		"deploy/testdata/chart/everything", "../deploy/kubernetes/regwarden"} {
		for _, document := range readDocuments(t, "../"+file+".yaml") {
			kind := field(t, document, "kind: ")
			path, known := rendered[kind]
			if !known {
				t.Errorf("%s: the kind %s is not known here", file, kind)
				continue
			}
			if strings.Contains(path, "%s") {
				path = fmt.Sprintf(path, field(t, document, "  namespace: "))
			}
			status, text, err := server.do(http.MethodPost, path+"?dryRun=All&fieldValidation=Strict", document, asYAML)
			if err != nil || status != http.StatusCreated {
				t.Errorf("%s: %s: %d %s %v", file, kind, status, text, err)
			}
			admitted[kind]++
		}
	}
	for kind := range rendered {
		if admitted[kind] == 0 {
			t.Errorf("no scenario has a %s", kind)
		}
	}
}
