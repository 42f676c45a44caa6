package auth

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// long runs the kill tests at full length: go test ./internal/service/auth -run Kill -v -long
var long = flag.Bool("long", false, "1,000 sessions and 50 kills, 100 histories of sessions")

// The child process of a kill test gets the directory of the store and its task from the environment.
const (
	crashDir  = "REGWARDEN_TEST_CRASH_DIR"
	crashWork = "REGWARDEN_TEST_CRASH_WORK"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		work := map[string]func(*service){"refresh": refreshUntilKilled, "rotate": rotateUntilKilled}[os.Getenv(crashWork)]
		service, _ := mustCrashService(context.Background(), dir, 0)
		work(service)
		return
	}
	goleak.VerifyTestMain(postgrestest.Twice{Tests: m, Begin: func(s *postgrestest.Server) { server = s },
		Once: "^(TestAStandbyThatDidNotHaveTheNewestChange|TestCanonicalIsStable.*)$"})
}

func mustCrashService(ctx context.Context, dir string, ahead time.Duration) (*service, *store.DB) {
	db, err := store.Open(ctx, storeIn(dir, nil))
	if err != nil {
		panic(err)
	}
	service, err := newService(ctx, db,
		Config{hashCost: cheap, LoginWait: time.Minute, PollTime: time.Minute, Now: func() time.Time { return time.Now().Add(ahead) }})
	if err != nil {
		panic(err)
	}
	return service, db
}

// killWithin spreads the kills over the work of the child after a line.
const killWithin = 20 * time.Millisecond

// mustKill starts the child and kills it a random time after the given number of lines, so that every machine gets that
// far. It calls each with every complete line.
func mustKill(t *testing.T, dir, work, input string, lines int, each func(line string)) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), crashDir+"="+dir, crashWork+"="+work)
	child.Stdin, child.Stderr = strings.NewReader(input), os.Stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	output := bufio.NewReader(stdout)
	for n := 1; ; n++ {
		line, err := output.ReadString('\n')
		if err != nil {
			break // an incomplete line does not count
		}
		if n == lines {
			time.AfterFunc(rand.N(killWithin), func() { _ = child.Process.Kill() })
		}
		each(strings.TrimSuffix(line, "\n"))
	}
	if err := child.Wait(); err == nil || child.ProcessState.Exited() {
		t.Fatalf("the child was not killed: %v", child.ProcessState)
	}
}

const crashClients = 16

// refreshUntilKilled reads a refresh token of each session from standard input and refreshes them all repeatedly. It
// prints each token after the refresh returned it.
func refreshUntilKilled(service *service) {
	input, _ := io.ReadAll(os.Stdin)
	lines := strings.Split(strings.TrimSpace(string(input)), "\n")
	var out sync.Mutex
	var wait sync.WaitGroup
	for client := range crashClients {
		wait.Go(func() {
			mine := map[string]secret.String{}
			for i := client; i < len(lines); i += crashClients {
				name, token, _ := strings.Cut(lines[i], " ")
				mine[name] = secret.String(token)
			}
			for len(mine) > 0 {
				for name, token := range mine {
					tokens, err := service.Refresh(context.Background(), origin, token)
					if err != nil {
						panic(err)
					}
					mine[name] = tokens.Refresh
					out.Lock()
					fmt.Println(name, tokens.Refresh.Reveal())
					out.Unlock()
				}
			}
		})
	}
	wait.Wait()
}

// crashSession has the tokens of a client: the newest one, and one whose grace period has ended.
type crashSession struct{ newest, consumed secret.String }

