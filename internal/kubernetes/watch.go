package kubernetes

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/service/cluster"
)

const (
	discoverEvery = time.Minute // kinds may be installed later
	errorBackoff  = 5 * time.Second
)

// informer is a list that is being watched.
type informer struct {
	cache.SharedIndexInformer
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	failed string // what the last request failed for, as logged; empty if it did not
}

// Watch lists and watches objects until ctx ends, and calls changed after each change.
func (c *Cluster) Watch(ctx context.Context, changed func()) {
	defer c.apply(ctx, nil, changed)
	for failed := false; ctx.Err() == nil; {
		wait := discoverEvery
		targets, err := c.targets(ctx)
		switch {
		case err == nil:
			if failed {
				c.log.Info("cluster is reached again")
			}
			c.apply(ctx, targets, changed)
			failed = false
		case ctx.Err() == nil:
			wait = errorBackoff
			if !failed {
				c.log.Error("kinds of the cluster not read; what was read of it stays", "retry_in", wait, "error", err)
			}
			failed = true
		}
		_ = loop.Sleep(ctx, wait)
	}
}

// apply begins to watch new targets, and ends to watch others.
func (c *Cluster) apply(ctx context.Context, targets []target, changed func()) {
	c.mu.Lock()
	var stopped []*informer
	for t, i := range c.watching {
		if !slices.Contains(targets, t) {
			i.stop()
			delete(c.watching, t)
			stopped = append(stopped, i)
		}
	}
	for _, t := range targets {
		if c.watching[t] == nil {
			c.watching[t] = c.start(ctx, t, changed)
		}
	}
	c.known = targets != nil
	c.mu.Unlock()
	for _, i := range stopped {
		i.done.Wait()
	}
	if len(stopped) > 0 {
		changed()
	}
}

// lists returns how a target is listed and watched. requested is called with the outcome of each request.
func (c *Cluster) lists(t target, requested func(context.Context, error)) *cache.ListWatch {
	resource := c.client.Resource(t.resource).Namespace(t.namespace)
	selected := func(o metav1.ListOptions) metav1.ListOptions {
		o.FieldSelector, o.LabelSelector = t.fields, t.labels
		return o
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := resource.List(ctx, selected(o))
			requested(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			events, err := resource.Watch(ctx, selected(o))
			requested(ctx, err)
			if err != nil {
				return nil, err
			}
			return newReportedWatch(events, func(err error) { requested(ctx, err) }), nil
		},
	}
}

// start begins to watch a target.
func (c *Cluster) start(ctx context.Context, t target, changed func()) *informer {
	ctx, stop := context.WithCancel(ctx)
	i := &informer{stop: stop}
	log := c.log.With("objects", t.String(), "namespace", t.namespace)
	lists := c.lists(t, func(ctx context.Context, err error) { i.requested(ctx, err, log) })
	i.SharedIndexInformer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lists, c.client),
		&unstructured.Unstructured{}, 0, cache.Indexers{})
	// The three fail only for an informer that runs already.
	_ = i.SetTransform(reduce)
	_ = i.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) { i.requested(ctx, err, log) })
	_, _ = i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() }})
	i.done.Go(func() { i.RunWithContext(ctx) })
	i.done.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
			changed() // also if there is no object
		}
	})
	return i
}

// reportedWatch is a watch that reports its expiry, which is an event: the reflector does not. After other errors among the events it lists
// the objects, which has a result of its own.
type reportedWatch struct {
	watch.Interface
	result chan watch.Event
	stop   func()
}

func newReportedWatch(events watch.Interface, report func(error)) *reportedWatch {
	stopped := make(chan struct{})
	w := &reportedWatch{events, make(chan watch.Event), sync.OnceFunc(func() { close(stopped) })}
	go func() {
		defer close(w.result)
		for e := range events.ResultChan() {
			if e.Type == watch.Error {
				if err := apierrors.FromObject(e.Object); expired(err) {
					report(err)
				}
			}
			select {
			case w.result <- e:
			case <-stopped:
				return
			}
		}
	}()
	return w
}

// ResultChan returns the events.
func (w *reportedWatch) ResultChan() <-chan watch.Event { return w.result }

// Stop ends the watch.
func (w *reportedWatch) Stop() {
	w.stop()
	w.Interface.Stop()
}

// requested notes the result of a request. The reflector does not report all errors, such as a refused connection.
func (i *informer) requested(ctx context.Context, err error, log *slog.Logger) {
	if err != nil {
		if ctx.Err() == nil && !apierrors.IsInvalid(err) { // a server that cannot begin a watch with a list
			i.logged(err, log)
		}
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failed != "" {
		log.Info("objects are read again")
	}
	i.failed = ""
}

func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// logged logs an error of a list or a watch, once for each series of the same ones.
func (i *informer) logged(err error, log *slog.Logger) {
	message, level := "objects not read; those that are known stay", slog.LevelWarn
	switch {
	case errors.Is(err, io.EOF): // the server ended the watch in time
		return
	case expired(err):
		log.Info("watch expired; all objects are listed again")
		return
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		message, level = "objects may not be read; those that are known stay: check the role of the service account", slog.LevelError
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failed == message {
		return
	}
	i.failed = message
	log.Log(context.Background(), level, message, "error", err)
}

// fluxKeys are the values of Secrets of other types that Flux reads.
var fluxKeys = []string{"username", "password", "ca.crt", "caFile", "tls.crt", "certFile", "tls.key", "keyFile", ".dockerconfigjson",
	".dockercfg"}

// reduce drops from an object what is not read of it: there may be thousands.
func reduce(o any) (any, error) {
	object, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	delete(object.Object, "status")
	metadata, _ := object.Object["metadata"].(map[string]any)
	for key := range metadata {
		if !slices.Contains([]string{"name", "namespace", "uid", "resourceVersion", "labels"}, key) {
			delete(metadata, key)
		}
	}
	kind, secretType := object.GetKind(), object.Object["type"]
	if kind != "Secret" || secretType == "kubernetes.io/dockerconfigjson" || secretType == "kubernetes.io/dockercfg" ||
		object.GetLabels()[argoLabel] != "" {
		return object, nil
	}
	data, _ := object.Object["data"].(map[string]any)
	for key := range data {
		if !slices.Contains(fluxKeys, key) {
			delete(data, key)
		}
	}
	return object, nil
}

// Objects returns the objects that are known, and reports whether all of a namespace are.
func (c *Cluster) Objects() (objects []cluster.Object, complete func(namespace string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, missing, seen := c.known, map[string]bool{}, map[string]bool{}
	for t, i := range c.watching {
		if !i.HasSynced() {
			missing[t.namespace] = true
		}
		for _, item := range i.GetStore().List() {
			object, ok := item.(*unstructured.Unstructured)
			if !ok || seen[string(object.GetUID())] {
				continue
			}
			seen[string(object.GetUID())] = true
			text, err := object.MarshalJSON()
			if err != nil {
				continue // what was decoded can be encoded
			}
			objects = append(objects, cluster.Object{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(),
				Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID()), JSON: text})
		}
	}
	slices.SortFunc(objects, func(a, b cluster.Object) int {
		return strings.Compare(a.Kind+"/"+a.Namespace+"/"+a.Name, b.Kind+"/"+b.Namespace+"/"+b.Name)
	})
	return objects, func(namespace string) bool { return known && !missing[""] && !missing[namespace] }
}
