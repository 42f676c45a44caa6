package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// What must not share a process with what is measured runs as a part: this program again, with partName in
// its environment. It is asked by lines and answers by lines.
const (
	partName    = "REGWARDEN_BENCH_PART"
	partLines   = "lines"   // asked with the address of a server, answers with that of a line to it
	partStorm   = "storm"   // see runStorm
	partBare    = "bare"    // see openBare
	partVisits  = "visits"  // see visits.answer
	partLoad    = "load"    // see generator.answer
	partLimits  = "limits"  // see limits.answer
	partEngine  = "engine"  // see runEngine
	partServers = "servers" // asked with the name of a server of the kit, answers with its address
)

// runPart is a part's whole life: until its input ends.
func runPart(name string) error {
	answer := map[string]func(string) (string, error){
		partLines: openLine, partServers: openServer, partStorm: runStorm, partBare: openBare, partEngine: runEngine, partLimits: (&limits{}).answer,
		partVisits: (&visits{seen: map[string][]time.Time{}}).answer, partLoad: (&generator{tokens: map[string][]string{}}).answer,
	}[name]
	for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
		said, err := answer(asked.Text())
		if err != nil {
			return err
		}
		if _, err := fmt.Println(said); err != nil {
			return err
		}
	}
	return nil
}

// openBare starts a server that does nothing but answer: what it takes to be answered is the machine's part.
func openBare(string) (string, error) {
	runtime.GOMAXPROCS(runtime.NumCPU())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = http.Serve(listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) }() //nolint:gosec // for one client, our own
	return "http://" + listener.Addr().String(), nil
}

func openServer(name string) (string, error) {
	g, err := regchecktest.Open(name)
	if err != nil {
		return "", err
	}
	return g.Loopback(), nil // open until the process ends
}

// part is a running part.
type part struct {
	tell io.WriteCloser
	hear *bufio.Reader
	cmd  *exec.Cmd
}

// startPart starts a part; before it on the command line may stand a program that starts it in some way.
func startPart(b *testing.B, name string, before ...string) *part {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	words := append(before, self)
	p := &part{cmd: exec.Command(words[0], words[1:]...)}
	p.cmd.Env = []string{partName + "=" + name, "GOMAXPROCS=16"} // lines sleep in their threads
	p.cmd.Stderr = os.Stderr
	if p.tell, err = p.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	p.hear = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.stop)
	return p
}

func (p *part) ask(what string) (string, error) {
	if _, err := fmt.Fprintln(p.tell, what); err != nil {
		return "", err
	}
	said, err := p.hear.ReadString('\n')
	return strings.TrimSpace(said), err
}

// stop ends the part, however often it is called.
func (p *part) stop() {
	_ = p.tell.Close() // the end of its input, and so its own
	_ = p.cmd.Wait()
}
