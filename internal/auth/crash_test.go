package auth

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// crashFolder is set for the child of TestKillLosesNoSession: the folder of the store it works on.
const crashFolder = "REGWARDEN_TEST_CRASH_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashFolder); dir != "" {
		workUntilKilled(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

const crashClients = 8

func mustCrashService(ctx context.Context, dir string) (*Service, *store.DB) {
	db, err := store.Open(ctx, store.Options{DataDir: dir})
	if err != nil {
		panic(err)
	}
	service, err := New(ctx, db, Config{testHash: cheap})
	if err != nil {
		panic(err)
	}
	return service, db
}

// workUntilKilled signs in and refreshes, and prints each refresh token after it was told of it: from
// then on the session must not be lost.
func workUntilKilled(dir string) {
	ctx := context.Background()
	service, _ := mustCrashService(ctx, dir)
	var out sync.Mutex
	var wait sync.WaitGroup
	for client := range crashClients {
		wait.Go(func() {
			for session := 0; ; session++ {
				tokens, err := service.Login(ctx, origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
				for step := 0; step < 10 && err == nil; step++ {
					out.Lock()
					fmt.Printf("%d-%d %s\n", client, session, tokens.Refresh.Reveal())
					out.Unlock()
					tokens, err = service.Refresh(ctx, origin, tokens.Refresh)
				}
				if err != nil {
					panic(err)
				}
			}
		})
	}
	wait.Wait()
}

// TestKillLosesNoSession kills a process in the midst of sign-ins and refreshes, starts anew on the same
// store, and demands that the last token that each client was told of still works.
func TestKillLosesNoSession(t *testing.T) {
	w := mustWorld(t, nil)
	if err := w.db.Close(); err != nil {
		t.Fatal(err)
	}
	sessions := 0
	for range 5 {
		last := mustKillAtRandom(t, w.dir)
		service, db := mustCrashService(t.Context(), w.dir)
		for session, token := range last {
			if _, err := service.Refresh(t.Context(), origin, token); err != nil {
				t.Errorf("session %s is lost: %v", session, err)
			}
		}
		sessions += len(last)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if sessions < 5*crashClients/2 {
		t.Errorf("only %d sessions were at stake", sessions)
	}
	t.Logf("%d sessions at stake", sessions)
}

// mustKillAtRandom runs the child for a random moment and returns the last token of each session that it
// printed.
func mustKillAtRandom(t *testing.T, dir string) map[string]secret.String {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), crashFolder+"="+dir)
	child.Stderr = os.Stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last := map[string]secret.String{}
	var kill *time.Timer
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line cut off was not told
		}
		if kill == nil { // the first token is out
			kill = time.AfterFunc(time.Duration(rand.IntN(400))*time.Millisecond, func() { _ = child.Process.Kill() })
		}
		session, token, _ := strings.Cut(strings.TrimSpace(line), " ")
		last[session] = secret.String(token)
	}
	if err := child.Wait(); err == nil || child.ProcessState.Exited() {
		t.Fatalf("the child was not killed: %v", child.ProcessState)
	}
	return last
}
