# Every target builds and installs what it needs; `make help` lists those for people.
#
# A user's variables (DATA=…, SEED=…) are data. They reach the programs through the environment, and a recipe uses the
# shell's syntax: "$$DATA", or $${SEED:+-seed "$$SEED"} for an optional flag. Never write $(DATA): make would put the
# value into the command's text, and the shell would run it.
override TAKES := DATA EVENTS_TO EVENTS_SECRET FAULTS CONCURRENCY SHOP ISSUER PARAMETERS API_PORT LAMBDA_PORT DYNAMODB_PORT SQS_PORT OPERATE_PORT SHOP_PORT \
	WEBHOOK_SECRET PAYMENT_LINK_KEYS ADDRESSES BACK SECRETS STRATEGY SCENARIO SEED SEEDS FIRST JSON SPEED CLIENTS TAG
# Any other is misspelt, or would replace a part of a command. What AWS's programs read is theirs.
override GIVEN := $(foreach v,$(filter-out MAKE% -%,$(.VARIABLES)),$(if $(filter command,$(origin $v)),$v))
$(foreach v,$(filter-out $(TAKES) AWS_%,$(GIVEN)),$(error there is no variable $v: `make help` lists what each target takes))
# make would expand a `$` in a value that it exports, from make 4.4 on also for a $(shell …) below.
$(foreach v,$(GIVEN),$(eval override $v := $$(value $v))$(eval export $v))

# Scripts are started by bash, because an exported tree may have lost their mode bits.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
ifeq ($(MAKE_VERSION),3.81)
SHELL := infra/make/shell.sh
endif

BUILD := .build
HOST := $(BUILD)/host
FLASHSALE := $(BUILD)/bin/flashsale
FUNCTIONS := PurchaseFunction FinalizeFunction QueryFunction SeedFunction OperateFunction ReconcileFunction ReleaseFunction RefundFunction DrawFunction PageFunction PayFunction PublishFunction
LOCAL_URL := http://127.0.0.1:$${API_PORT:-3000}
TELL := bash infra/make/tell.sh
# All go commands have the same flags, also those that only test, so that they share compiled packages. What no debugger
# reads takes a fifth of the compiler's time; the standard library is as in any Go developer's cache, with it and
# without -trimpath.
export CGO_ENABLED := 0
export GOFLAGS := -tags=lambda.norpc -gcflags=all=-dwarf=false -gcflags=std=
# From GOTMPDIR go moves a program to its place at once. From another file system it would copy it, and take half a copy,
# which a killed build has left, for the program. Tests have no GOTMPDIR: their folders would be in this clone.
# Without garbage collection below 1 GiB the compiler and the linker, each a short process, need a sixth less time.
TELL_GO := GOGC=off GOMEMLIMIT=1GiB GOTMPDIR="$$PWD/$(BUILD)/tmp" $(TELL) go build
BUILD_FLAGS := -v -buildvcs=false -ldflags=-s
GO_BUILD := $(TELL_GO) $(BUILD_FLAGS)
# The lab is a module of its own: its databases' clients are none of the product's modules.
LAB_BUILD := $(TELL_GO) -C infra/lab $(BUILD_FLAGS) -o ../../$(HOST)/lab .
# Nothing here reaches AWS.
export AWS_EC2_METADATA_DISABLED := true

.PHONY: help run shop demo events flashsale test check prove lab bench screenshots build release storefront clean \
	prove-stack prove-rules lab-check lab-engines host programs forwarder needs-go engine browser clients $(FUNCTIONS:%=build-%)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: host $(if $(value EVENTS_TO),forwarder) ## the system on this machine, in memory, with a demonstration sale open (DATA=folder keeps its data; EVENTS_TO=address EVENTS_SECRET=… FAULTS=… CONCURRENCY=… SHOP=1 ISSUER=URL SECRETS=folder PARAMETERS='Name=value …'; ports: API_PORT=3000 LAMBDA_PORT=… DYNAMODB_PORT=… SQS_PORT=… OPERATE_PORT=…)
	@exec $(HOST)/local -demo-sale -data "$${DATA-}" $${API_PORT:+-api-port "$$API_PORT"} $${LAMBDA_PORT:+-lambda-port "$$LAMBDA_PORT"} \
		$${DYNAMODB_PORT:+-dynamodb-port "$$DYNAMODB_PORT"} $${SQS_PORT:+-sqs-port "$$SQS_PORT"} $${OPERATE_PORT:+-operate-port "$$OPERATE_PORT"} \
		$${SECRETS:+-secrets "$$SECRETS"} $${ISSUER:+-issuer "$$ISSUER"} $${SHOP:+-priced-sale -parameter "PaymentUrl=/_local/shop/$${SHOP_PORT:-3003}?order={orderId}&sale={saleId}&units={units}&amount={amount}&currency={currency}&payBy={payBy}&signature={signature}"} \
		$${EVENTS_TO:+-events-to "$$EVENTS_TO"} $${FAULTS:+-faults "$$FAULTS"} $${CONCURRENCY:+-concurrency "$$CONCURRENCY"} $${PARAMETERS:+-parameters "$$PARAMETERS"}

