package kubernetes

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/regwarden/regwarden/internal/service/cluster"
)

// Limits of the API server.
const (
	maxMessage    = 1024
	maxObjectName = 220 // in the name of an Event, which has at most 253 bytes
)

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// Write writes an Event, which kubectl describe shows with its object.
func (c *Cluster) Write(ctx context.Context, e cluster.Event) error {
	o, now, kind := e.Object, time.Now().UTC().Format(time.RFC3339), "Normal"
	if e.Warning {
		kind = "Warning"
	}
	message := strings.ToValidUTF8(e.Message[:min(len(e.Message), maxMessage)], "")
	event := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata": map[string]any{"namespace": o.Namespace,
			"name": strings.TrimRight(o.Name[:min(len(o.Name), maxObjectName)], "-.") + "." + strings.ToLower(rand.Text()[:16])},
		"involvedObject": map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "namespace": o.Namespace, "name": o.Name,
			"uid": o.UID},
		"type": kind, "reason": e.Reason, "message": message,
		"source": map[string]any{"component": "regwarden"}, "reportingComponent": "regwarden",
		"firstTimestamp": now, "lastTimestamp": now, "count": int64(1),
	}}
	if _, err := c.client.Resource(events).Namespace(o.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("write an Event for the %s %s/%s: %w", o.Kind, o.Namespace, o.Name, err)
	}
	return nil
}
