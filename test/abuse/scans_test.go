package abuse_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	scanPath  = "/v1/registries/oci/basic/scan"
	smallFile = `{"auths":{"ghcr.io":{"auth":"YWRhOmh1bnRlcjI="}}}`

	hostileScans = 10
	// An attack lasts so long, and then until a hostile file was read, which takes long where the processors are busy.
	scanAttack    = 10 * time.Second
	longestAttack = 2 * time.Minute

	// treeLimit is what the shipped unit and manifests allow the service and its child processes.
	treeLimit = 512 << 10 // KiB
)

// forScans allows more memory for files, and more scans per minute, than by default.
var forScans = []string{"--request-memory", "40", "--check-per-minute", "100000"}

// hostileFiles are expensive to read. The last two were so out of proportion to their size.
func hostileFiles() []string {
	return []string{
		manyPullSecrets(3 << 20),
		`{"auths":{` + strings.TrimSuffix(numbered(120_000, `"a%d.test":{"auth":"YTpi"},`), ",") + "}}",
		numbered(30_000, "%%TAG !e%d! tag:example.com,2000:app/\n") + "---\na: b\n",
		pullSecret(`{"auths":{`+strings.TrimSuffix(numbered(3_000, `"*%d.test/a*/b*":{"auth":"YTpi"},`), ",")+"}}") +
			numbered(1_500, "---\n{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: apps}, spec: {imagePullSecrets: [{name: "+
				"pull}], containers: [{image: r.test/a/b}]}}\n"),
	}
}

func numbered(n int, format string) string {
	var text strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&text, format, i) // never fails (strings.Builder)
	}
	return text.String()
}

func pullSecret(config string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: apps}\ntype: kubernetes.io/dockerconfigjson\nstringData:\n  " +
		".dockerconfigjson: '" + config + "'\n"
}

// manyPullSecrets is a file of about that many bytes, as a cluster has it.
func manyPullSecrets(size int) string {
	const object = `- apiVersion: v1
  kind: Secret
  metadata:
    name: pull%[1]d
    annotations: {note: "a text that is longer than the rest of the object, as the annotations of kubectl apply are, which repeat the
      object in JSON"}
  type: kubernetes.io/dockerconfigjson
  stringData: {.dockerconfigjson: '{"auths": {"r%[1]d.test": {"auth": "YTpi"}}}'}
`
	return "apiVersion: v1\nkind: List\nitems:\n" + numbered(size/len(object), object)
}

// TestHostileScans has members of one organization, and of five together, scan hostile files again and again, of whom some leave
// before the response. The scans of another organization all succeed. With five, they may wait for a file of each of two others.
func TestHostileScans(t *testing.T) {
	for _, orgs := range []int{1, tenants} {
		t.Run(fmt.Sprintf("%d organizations", orgs), func(t *testing.T) {
			a := beginAttack(t, forScans...)
			keys, files := tenantKeys(t, a.server), hostileFiles()
			ctx, cancel := context.WithTimeout(t.Context(), longestAttack)
			defer cancel()
			fileRead := make(chan struct{})
			readOne := sync.OnceFunc(func() { close(fileRead) })
			time.AfterFunc(scanAttack, func() {
				select {
				case <-fileRead:
				case <-ctx.Done():
				}
				cancel()
			})
			var all sync.WaitGroup
			var outcomes sync.Map // counts by status
			for i := range hostileScans {
				all.Go(func() {
					for n := i; ctx.Err() == nil; n++ {
						leaves := 30 * time.Second
						if i%3 == 0 {
							leaves = 300 * time.Millisecond
						}
						outcome := sendScan(ctx, a.server, fmt.Sprintf("127.0.3.%d", i+1), keys[i%orgs], files[n%len(files)], leaves)
						count, _ := outcomes.LoadOrStore(outcome, new(atomic.Int64))
						count.(*atomic.Int64).Add(1)
						if outcome == "200" {
							readOne()
						} else {
							time.Sleep(50 * time.Millisecond) // the client leaves the processors to the service
						}
					}
				})
			}
			peak := a.client.scans(ctx, a.server)
			all.Wait()
			outcomes.Range(func(outcome, count any) bool {
				t.Logf("hostile scans: %s: %d", outcome, count.(*atomic.Int64).Load())
				return true
			})
			if _, ok := outcomes.Load("200"); !ok {
				t.Error("no hostile file was read")
			}
			t.Logf("peak memory of all processes: %d MiB", peak>>10)
			if peak > treeLimit {
				t.Errorf("peak memory of all processes %d MiB, at most %d", peak>>10, treeLimit>>10)
			}
			if orgs > 1 {
				a.client.slow = 0
			}
			a.end(t)
		})
	}
}