shop: needs-go ## an example payment page of a shop, for a stack that was started with `make run SHOP=1` (SHOP_PORT=… WEBHOOK_SECRET=… PAYMENT_LINK_KEYS=… ADDRESSES=file; BACK=http://127.0.0.1:3004/?sale= leads back to a storefront)
	@$(GO_BUILD) -o $(HOST)/shop ./infra/ops/consumers/shop
	@exec $(HOST)/shop "$(LOCAL_URL)"

demo: host ## 1,000 buyers rush for 100 bottles on the running stack (or on a new one), then the receipt
	@exec $(HOST)/demo -url "$(LOCAL_URL)"

events: needs-go ## create the sale and orders of the files in events/ in the running stack (DYNAMODB_PORT=…)
	@go run ./events

flashsale: $(FLASHSALE) ## build the command flashsale: .build/bin/flashsale --help
# Folders are sources, too, because a file that goes changes only its folder.
$(FLASHSALE): go.mod go.sum $(shell find functions shared infra -type d -o -name '*.go' ! -name '*_test.go' 2>/dev/null) | needs-go
	@$(GO_BUILD) -o $@ ./infra/ops/flashsale
	@touch $@

# Building takes as long as running, so: no vet, because `make check` vets with more analyzers, and GOGC=400, which
# saves a seventh of the CPU time. Some packages mostly wait for real timeouts, so four run at a time on two CPUs, and
# the ones that wait longest start first. The time limit is for a machine that is several times as busy. Every package
# is in a run of test, check, prove or lab-check; PROVED are tests of the running system that take a minute or more. With
# SEEDS=… `make test` leaves the simulation to `make prove`, which has the same in full: .ci/run gives it to both.
WATCH := GOGC=400 bash infra/make/watch.sh go test -vet=off -p 4 -timeout 60m
SIMULATION := ./infra/proof/explore
WAITING := $(if $(value SEEDS),,$(SIMULATION)) ./infra/proof/system ./shared/ledger ./infra/proof/contract
AROUND := ./infra/local/engine ./infra/proof/checks ./infra/ops/... ./infra/local/... ./infra/kit/... ./infra/proof/bench/...
LATER := $(AROUND) $(SIMULATION) ./infra/proof/mutants ./infra/proof/browser/... ./infra/proof/clients
PROVED := ^TestEveryAccident|^TestEveryPayment|^TestNoPromiseIsBroken|^TestTheDocumentsCommands|^TestTheCommandsThatTry
test: host ## test the product, alone and on the local stack; `make check` has the tools, the stack itself and the rules of the sources, `make prove` the browsers, the accidents, the mutants and the long proofs
	$(WATCH) -skip '$(PROVED)' $(WAITING) $$(go list ./... | grep -vxFf <(go list $(WAITING) $(LATER)))

check: host ## test the tools and the local stack, also the ledger on its engine; check formatting, vet, staticcheck, the rules of the sources, known vulnerabilities; lint the templates and SAM's output
	@unformatted=$$(gofmt -l functions shared infra events); if [ -n "$$unformatted" ]; then echo "not formatted:" $$unformatted; exit 1; fi
	go vet ./...
	go vet -C infra/lab ./...
	go tool staticcheck ./...
	staticcheck=$$(go tool -n staticcheck) && cd infra/lab && "$$staticcheck" ./...
	$(WATCH) $(AROUND)
	@bash infra/proof/checks/vulnerabilities.sh
	@bash infra/proof/checks/lint.sh

# Side by side, because the one mostly waits, for servers, browsers and real timeouts, and the other computes. Neither has
# anything to make first: make starts a goal whose prerequisites end late only when a command of the other has ended.
prove: host flashsale forwarder browser clients ## run the tests in a browser, generated clients, the accidents, kill -9, the mutants, the race detector and the long proofs in full: SEEDS=2000 random sales from FIRST=1 on, every plan of FAULTS=2 faults, 100,000 due claims, a draw of a million, the commands of the documents, races in the simulation
	@$(MAKE) --no-print-directory -j 2 prove-stack prove-rules

