package bench

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	profiles    = "../../profiles" // kept out of the repository
	profileTime = 10 * time.Second
)

// BenchmarkProfile puts each kind of load on the service and writes what Go's profiles tell of it: where processor
// time goes, what is on the heap and was put there, and what waits. `make profile` starts it.
func BenchmarkProfile(b *testing.B) {
	for range b.N {
		if err := os.MkdirAll(profiles, 0o755); err != nil {
			b.Fatal(err)
		}
		debug := freeAddress(b)
		server := instance.Start(b, instance.Options{LogFile: filepath.Join(b.TempDir(), "log"), Flags: []string{"--debug-listen", debug}})
		authorization, tokens := server.Client(b).SignIn().Authorization, refreshTokens(b, store.Options{DataDir: server.DataDir}, manyClients)
		(&logins{b: b, server: server}).makeUsers()
		for _, kind := range []string{loadGet, loadRefresh, loadSignIn} {
			profileLoad(b, kind, debug, workload{URLs: []string{server.URL}, Kind: kind, Authorization: authorization, Tokens: tokens, Users: signers})
		}
		server.Kill()
		d := startDatabase(b)
		shared := d.start(1, "--debug-listen", debug)
		profileLoad(b, "refresh-postgres", debug, workload{URLs: []string{shared[0].URL}, Kind: loadRefresh, Tokens: refreshTokens(b, d.options(), manyClients)})
		fmt.Printf("\nProfiles are in ./profiles; look at one with\n  go tool pprof -http 127.0.0.1:0 profiles/get-cpu.pprof\n\n")
	}
}

func profileLoad(b *testing.B, name, debug string, w workload) {
	b.Helper()
	taken := make(chan error)
	go func() { taken <- takeProfiles(debug, name) }()
	w.Clients, w.For = manyClients, profileTime+time.Second
	end := startClients(b).put(w)
	fmt.Printf("%s: %.0f a second under the profiler\n", name, end.rate())
	if err := <-taken; err != nil {
		b.Fatal(err)
	}
}

// takeProfiles is called while a load is on. The heap and what waits are of the whole life of the process.
func takeProfiles(address, kind string) error {
	var problems []error
	for _, profile := range []struct{ name, path string }{
		{"cpu", "profile?seconds=" + strconv.Itoa(int(profileTime.Seconds()))}, {"heap", "heap"}, {"block", "block"}, {"mutex", "mutex"},
	} {
		problems = append(problems, fetchProfile("http://"+address+"/debug/pprof/"+profile.path, filepath.Join(profiles, kind+"-"+profile.name+".pprof")))
	}
	return errors.Join(problems...)
}

func fetchProfile(url, path string) error {
	response, err := http.Get(url) //nolint:gosec // our own
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, response.Body)
	return errors.Join(err, file.Close())
}

// freeAddress is one that nobody listens at.
func freeAddress(b *testing.B) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
