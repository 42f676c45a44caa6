// Package kubernetes reads the objects of a Kubernetes cluster that use registries, and writes Events next to them. It is a cluster.Source.
//
// It uses the dynamic client and informers without the typed ones, which would make the binary 25 MB larger.
package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// Options name a cluster and what is read of it.
type Options struct {
	Kubeconfig string   // empty: the credentials of the pod
	Namespaces []string // none: the own one, of the pod or of the kubeconfig's context; All: every namespace
	Log        *slog.Logger
}

// All is the namespace that stands for every namespace.
const All = "*"

// Client limits. The API server has limits of its own; these keep one client from using all of them.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 100
)

// Cluster is a cluster that is read.
type Cluster struct {
	client     dynamic.Interface
	http       *http.Client
	base       *url.URL
	namespaces []string // one that is empty stands for every namespace
	log        *slog.Logger

	mu       sync.Mutex
	known    bool // which kinds exist
	watching map[target]*informer
}

// silence ends the log of client-go: informers log errors in words of this program. It runs once, because informers read what it sets.
var silence = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })

// Open returns a cluster. It sends no request.
func Open(o Options) (*Cluster, error) {
	config, own, err := connection(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.UserAgent = requestsPerSecond, requestsAtOnce, "regwarden"
	config.WarningHandlerWithContext = rest.NoWarnings{}
	silence()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	namespaces := slices.Clone(o.Namespaces)
	switch {
	case slices.Contains(namespaces, All):
		namespaces = []string{""}
	case len(namespaces) == 0:
		namespaces = []string{own}
	}
	slices.Sort(namespaces)
	return &Cluster{client: client, http: httpClient, base: base, namespaces: slices.Compact(namespaces), log: o.Log,
		watching: map[target]*informer{}}, nil
}

// podNamespace has the namespace of the pod that the program runs in.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// connection returns how to connect to a cluster, and the own namespace there.
func connection(kubeconfig string) (config *rest.Config, namespace string, err error) {
	if kubeconfig != "" {
		file := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, nil)
		if config, err = file.ClientConfig(); err == nil {
			namespace, _, err = file.Namespace()
		}
		if err != nil {
			return nil, "", fmt.Errorf("kubeconfig: %w", err)
		}
		return config, namespace, nil
	}
	if config, err = rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
		return nil, "", errors.New("kubernetes: this is not a pod of a cluster; give --kubeconfig")
	}
	if err != nil {
		return nil, "", fmt.Errorf("kubernetes: %w", err)
	}
	text, err := os.ReadFile(podNamespace)
	if err != nil {
		return nil, "", fmt.Errorf("kubernetes: read the namespace of the pod: %w", err)
	}
	return config, strings.TrimSpace(string(text)), nil
}

// maxDiscovery bounds a response about which kinds exist.
const maxDiscovery = 1 << 20

// get reads JSON of a path, and reports whether the path exists.
func (c *Cluster) get(ctx context.Context, path string, to any) (exists bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath(path).String(), nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return true, json.NewDecoder(io.LimitReader(response.Body, maxDiscovery)).Decode(to)
	case http.StatusNotFound:
		return false, nil
	}
	return false, fmt.Errorf("GET %s: %s", path, response.Status)
}