prove-stack:
	$(WATCH) ./infra/proof/system -run '$(PROVED)'
	$(WATCH) ./infra/proof/clients
	$(WATCH) ./infra/proof/browser/...

# The race detector needs a C compiler, and multiplies the time to build and to run: it is for packages whose code or
# tests start goroutines, which is what the pattern finds, and for infra/proof/handlers, which has several events of each
# function in flight. Of the ledger's suites it watches the one with contention, which has all behaviours.
WITH_COMPILER = $(if $(shell command -v "$$(go env CC)" 2>/dev/null),$1)
RACE := CGO_ENABLED=1 $(WATCH) -race
SHARING = $$(grep -rlE --include='*.go' '\.Go\(|\.Parallel\(|^[[:space:]]*go |httptest\.NewServer' functions shared infra/local infra/kit/rush | xargs -n 1 dirname | sort -u | sed 's|^|./|')
prove-rules:
	$(WATCH) ./infra/proof/explore -seeds "$${SEEDS:-2000}" -first "$${FIRST:-1}" -faults "$${FAULTS:-2}"
	$(WATCH) ./shared/ledger -run '^TestReleasingManyClaims|^TestARecallOfManyOrders|^TestADrawOfManyEntrants' -dues 100000 -entrants 1000000
	$(WATCH) ./infra/proof/mutants
	$(call WITH_COMPILER,$(RACE) ./infra/proof/explore -run '^TestSimulation' -seeds "$$(($${SEEDS:-2000} / 80))" -first "$${FIRST:-1}")
	$(call WITH_COMPILER,$(RACE) -skip '^TestTheLedgerOver(TheFake|AFakeWhoseReadsLag)$$' ./infra/ops/load ./infra/proof/handlers $(SHARING))
	$(call WITH_COMPILER,CGO_ENABLED=1 $(TELL) go build -race -ldflags=-s -o $(BUILD)/raced/ ./infra/local/functions)
	$(call WITH_COMPILER,$(WATCH) ./infra/proof/system -run '^TestEveryAccident/^(crowd|undelivered)$$' -programs "$$PWD/$(BUILD)/raced")

lab: host ## compare common flash-sale strategies side by side: STRATEGY=… SCENARIO=… SEED=… SEEDS=… (JSON=1); SPEED=5s: orders a second of the local stack, PostgreSQL and Redis, in turn, with CLIENTS=64, in SEEDS=3 rounds
	@$(LAB_BUILD)
	@exec $(HOST)/lab -page $(BUILD)/lab.html $${STRATEGY:+-strategy "$$STRATEGY"} $${SCENARIO:+-scenario "$$SCENARIO"} $${SEED:+-seed "$$SEED"} \
		$${SPEED:+-speed "$$SPEED" -seeds 3} $${SEEDS:+-seeds "$$SEEDS"} $${JSON:+-json} $${CLIENTS:+-clients "$$CLIENTS"}

# On real engines, which come from the system's packages: the unsafe strategies fail in their scenario, the safe never.
lab-check: lab-engines host
	GOGC=400 bash infra/make/watch.sh go test -C infra/lab -vet=off -p 4 -timeout 60m ./...
	LAB_ENGINES=required go test -C infra/lab -count 1 -parallel 1 -p 1 -timeout 60m -run '^TestOnRealEngines$$|^TestEveryRowOfTheSpeed' .
lab-engines:
	@bash infra/make/engines.sh

# Each run of the benchmarks is one round, so that the handlers and the bare calls alternate. GOGC is template.yaml's.
bench: needs-go ## benchmark the handlers' overhead over their AWS calls, and a cold start: benchstat compares both sides of each case
	@$(GO_BUILD) -o $(HOST)/ ./functions/purchase ./infra/proof/bench/bare
	@$(TELL) go test -c -o $(HOST)/bench ./infra/proof/bench
	@cd infra/proof/bench && for round in {1..15}; do \
		GOGC=400 ../../../$(HOST)/bench -test.run '^$$' -test.bench . -test.benchtime 300ms; done | tee ../../../$(BUILD)/bench.txt
	@go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da \
		-col '/side@(bare handler)' -filter '.unit:(cpu-sec/op OR allocs/op) OR .name:ColdStart' $(BUILD)/bench.txt
	@for program in purchase bare; do printf 'zip %s bytes=%d\n' $$program "$$(gzip -c $(HOST)/$$program | wc -c)"; done