// scans scans a small file again and again until ctx ends, and returns the peak memory of the processes of the service.
func (c *customer) scans(ctx context.Context, server *instance.Server) (peakKiB int) {
	for ctx.Err() == nil {
		c.took = append(c.took, c.try(http.MethodPost, scanPath, smallFile, "Authorization", c.authorization))
		c.try(http.MethodGet, "/v1/projects/alerts", "", "Authorization", c.authorization)
		peakKiB = max(peakKiB, anonymousKiB(server))
		time.Sleep(20 * time.Millisecond)
	}
	return peakKiB
}

// sendScan sends a file over a connection of its own, which it closes after a time, and returns the status.
func sendScan(ctx context.Context, server *instance.Server, from, key, file string, leaves time.Duration) (outcome string) {
	ctx, cancel := context.WithTimeout(ctx, leaves)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+scanPath, strings.NewReader(file))
	if err != nil {
		return err.Error()
	}
	request.Header.Set("ApiKey", key)
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, to string) (net.Conn, error) { return dialFrom(ctx, from, to) }}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "left"
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // the client may leave
	return strconv.Itoa(response.StatusCode)
}

// anonymousKiB is the memory of the service and its child processes, without pages of the program file, which they share.
func anonymousKiB(server *instance.Server) (sum int) {
	for _, pid := range server.PIDs() {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // a child may have ended
		_, rest, _ := strings.Cut(string(status), "RssAnon:")
		kib := 0
		_, _ = fmt.Sscan(rest, &kib)
		sum += kib
	}
	return sum
}

// TestScanEndsWithItsClient has a client leave while its file is read. The child process that reads it is killed: it is stopped, so that it
// does not end by itself. The log does not call that an internal error.
func TestScanEndsWithItsClient(t *testing.T) {
	const silence = 5 * time.Second // after which a process that is stopped is killed in any case
	server := start(t, append([]string{"--log-level", "info"}, forScans...)...)
	key, took := tenantKeys(t, server)[0], silence
	for n := 0; n < 5 && took > silence/2; n++ { // a busy machine may stop the service for as long
		took = leaveWhileRead(t, server, key)
	}
	if took > silence/2 {
		t.Errorf("the process went on for %v after its client left", took)
	}
	instance.Await(t, "the request of that client in the log", func() bool { return server.Logs("status=499") })
}

// leaveWhileRead sends a file, stops the process that reads it and leaves. It returns how long the process was there after that.
func leaveWhileRead(t *testing.T, server *instance.Server, key string) time.Duration {
	t.Helper()
	file := manyPullSecrets(3 << 20)
	for {
		ctx, leave := context.WithCancel(t.Context())
		left, pid := make(chan string, 1), 0
		go func() { left <- sendScan(ctx, server, attacker, key, file, time.Minute) }()
		instance.Await(t, "a process that reads the file", func() bool {
			pid = fileReader(server)
			return pid > 0 && syscall.Kill(pid, syscall.SIGSTOP) == nil || len(left) > 0
		})
		began := time.Now()
		leave()
		if <-left != "left" { // a busy machine stopped the process when the file had been read
			continue
		}
		instance.Await(t, "the end of the process of the client that left", func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
			return os.IsNotExist(err)
		})
		return time.Since(began)
	}
}

// fileReader is the child process that reads files, 0 if there is none.
func fileReader(server *instance.Server) int {
	for _, pid := range server.PIDs() {
		if command, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); err == nil &&
			strings.HasSuffix(string(command), "\x00read-file\x00") {
			return pid
		}
	}
	return 0
}