// TestKillLosesNoSession repeatedly kills a process during refreshes. Afterwards the last token of each client is
// valid. The token before it is refused after the grace period, and ends the session.
func TestKillLosesNoSession(t *testing.T) {
	t.Parallel()
	count, rounds, probes := 30, 2, 6
	if *long {
		count, rounds, probes = 1000, 50, 20
	}
	w := mustWorld(t, nil)
	if err := w.db.Close(); err != nil {
		t.Fatal(err)
	}
	sessions := make([]crashSession, count)
	refreshed, reused, kills := 0, 0, 0
	for ; kills < rounds; kills++ {
		service, db := mustCrashService(t.Context(), w.dir, 0)
		mustRenewAll(t, service, sessions)
		closeNow(t, db)
		var input strings.Builder
		for i, session := range sessions {
			fmt.Fprintln(&input, i, session.newest.Reveal())
		}
		mustKill(t, w.dir, "refresh", input.String(), count/rounds+rand.N(count), func(line string) {
			name, token, _ := strings.Cut(line, " ")
			i, _ := strconv.Atoi(name)
			sessions[i].consumed, sessions[i].newest = sessions[i].newest, secret.String(token)
			refreshed++
		})
		service, db = mustCrashService(t.Context(), w.dir, 0)
		mustRenewAll(t, service, sessions)
		closeNow(t, db)
		reused += mustRefuseConsumed(t, w.dir, sessions, probes)
	}
	if refreshed < count || reused == 0 {
		t.Errorf("%d refreshes and %d reuses are too few", refreshed, reused)
	}
	t.Logf("%d sessions, %d kills, %d refreshes returned before a kill, %d consumed tokens refused after the grace period",
		count, kills, refreshed, reused)
}

// mustRenewAll refreshes every session with its client's token, and logs clients in that have none.
func mustRenewAll(t *testing.T, service *service, sessions []crashSession) {
	t.Helper()
	var wait sync.WaitGroup
	for client := range crashClients {
		wait.Go(func() {
			for i := client; i < len(sessions); i += crashClients {
				var tokens Tokens
				var err error
				if sessions[i].newest == "" {
					tokens, err = service.Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
				} else {
					tokens, err = service.Refresh(t.Context(), origin, sessions[i].newest)
				}
				if err != nil {
					t.Errorf("a client is without a token: %v", err)
					continue
				}
				sessions[i].consumed, sessions[i].newest = sessions[i].newest, tokens.Refresh
			}
		})
	}
	wait.Wait()
}

// mustRefuseConsumed presents the consumed token of some sessions after the grace period, which ends these sessions.
func mustRefuseConsumed(t *testing.T, dir string, sessions []crashSession, probes int) (refused int) {
	t.Helper()
	service, db := mustCrashService(t.Context(), dir, defaultRefreshGrace+time.Second)
	defer closeNow(t, db)
	for range probes {
		session := &sessions[rand.IntN(len(sessions))]
		if session.consumed == "" {
			continue
		}
		if _, err := service.Refresh(t.Context(), origin, session.consumed); err == nil {
			t.Error("a consumed token was accepted after the grace period")
		}
		if _, err := service.Refresh(t.Context(), origin, session.newest); err == nil {
			t.Error("a session is live after reuse")
		}
		*session = crashSession{}
		refused++
	}
	return refused
}

func closeNow(t *testing.T, db *store.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// rotateUntilKilled rotates the master key, and sometimes the keys of the service.
func rotateUntilKilled(service *service) {
	for i := 0; ; i++ {
		fmt.Println("rotating")
		_, err := service.Keys.RotateMaster(context.Background(), Operator(), origin, seal.MasterKey{})
		if err == nil && i%4 == 0 {
			err = service.Keys.Rotate(context.Background(), Operator(), origin)
		}
		if err != nil {
			panic(err)
		}
	}
}

// TestKillDuringRotationLosesNoKey kills a process that rotates keys, and checks each time that the store opens and
// earlier tokens are valid.
func TestKillDuringRotationLosesNoKey(t *testing.T) {
	t.Parallel()
	rounds, rotations := 3, 0
	if *long {
		rounds = 12
	}
	w := mustWorld(t, nil)
	closeNow(t, w.db)
	service, db := mustCrashService(t.Context(), w.dir, 0)
	tokens, err := service.Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	closeNow(t, db)
	for round := range rounds {
		mustKill(t, w.dir, "rotate", "", 1+round%3, func(string) { rotations++ })
		service, db := mustCrashService(t.Context(), w.dir, 0)
		next, err := service.Refresh(t.Context(), origin, tokens.Refresh)
		if err != nil {
			t.Fatalf("a token from before a rotation is not accepted: %v", err)
		}
		if _, err := service.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization}); err != nil {
			t.Fatal(err)
		}
		tokens = next
		closeNow(t, db)
	}
	if rotations < rounds+rounds/2 {
		t.Errorf("only %d rotations in %d rounds", rotations, rounds)
	}
	t.Logf("%d kills in %d rotations", rounds, rotations)
}