screenshots: host browser $(BUILD)/lab-picture.html ## take the README's pictures again: the pages, the live view during a rush, and the lab's verdicts
	@$(GO_BUILD) -o $(HOST)/screenshots ./infra/proof/browser/screenshots
	@$(HOST)/screenshots
# A part of the lab that fits a picture: a few strategies of each family, and the scenarios in which they differ.
# The page is kept, because the run takes minutes.
$(BUILD)/lab-picture.html: | host lab-engines
	@$(LAB_BUILD)
	$(HOST)/lab -page $@.new -scenario calm,slow-check,last-units,frozen-at-the-end,fifteen-clicks,server-killed,engine-killed,answers-lost \
		-strategy mutex-x3,sql-read-then-write,sql-for-update,sql-conditional,redis-set-nx-ex,redis-set-nx-ex-set,redis-token-unlock,redis-fenced-set,redis-failover,redis-decr,redis-lua-queue,split-shares,ours-ledger
	@mv $@.new $@

build: flashsale $(FUNCTIONS:%=build-%) ## build every function for deployment (linux/arm64) under .build/lambda, and the command flashsale
build: ARTIFACTS_DIR :=
# The same commit gives the same bytes, wherever it is built. `sam build` calls these with ARTIFACTS_DIR set. There is a rule for each name: a pattern would put any text into
# the command.
$(FUNCTIONS:%=build-%): build-%Function: needs-go
	GOFLAGS=-tags=lambda.norpc GOOS=linux GOARCH=arm64 $(GO_BUILD) -trimpath -o "$${ARTIFACTS_DIR:-$(BUILD)/lambda/$*Function}/bootstrap" ./functions/$$(echo $* | tr A-Z a-z)

release: needs-go ## make the files of a release in .build/release: zips, the command for each platform, templates, bills of materials, the storefront's modules, licences, checksums (TAG=v…: refuse another version)
	@go run ./infra/ops/packaging $${TAG:+-tag "$$TAG"}

storefront: needs-go ## make flashsale.js, <flash-sale> and their npm package in .build/package, of this checkout as it is
	@go run ./infra/ops/packaging -storefront

# For this machine, what `make run`, `make shop` and `make demo` start, and no more: npm waits for the network, and go computes. All
# functions are one program, which takes one link.
host:
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j 2) engine programs
programs: needs-go
	@$(GO_BUILD) -o $(HOST)/ ./infra/local ./infra/local/functions ./infra/local/demo ./infra/ops/consumers/shop
	@for f in $(FUNCTIONS); do mkdir -p $(HOST)/$$f && ln -f $(HOST)/functions $(HOST)/$$f/bootstrap; done

forwarder: needs-go
	@$(GO_BUILD) -o $(HOST)/Forwarder/bootstrap ./infra/ops/consumers/forwarder

needs-go:
	@bash infra/make/need.sh go
	@mkdir -p $(BUILD)/tmp

# What comes from npm, verified by the lock file's integrity: the DynamoDB engine, what the tests of the pages need
# beside a Chromium, whose path is noted, what builds the example of a storefront in React, and other people's readers of
# our documents.
engine: $(if $(value AWS_ENDPOINT_URL_DYNAMODB),,$(BUILD)/engine/installed)
clients: $(BUILD)/clients/installed
browser: $(BUILD)/browser/installed $(BUILD)/storefront/installed
	@program=$$(bash infra/make/browser.sh) && printf '%s\n' "$$program" >$(BUILD)/browser/program
$(BUILD)/engine/installed: $(wildcard infra/local/engine/package*.json) infra/local/engine/streamfile.mjs
$(BUILD)/clients/installed: $(wildcard infra/proof/clients/package*.json)
$(BUILD)/browser/installed: $(wildcard infra/proof/browser/package*.json)
$(BUILD)/storefront/installed: $(wildcard infra/ops/consumers/storefront/react/package*.json)
$(BUILD)/engine/installed $(BUILD)/clients/installed $(BUILD)/browser/installed $(BUILD)/storefront/installed:
	@bash infra/make/need.sh node
	@mkdir -p $(@D) && cp $^ $(@D)
	@$(TELL) npm ci --prefix $(@D) --ignore-scripts --no-audit --no-fund --loglevel=error
	@if [ $(@D) = $(BUILD)/engine ]; then bash infra/local/engine/verify.sh $(@D); fi
	@touch $@

clean: ## remove all build output (the data of stacks stays)
	rm -rf $(BUILD)
