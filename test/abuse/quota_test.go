package abuse_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	quotaMiB     = 2
	largeRecords = 600                // of 34 KiB: 20 MiB
	mostOnDisk   = 6 * quotaMiB << 20 // with the log of the database

	createdAtOnce = 16
)

// An organization cannot fill the disk with registries, and others can store theirs at the same time.
func TestStoredRegistriesAreBounded(t *testing.T) {
	t.Parallel()
	server := start(t, "--watch-interval", "0s", "--organization-storage", fmt.Sprint(quotaMiB))
	token := otherAdmin(t, server)
	client := server.Client(t)
	var stored, refused, busy atomic.Int64
	var work sync.WaitGroup
	for worker := range createdAtOnce {
		work.Go(func() {
			for i := worker; i < largeRecords; i += createdAtOnce {
				response, err := client.Try(http.MethodPost, "/v1/registries/oci/basic", largeRecord(i), "Authorization", token)
				switch {
				case err == nil && response.Status == http.StatusCreated:
					stored.Add(1)
				case err == nil && response.Status == http.StatusForbidden &&
					strings.Contains(response.Fault().Message, "organization-storage"):
					refused.Add(1)
				case err == nil && response.Status == http.StatusServiceUnavailable && busy.Add(1) < largeRecords/10:
					// Too many at once on a busy machine: sent again, as clients do.
					time.Sleep(100 * time.Millisecond)
					i -= createdAtOnce
				default:
					t.Errorf("record %d: %v, %.300s", i, err, response.Body)
				}
			}
		})
	}
	work.Wait()
	t.Logf("%d stored, %d refused", stored.Load(), refused.Load())
	if most := int64(quotaMiB << 20 / (34 << 10)); stored.Load() > most || refused.Load() == 0 {
		t.Errorf("%d stored and %d refused, at most %d stored", stored.Load(), refused.Load(), most)
	}
	if size := sizeOf(t, server.DataDir); size > mostOnDisk {
		t.Errorf("%d KiB on disk, at most %d", size>>10, mostOnDisk>>10)
	}
	other := server.Client(t)
	other.Do(http.MethodPost, "/v1/registries/oci/basic", largeRecord(0), "Authorization",
		other.Login().Authorization).Want(http.StatusCreated)
}

func largeRecord(i int) string {
	return instance.JSON(map[string]any{
		"metadata": map[string]any{"name": fmt.Sprint("large ", i), "annotations": map[string]string{"a": strings.Repeat("a", 16000)},
			"labels": map[string]string{"l": strings.Repeat("l", 16000)}},
		"spec": map[string]any{"endpoint": "https://127.0.0.1:9/", "scope": strings.Repeat("s", 2000),
			"auth": map[string]string{"type": "noAuth"}},
	})
}

func sizeOf(t *testing.T, directory string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(directory, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}
