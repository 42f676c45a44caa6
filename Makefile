# regwarden. `make` lists the targets. Those without a description are parts of others.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BIN     := bin/regwarden
export CGO_ENABLED ?= 0
# The Dockerfile has -trimpath, and a test runs its commands. With the same flag everywhere, each package is compiled once for all of them.
export GOFLAGS += -trimpath

.DEFAULT_GOAL := help

help:
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo '  Benchmarks: $(benchmarks)'

build: ## Build the static binary, bin/regwarden; the first time one to three minutes of processor time, then seconds
	@[ -e $(BIN) ] || echo 'The first build takes one to three minutes of processor time, later ones take seconds.'
	$(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./cmd/regwarden

run: build ## Build and run the service on 127.0.0.1:8080, data in ./regwarden-data
	@exec $(BIN) serve

demo: build ## Run the service with healthy and failing registries, an alert and a scan, all on this machine, until Ctrl-C
	@$(GO) build -o bin/demo ./demo && exec bin/demo $(BIN)

# The module in test/ runs on Linux only.
linux := $(filter Linux,$(shell uname))

check: ## Check format, vet, lint and pass the tests that need no Debian package and no root; the first time takes minutes
	@$(MAKE) --no-print-directory -j2 lint check-product check-system

check-product:
	$(go_test) -short ./...

check-system:
	$(if $(linux),cd test && $(go_test) -short -count=1 ./script)
	$(if $(linux),cd test && $(go_test) -count=1 -run 'Links|Index' ./docs)

# -w leaves out what only a debugger reads, which saves linking time.
go_test = $(GO) test -timeout 20m -vet=off -ldflags=-w
left_out = >>"$${TESTS_LEFT_OUT:-/dev/stderr}" echo

# Both modules wait more than they compute, so they run at the same time. In each, those that take longest come first, so that none is left
# to run alone at the end; before the browser those of databases that fail, which it would slow down. `make lint` runs vet.
test: ## Pass all tests; installs the Debian packages they need when it may, else lists the tests that it left out
	@test/all $(MAKE) --no-print-directory -j2 test-product test-system

# archtest reads the files of the whole repository.
test-product:
	$(go_test) -p 3 ./definitions ./regcheck $$($(GO) list ./... | grep -v /archtest)
	$(go_test) -count=1 ./internal/archtest

# SQLite is C translated to Go: the race detector knows nothing of its memory and makes it ten times slower. Cryptography
# only computes, and was a third of the time of the engine's tests. These are built without it. Packages that use generic types cannot be:
# the linker might take their copy of atomic.Pointer, which hides from the race detector what is synchronized. The packages of definitions
# have neither goroutines nor locks; internal/cli/scan runs them in goroutines. The race detector needs a C compiler.
not_instrumented = modernc.org/sqlite/lib modernc.org/memory golang.org/x/crypto/argon2 golang.org/x/crypto/blake2b crypto/internal/fips140/...
race = CGO_ENABLED=1 $(go_test) -race $(not_instrumented:%=-gcflags=%=-race=false)

test-race: deps ## Pass the tests of the product with the race detector, which takes three times as long; a job of its own in CI
	@test/in-memory $(MAKE) --no-print-directory test-product-race

test-product-race:
	$(race) -p 3 -skip '^TestMatrix$$' ./regcheck $$($(GO) list ./... | grep -vE "/definitions|/archtest")

# The binary is linked once for all test packages. Go does not see that they build it and read its pages, and would return cached results:
# hence -count=1. Most of them wait, so that more of them run at once than there are processors.
ifeq ($(linux),Linux)
test-system:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && trap 'exit 1' HUP INT TERM && \
	$(GO) build -buildvcs=false -ldflags='-s -w' -o "$$dir/regwarden" ./cmd/regwarden && cd test && \
	BINARY_UNDER_TEST="$$dir/regwarden" $(go_test) -count=1 -parallel 4 ./replicas ./service ./console ./...
else
test-system:
	@$(left_out) "Linux: the tests in test/"
endif

test-long: deps ## Run the long forms of tests, for every night; takes a quarter of an hour
	$(race) -timeout 60m ./regcheck -run '^TestMatrix$$'
	$(GO) test -vet=off -count=1 -timeout 60m ./definitions -run Cost -costs
	$(race) -timeout 60m ./internal/service/auth -run 'Kill|RefusalsDoTheSameWork|SessionInvariants' -long
	cd test && $(GO) test -vet=off -count=1 -timeout 120m ./replicas -run 'Failover|Killed|StoreAway' -long
	cd test && $(GO) test -vet=off -count=1 ./service -run KillLosesNoSession -long
	cd test && $(GO) test -vet=off -count=1 -timeout 60m ./console -long
	cd test && $(GO) test -vet=off -count=1 -timeout 60m ./oracles -rapid.checks 10000

# A module of its own: kube-apiserver has hundreds of dependencies. It is linted here, where they are compiled anyway.
test-kubernetes: ## Scan and watch objects of a Kubernetes API server, for every night; builds the server, which takes minutes
	@test/install-deps etcd:etcd-server
	cd test/kubernetes && $(golangci) && $(GO) test -count=1 -timeout 60m ./...

deps: ## Install the Debian packages that the tests need
	@test/install-deps

vet:
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "gofmt would change: $$unformatted"; exit 1; }
	$(GO) vet ./...
	cd test && GOOS=linux $(GO) vet ./...

