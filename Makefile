# regwarden. `make` lists the targets.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BIN     := bin/regwarden
export CGO_ENABLED ?= 0
# The Dockerfile has -trimpath, and a test runs its commands. With the same flag everywhere, each package is compiled once for all of them.
export GOFLAGS += -trimpath

.DEFAULT_GOAL := help

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the static binary, bin/regwarden
	$(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./cmd/regwarden

run: build ## Build and run the service on 127.0.0.1:8080, data in ./regwarden-data
	@exec $(BIN) serve

demo: build ## Show logins and checks with a real registry, on loopback
	@demo/run

# The module in test/ runs on Linux only.
linux := $(filter Linux,$(shell uname))

check: lint ## Check format, vet, lint and pass the tests that need no Debian package and no root
	$(GO) test -short -vet=off ./...
	$(if $(linux),cd test && $(GO) test -short -vet=off -ldflags=-w -count=1 ./script)
	$(if $(linux),cd test && $(GO) test -vet=off -ldflags=-w -count=1 -run 'Links|Index' ./docs)

# Go does not see that the tests in test/ build the program and read its pages, and would return cached results: hence -count=1.
#
# SQLite is C translated to Go: the race detector knows nothing of its memory and makes it ten times slower. Cryptography
# only computes, and was a third of the time of the engine's tests. These are built without it. Packages that use generic types cannot be:
# the linker might take their copy of atomic.Pointer, which hides from the race detector what is synchronized. `make lint` runs vet.
# Most tests in test/ wait, so that more of them run at once than there are processors. -w leaves out what only a debugger reads,
# which saves linking time. The race detector needs a C compiler.
compiler = $(shell command -v "$$($(GO) env CC)")
not_instrumented = modernc.org/sqlite/lib modernc.org/memory golang.org/x/crypto/argon2 golang.org/x/crypto/blake2b crypto/internal/fips140/...
race = $(if $(compiler),CGO_ENABLED=1) $(GO) test -timeout 20m -vet=off -ldflags=-w $(if $(compiler),-race $(not_instrumented:%=-gcflags=%=-race=false))
left_out = >>"$${TESTS_LEFT_OUT:-/dev/stderr}" echo

# Both modules wait more than they compute, so they run at the same time.
test: ## Pass all tests; installs the Debian packages they need when it may, else lists the tests that it left out
	@test/all $(MAKE) --no-print-directory -j3 test-plain test-product test-system

# Tests that compute much, which the race detector would make ten times slower: their files have the build tag !race. The packages of
# definitions are only here, since they have neither goroutines nor locks; internal/cli/scan runs them in goroutines.
# In the other targets, those that take longest come first, so that none is left to run alone at the end; before the browser those of
# databases that fail, which it would slow down.
test-plain:
	$(GO) test -vet=off -count=1 ./internal/archtest ./internal/cli/scan ./definitions/...

test-product:
	$(if $(compiler),,@$(left_out) "build-essential: the race detector")
	packages=$$($(GO) list ./...) && $(race) -p 3 ./regcheck $$(echo "$$packages" | grep -vE "/definitions|/archtest")

# The binary is linked once for all test packages.
ifeq ($(linux),Linux)
test-system:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && trap 'exit 1' HUP INT TERM && \
	$(GO) build -buildvcs=false -ldflags='-s -w' -o "$$dir/regwarden" ./cmd/regwarden && cd test && \
	BINARY_UNDER_TEST="$$dir/regwarden" $(GO) test -timeout 20m -vet=off -ldflags=-w -count=1 -parallel 4 ./replicas ./service ./console ./...
else
test-system:
	@$(left_out) "Linux: the tests in test/"
endif

test-long: deps ## Run the long forms of tests, for every night; takes a quarter of an hour
	$(race) -timeout 60m ./internal/service/auth -run 'Kill|RefusalsDoTheSameWork|SessionInvariants' -long
	cd test && $(GO) test -vet=off -count=1 -timeout 120m ./replicas -run 'Failover|Killed|StoreAway' -long
	cd test && $(GO) test -vet=off -count=1 ./service -run KillLosesNoSession -long
	cd test && $(GO) test -vet=off -count=1 -timeout 60m ./console -long
	cd test && $(GO) test -vet=off -count=1 -timeout 60m ./oracles -rapid.checks 10000

# A module of its own: kube-apiserver has hundreds of dependencies.
test-kubernetes: ## Scan what a Kubernetes API server returns, for every night; builds the server, which takes minutes
	@test/install-deps etcd:etcd-server
	cd test/kubernetes && $(GO) test -count=1 -timeout 60m ./...

deps: ## Install the Debian packages that the tests need
	@test/install-deps

vet: ## Check format, and run go vet
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "gofmt would change: $$unformatted"; exit 1; }
	$(GO) vet ./...
	cd test && GOOS=linux $(GO) vet ./...

# golangci-lint 2.15 instead of staticcheck and gosec took 83 instead of 120 s of processor time, but 1.6 instead of 1.2 GB of memory, and
# its gosec reports what a comment in the code already explains: hence separate calls.
# gosec: G101 takes the word "token" for a token, and G304 every file that the operator names for an attack.
lint: vet ## Check format; run vet, staticcheck and gosec
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	$(if $(linux),cd test && $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...)
	$(GO) run github.com/securego/gosec/v2/cmd/gosec@v2.29.0 -quiet -exclude=G101,G304 -exclude-dir=regcheck/regchecktest ./...

