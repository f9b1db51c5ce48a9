# make test test-long lint cross storm fleet bench fuzz fmt tidy: every module of go.work, one after another.
# GNU make, Go and git are enough; the race detector also wants a C compiler.

GO                    ?= go
GOLANGCI_LINT_VERSION := v2.15.0
FUZZTIME              ?= 5s
TESTFLAGS             ?= -timeout 40m
KILLS                 ?= 300
FAULTS                ?= 200

# The packages that make test runs under the race detector.
raced := ./orchestrator ./orchestrator/agent/... ./orchestrator/internal/... ./blackboard ./blackboard/runlog ./providers

# The package by which tests repeat what they repeat.
rounds := github.com/convene-go/convene/internal/roundtest

root    := $(CURDIR)
modules  = $(shell $(GO) list -m -f '{{.Dir}}')
config  := $(root)/.golangci.yml

# The linter of exactly this version: from the path if it is there, else built once
# into bin/.
version  := $(GOLANGCI_LINT_VERSION:v%=%)
lint_bin  = $(shell for l in golangci-lint "$$($(GO) env GOPATH)/bin/golangci-lint"; do \
	if [ "$$("$$l" version --short 2>/dev/null)" = "$(version)" ]; then command -v "$$l"; exit; fi; done; \
	echo "$(root)/bin/golangci-lint-$(version)/golangci-lint")

# each runs $(1) in the folder of every module that holds Go files, and stops at the
# first that fails.
each = @set -e; for m in $(modules); do cd "$$m"; \
	if [ -z "$$($(GO) list -e ./... 2>/dev/null)" ]; then echo "$$m: no packages yet"; continue; fi; \
	echo "== $$m"; $(1); done

.PHONY: help test test-long lint cross storm fleet bench fuzz fmt tidy oracle golangci-lint

help:
	@echo 'make test       quick tests of all packages, the core under the race detector'
	@echo 'make test-long  all tests under the race detector, and all rounds of random cases'
	@echo 'make lint       formatting, go vet and golangci-lint $(GOLANGCI_LINT_VERSION)'
	@echo 'make cross      go vet for windows and darwin'
	@echo 'make storm      kill KILLS ($(KILLS)) processes at work, and check what logs promise'
	@echo 'make fleet      the same with FAULTS ($(FAULTS)) of three processes and a Postgres server'
	@echo 'make bench      the table of measurements'
	@echo 'make fuzz       every fuzz target for FUZZTIME ($(FUZZTIME))'
	@echo 'make oracle     requests and answers beside the vendors own SDKs'
	@echo 'make fmt        format all files'
	@echo 'make tidy       go mod tidy in every module'

# cc tells whether there is a C compiler, which the race detector wants.
cc = printf '\#include <stdlib.h>\nint main(void) { return 0; }\n' | $$($(GO) env CC) -x c -o /dev/null - >/dev/null 2>&1

# The quick tests of all packages; those of the core under the race detector.
test:
	@race=-race; $(cc) || { race=; echo 'No C compiler: testing without the race detector.'; }; \
	all=$$($(GO) list $(addsuffix /...,$(modules))) && raced=$$($(GO) list $(raced)) && \
	rest=$$(printf '%s\n' $$all | grep -vxF "$$raced") || exit 1; status=0; \
	CGO_ENABLED=$${race:+1} $(GO) test -short $$race -shuffle=on $(TESTFLAGS) $$raced || status=1; \
	$(GO) test -short -shuffle=on $(TESTFLAGS) $$rest || status=1; \
	exit $$status

# Everything under the race detector, and nothing left out; then all rounds of what is
# repeated, without it (internal/roundtest says why).
test-long:
	@race=-race; $(cc) || { race=; echo 'No C compiler: testing without the race detector.'; }; \
	repeated=$$($(GO) list -f '{{$$p := .ImportPath}}{{range .TestImports}}{{println . $$p}}{{end}}{{range .XTestImports}}{{println . $$p}}{{end}}' \
		$(addsuffix /...,$(modules)) | sed -n 's,^$(rounds) ,,p' | sort -u); [ -n "$$repeated" ] || exit 1; status=0; \
	CGO_ENABLED=$${race:+1} $(GO) test $$race -shuffle=on $(TESTFLAGS) $(addsuffix /...,$(modules)) || status=1; \
	$(GO) test -shuffle=on $(TESTFLAGS) $$repeated || status=1; \
	exit $$status

lint: golangci-lint
	$(call each,"$(lint_bin)" fmt --diff --config "$(config)" && \
		$(GO) vet ./... && "$(lint_bin)" run --allow-parallel-runners --config "$(config)" ./...)

fmt: golangci-lint
	$(call each,"$(lint_bin)" fmt --config "$(config)")

golangci-lint:
	@if [ ! -x "$(lint_bin)" ]; then \
		echo "building golangci-lint $(GOLANGCI_LINT_VERSION) into bin/"; \
		GOWORK=off GOFLAGS= GOBIN="$(dir $(lint_bin))" $(GO) install \
			github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION); \
	fi

# No C compiler for other systems is asked for: without cgo.
cross:
	$(call each,for os in windows darwin; do CGO_ENABLED=0 GOOS=$$os $(GO) vet ./...; done)

storm:
	cd bench && $(GO) run ./killstorm -kills $(KILLS)

fleet:
	cd bench && $(GO) run ./killstorm -postgres -kills $(FAULTS)

bench:
	cd bench && $(GO) run .

# How the code is written: sizes, comments, arrows between files, functions of a call.
.PHONY: form
form:
	$(GO) test -v -count=1 -run 'TestForm|TestRooms' ./internal/arch/form ./internal/arch/rooms && cd bench && $(GO) test -v -count=1 -run FunctionsOfACall ./trace

# A module outside the workspace: the SDKs would bind every other one.
oracle:
	cd providers/oracle && GOWORK=off $(GO) mod tidy -diff && GOWORK=off $(GO) vet . && GOWORK=off $(GO) test -timeout 5m .

tidy:
	$(call each,GOWORK=off $(GO) mod tidy)

# Before 1.27 Go may report the end of a target's time as a failure of the target
# (go.dev/issue/75804). A real one writes its input down; the other is run again.
fuzz:
	@set -e; log=$$(mktemp); trap 'rm -f "$$log"' EXIT; n=0; \
	for m in $(modules); do cd "$$m"; \
		for dir in $$($(GO) list -e -f '{{.Dir}}' ./... 2>/dev/null); do \
			for f in $$(cat "$$dir"/*_test.go 2>/dev/null | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do \
				n=$$((n + 1)); \
				for try in 1 2 3 4 5 6; do \
					echo "== $$dir: $$f for $(FUZZTIME)"; \
					if $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) "$$dir" >"$$log" 2>&1; then \
						tail -n 2 "$$log"; break; \
					fi; \
					cat "$$log"; \
					if [ $$try = 6 ] || grep -q 'Failing input written' "$$log" || \
						! grep -q '^ *context deadline exceeded' "$$log"; then exit 1; fi; \
				done; \
			done; \
		done; \
	done; echo "$$n fuzz targets"