# .golangci.yml says what golangci-lint checks. It reads a module once for all of it.
golangci := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run --allow-parallel-runners --timeout 20m ./...

lint: vet ## Check format; run vet and golangci-lint
	$(golangci)
	$(if $(linux),cd test && $(golangci))

# The database of vulnerabilities is read over the network, so that this is not part of the tests.
vulnerabilities: ## Report known vulnerabilities that the program can reach; reads vuln.go.dev
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

golden: ## Write the expected output of the command-line scripts anew
	cd test && $(GO) test ./script -update

docs: ## Write docs/codes.md and the words of docs/scan.md from their tables, docs/configuration.md from the flags, and what the chart renders
	$(GO) test ./internal/service/wording ./internal/cli/scan ./internal/cli/settings -run Page -update
	$(if $(linux),cd test && $(GO) test ./deploy -run 'Chart' -update)

fuzz: ## Run every fuzz target for 60 s
	@./fuzz 60s

# Changes the code of a package in small ways, and reports which changes no test notices. Not listed: it takes minutes for each package.
mutants:
	test/in-memory $(GO) run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0 unleash --workers 2 --timeout-coefficient 60 $(PACKAGE)

# BENCH is one or several of the benchmarks; without it, all run except those that take long. FLAGS takes -strict (fail when a limit is
# missed), -write (write the figures into docs/benchmarks.md), -old PATH (measure another binary in the same rounds; an absolute path), and
# -rounds 1 -for 200ms to see that a benchmark works.
benchmarks := $(shell grep -oh '^func Benchmark[A-Za-z]*' test/bench/*_test.go | sed 's/.*Benchmark//' | tr A-Z a-z | sort)
long_benchmarks = growth
BENCH ?= $(filter-out $(long_benchmarks),$(benchmarks))
empty :=

bench: ## Run all benchmarks, or those that BENCH names: make bench BENCH='start login' FLAGS='-strict -write'
	$(if $(filter-out $(benchmarks),$(BENCH)),$(error BENCH must be of: $(benchmarks)))
	cd test && $(GO) test ./bench -run '^$$' -benchtime 1x -timeout 60m -bench '(?i)^Benchmark($(subst $(empty) $(empty),|,$(strip $(BENCH))))$$' $(FLAGS)

images: ## Write the images of the README, what check and scan show in a terminal, into docs/images
	cd test && $(GO) test ./script -count=1 -run TestImages -images $(CURDIR)/docs/images

screenshots: ## Write the images of the console into docs/images; needs what the browser tests need
	cd test && $(GO) test ./console -count=1 -run TestConsole -screenshots ../../docs/images

man:
	rm -rf bin/man && mkdir -p bin/man
	$(GO) test ./internal/cli -run TestManPages -man $(CURDIR)/bin/man

completions: build
	rm -rf bin/completions && mkdir -p bin/completions
	for shell in bash zsh fish powershell; do $(BIN) completion $$shell >bin/completions/regwarden.$$shell || exit 1; done

release: ## Build the release of the tag that is checked out into dist/, or with FLAGS=--snapshot of any commit; publishes nothing
	deploy/release $(FLAGS)

release-check: ## Build two snapshots, compare them byte by byte, and check what is in them
	test/release-check

clean: ## Remove what was built; data stays
	rm -rf bin dist tmp

.PHONY: help build images run demo check test test-product test-system test-race test-product-race test-long test-kubernetes deps vet lint vulnerabilities golden docs fuzz
.PHONY: bench mutants screenshots man completions release release-check clean