# The database of vulnerabilities is read over the network, so that this is not part of the tests.
vulnerabilities: ## Report known vulnerabilities that the program can reach; reads vuln.go.dev
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

golden: ## Write the expected output of the command-line scripts anew
	cd test && $(GO) test ./script -update

docs: ## Write docs/codes.md and the words of docs/scan.md from their tables, and docs/configuration.md from the flags
	$(GO) test ./internal/service/wording ./internal/cli/scan ./internal/cli -run Page -update

matrix: ## Print the matrix of definitions: what each should come to, and what it did
	$(GO) test ./regcheck -run 'TestMatrix' -v

fuzz: ## Run every fuzz target for 60 s
	@./fuzz 60s

# BENCH takes -strict (fail when a limit is missed), -write (write the figures into docs/benchmarks.md), -old PATH (measure another binary in
# the same rounds; an absolute path), and -rounds 1 -for 200ms to see that a benchmark works.
bench_run = cd test && $(GO) test ./bench -run '^$$' -benchtime 1x -timeout 60m -bench

bench: ## Run all benchmarks but bench-growth; BENCH='-strict -write' to fail on missed limits and to keep the figures
	$(bench_run) . -skip 'Growth|Profile' $(BENCH)

bench-speed: ## Requests and refreshes compared with what the machine can do
	$(bench_run) Speed $(BENCH)

bench-signin: ## Logins compared with password hashes; starts; idle memory
	$(bench_run) SignIn $(BENCH)

bench-postgres: ## Refreshes on PostgreSQL compared with pgbench
	$(bench_run) Postgres $(BENCH)

bench-replicas: ## Refreshes at three replicas on one PostgreSQL compared with one replica
	$(bench_run) Replicas $(BENCH)

bench-connections: ## A replica with 8 connections compared with 19, and through pgbouncer
	$(bench_run) Connections $(BENCH)

bench-claims: ## Claims of three replicas after 100,000 registries fell due at once; polls with 100,000 organizations
	$(bench_run) Claims $(BENCH)

bench-users: ## 200,000 users compared with 1,000
	$(bench_run) Users $(BENCH)

bench-tokens: ## GETs with a million live tokens compared with one token; the memory that they take
	$(bench_run) Tokens $(BENCH)

bench-onetoken: ## 32 clients on one refresh token for a minute
	$(bench_run) OneToken $(BENCH)

bench-engine: ## Checks of registries: processor time, allocations, 64 at once
	$(bench_run) Engine $(BENCH)

bench-scan: ## Reading 5,000 definitions in 1,000 files; 500 checks compared with their round trips
	$(bench_run) Scan $(BENCH)

bench-start: ## What a command costs before it does anything: time and memory of regwarden version
	$(bench_run) Start $(BENCH)

bench-scan-cost: ## CPU time and memory of reading hostile files, per MiB, for every format
	$(GO) test -vet=off -count=1 -timeout 30m ./definitions -run TestCost -costs -v | grep -E 'MiB|^(ok|FAIL)'

bench-growth: ## A million sessions, ten million audit records, and their cleaning; takes minutes and 7 GiB
	$(bench_run) Growth $(BENCH)

profile: ## Write CPU, heap, block and mutex profiles of the service under load into ./profiles
	$(bench_run) Profile

bench-roundtrips: ## Count how often a check waits for its registry
	$(bench_run) RoundTrips $(BENCH)

bench-hostile: ## Run 500 checks at once of registries that never end
	$(bench_run) Hostile $(BENCH)

bench-login: ## Delay of other requests by many logins at once; logins a second; memory
	$(bench_run) Login $(BENCH)

bench-fairness: ## Log in while others keep the hashing of passwords busy
	$(bench_run) Fairness $(BENCH)

bench-records: ## Store and check on schedule 10,000 definitions of one organization
	$(bench_run) Records $(BENCH)

bench-pages: ## Pages of the console with 1,000 registries and 30 days of history
	$(bench_run) Pages $(BENCH)

screenshots: ## Write the images of the console into docs/images; needs what the browser tests need
	cd test && $(GO) test ./console -count=1 -run TestConsole -screenshots ../../docs/images

man: ## Write the man pages into bin/man
	rm -rf bin/man && mkdir -p bin/man
	$(GO) test ./internal/cli -run TestManPages -man $(CURDIR)/bin/man

completions: build ## Write the completions of bash, zsh, fish and PowerShell into bin/completions
	rm -rf bin/completions && mkdir -p bin/completions
	for shell in bash zsh fish powershell; do $(BIN) completion $$shell >bin/completions/regwarden.$$shell || exit 1; done

release: ## Build the release of the tag that is checked out into dist/; publishes nothing
	deploy/release

release-snapshot: ## Build what a release of this commit would consist of into dist/
	deploy/release --snapshot

release-check: ## Build two snapshots, compare them byte by byte, and check what is in them
	test/release-check

clean: ## Remove what was built; data stays
	rm -rf bin dist tmp

.PHONY: help build run demo check man completions release release-snapshot release-check test test-product test-system test-long test-kubernetes deps vet lint vulnerabilities golden docs matrix fuzz bench bench-roundtrips bench-hostile bench-login bench-fairness bench-records bench-speed bench-signin bench-postgres bench-replicas bench-connections bench-claims bench-users bench-tokens bench-onetoken bench-engine bench-start bench-scan-cost bench-growth bench-pages screenshots profile clean
