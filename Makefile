# flashsale: every target sets up what it needs. `make help` lists them.
#
# What a person gives (SALE=…, RATE=…) is data. It reaches the programs through the
# environment, and a recipe names it as the shell does: "$$SALE", or for a flag that
# may be left out $${RATE:+-rate "$$RATE"}. Never write $(SALE): make would put the value
# into the command's text, and the shell would run it. A condition on whether
# something is given is $(if $(value SALE),…). What is not given is `override`, so that
# nobody replaces a part of a command.
override SHELL := infra/make/shell.sh
.DEFAULT_GOAL := help

override BUILD := .build
override HOST := $(BUILD)/host
override SAM_BUILT := $(BUILD)/sam
override FUNCTIONS := PurchaseFunction FinalizeFunction QueryFunction SeedFunction ReconcileFunction
override TELL := infra/make/tell.sh
# One set of flags for all programs: what one of them compiles, the others find in Go's
# cache.
override GO_BUILD := CGO_ENABLED=0 $(TELL) go build -v -buildvcs=false -trimpath -tags lambda.norpc -ldflags=-s

# make would expand the `$` in a value of its command line when it exports it: this
# takes the value as it stands. It comes before the first $(shell …), which gets the
# exported variables from make 4.4 on.
$(foreach v,$(filter-out MAKE% -%,$(.VARIABLES)),$(if $(filter command,$(origin $v)),\
	$(eval override $v := $$(value $v))$(eval export $v)))

# Every local run is cut off from real AWS. What is told a stack or a table there may
# take its credentials from the machine that it runs on.
ifeq ($(value ENV)$(value TABLE)$(value ALLOW_REMOTE),)
export AWS_EC2_METADATA_DISABLED := true
endif

# The race detector needs a C compiler; tests run without it where there is none.
override RACE = $(if $(shell command -v "$$(go env CC)" 2>/dev/null),-race)

# Where the local stack listens (always on 127.0.0.1) and keeps its data.
API_PORT      ?= 3000
LAMBDA_PORT   ?= 3001
DYNAMODB_PORT ?= 8000
SQS_PORT      ?= 9324
DATA          ?= .local
export API_PORT LAMBDA_PORT DYNAMODB_PORT SQS_PORT DATA
override PORTS := -api-port "$$API_PORT" -lambda-port "$$LAMBDA_PORT" -dynamodb-port "$$DYNAMODB_PORT"
override LOCAL_URL := http://127.0.0.1:$$API_PORT

# What starts Go by itself.
plan compare-engine bench prove mutate check simulate enumerate $(FUNCTIONS:%=build-%): needs-go

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z%-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: run
run: host ## the system on this machine, with a demonstration sale open (FAULTS=… CONCURRENCY=… PARAMETERS='Name=value …')
	@exec $(HOST)/local $(PORTS) -sqs-port "$$SQS_PORT" -data "$$DATA" -demo-sale $${FAULTS:+-faults "$$FAULTS"} \
		$${CONCURRENCY:+-concurrency "$$CONCURRENCY"} $${PARAMETERS:+-parameters "$$PARAMETERS"}

.PHONY: demo
demo: host ## 1,000 buyers rush for 100 bottles on the running stack (or on one of its own), then the receipt
	@exec $(HOST)/demo -api-port "$$API_PORT"

.PHONY: events
events: ## the sale and orders that the files in events/ name, in the running stack
	@go run ./events

# What an operator asks and does: on the local stack, or on the stack of ENV=dev or
# ENV=prod in infra/samconfig.toml, with AWS credentials in the environment. What only
# looks at table and queues may name TABLE=… (and QUEUE=… DLQ=…) instead.
override OPERATOR := $(HOST)/operator -api-port "$$API_PORT" $${ENV:+-env "$$ENV"} \
	$${TABLE:+-table "$$TABLE" -queue "$${QUEUE-}" -dead-letter-queue "$${DLQ-}"}

.PHONY: sales
sales: operator ## every sale with its state, its units and whether its books balance
	@$(OPERATOR) sales

.PHONY: pause
pause: operator ## stop SALE=… (on AWS: ENV=…): when it says so, no unit leaves any shard
	@$(OPERATOR) pause -sale "$${SALE-}"

.PHONY: resume
resume: operator ## let SALE=… go on
	@$(OPERATOR) resume -sale "$${SALE-}"

.PHONY: reschedule
reschedule: operator ## SALE=… sells from OPENS=2026-11-11T12:00:00Z to CLOSES=…
	@$(OPERATOR) reschedule -sale "$${SALE-}" -opens "$${OPENS-}" -closes "$${CLOSES-}"

.PHONY: add
add: operator ## STOCK=… more units for SALE=…; a repeat with the same SEED_ID=… changes nothing
	@$(OPERATOR) add -sale "$${SALE-}" -stock "$${STOCK-}" -seed-id "$${SEED_ID-}"

.PHONY: withdraw
withdraw: operator ## up to STOCK=… unsold units leave SALE=…; a repeat with the same SEED_ID=… changes nothing
	@$(OPERATOR) withdraw -sale "$${SALE-}" -stock "$${STOCK-}" -seed-id "$${SEED_ID-}"

.PHONY: receipt
receipt: operator ## SALE=… (or ALL=1) recounted from the table, fails unless it balances; JSON=1, FULL=1 scans any table
	@$(OPERATOR) receipt -sale "$${SALE-}" $${ALL:+-all} $${JSON:+-json} $${FULL:+-full}

.PHONY: buyer
buyer: operator ## what happened to the order of BUYER=… in SALE=…
	@$(OPERATOR) buyer -sale "$${SALE-}" -user "$${BUYER-}"

.PHONY: redrive
redrive: operator ## what is in the dead-letter queue and why; GO=1 moves what is pending back, DROP=poison deletes the rest
	@$(OPERATOR) redrive $${GO:+-go} $${DROP:+-drop "$$DROP"}

# What happens if so many come for so little, played in virtual time with the
# real functions. W (how long a transaction keeps an item busy), LATENCY (its
# median), MEMORY (MB) and WRITES (the account's quota of write units a table) may
# be given, too.
.PHONY: plan
plan: ## size a sale and price it: USERS=500000 STOCK=10000 PEAK=50000 (JSON=1; APPLY=dev OPENS=… configures it, APPLY=dev REST=1 takes it back)
	@$(GO_BUILD) -o $(HOST)/plan ./infra/plan
	@$(HOST)/plan -users "$${USERS:-500000}" -stock "$${STOCK:-10000}" -peak "$${PEAK:-50000}" \
		-w "$${W:-10ms}" -latency "$${LATENCY:-20ms}" -memory "$${MEMORY:-512}" -writes "$${WRITES:-40000}" -chart $(BUILD)/plan.html $${JSON:+-json} \
		-seed "$${SEED:-1}" $${FRONT:+-front} $${APPLY:+-apply "$$APPLY" -opens "$${OPENS-}" $${REST:+-rest}}

.PHONY: operator
test: operator
operator: needs-go
	@$(GO_BUILD) -o $(HOST)/operator ./infra/operator

# An open-loop load: RATE and PEAK in buyers a second, DURATION like 30s, STOCK,
# SHARDS, SEED, REPORT. A deployed API: URL=… SALE=… TOKENS=file ALLOW_REMOTE=1, and
# TABLE=… for the receipt.
.PHONY: load
load: operator ## buyers at RATE=… for DURATION=… with a PEAK=… at the opening, an HTML report and the receipt
	@$(GO_BUILD) -o $(HOST)/load ./infra/load
	@exec $(HOST)/load -url "$${URL:-$(LOCAL_URL)}" -report "$${REPORT:-$(BUILD)/load.html}" \
		$${RATE:+-rate "$$RATE"} $${PEAK:+-peak "$$PEAK"} $${DURATION:+-duration "$$DURATION"} \
		$${STOCK:+-stock "$$STOCK"} $${SHARDS:+-shards "$$SHARDS"} $${SEED:+-seed "$$SEED"} \
		$${SALE:+-sale "$$SALE"} $${TOKENS:+-tokens "$$TOKENS"} $${TABLE:+-table "$$TABLE"} \
		$${ALLOW_REMOTE:+-allow-remote}

# Which system is meant: the local stack, any API by URL=…, or the stack of
# ENV=dev or ENV=prod in infra/samconfig.toml, with AWS credentials in the environment.
override SYSTEM := $${ENV:+-env "$$ENV"} -url "$(if $(value ENV),$${URL-},$${URL:-$(LOCAL_URL)})"
override SAM_CONFIG := --config-file infra/samconfig.toml --config-env "$$ENV"

.PHONY: deployer
deployer: needs-go
	@$(GO_BUILD) -o $(HOST)/deploy ./infra/deploy

.PHONY: preflight
preflight: deployer ## can ENV=dev or ENV=prod be deployed? PARAMETERS='Name=value …' (OFFLINE=1 asks nobody)
	@$(HOST)/deploy preflight -env "$${ENV-}" $${OFFLINE:+-offline} -- "$${PARAMETERS-}"

.PHONY: idle
idle: deployer ## what the stack of ENV=dev or ENV=prod costs in a month in which nobody buys, by option
	@$(HOST)/deploy idle -env "$${ENV-}" -- "$${PARAMETERS-}"

.PHONY: deploy
deploy: preflight ## preflight, build and deploy ENV=dev or ENV=prod with the SAM CLI (YES=1 without asking)
	sam build $(SAM_CONFIG) --build-dir $(SAM_BUILT)
	@parameters=$$($(HOST)/deploy parameters -env "$$ENV" -built $(SAM_BUILT) -- "$${PARAMETERS-}"); \
	set --; while IFS= read -r one; do if [ -n "$$one" ]; then set -- "$$@" "$$one"; fi; done <<<"$$parameters"; \
	if [ $$# -gt 0 ]; then set -- --parameter-overrides "$$@"; fi; \
	sam deploy $(SAM_CONFIG) --template-file $(SAM_BUILT)/template.yaml $${YES:+--no-confirm-changeset} "$$@"

.PHONY: smoke
smoke: deployer ## one buyer's round through the running stack, or URL=… SALE=…, or ENV=…; TOKEN=… buys
	@$(HOST)/deploy smoke $(SYSTEM) $${SALE:+-sale "$$SALE"} $${BOUND:+-bound "$$BOUND"}

.PHONY: tokens
tokens: deployer ## N=… access tokens of test users for OUT=file, of the local stack or of ENV=dev's user pool
	@$(HOST)/deploy tokens $(SYSTEM) -n "$${N:-1}" -out "$${OUT:-$(BUILD)/tokens}"

.PHONY: rehearse
rehearse: deployer operator ## a sale of its own at RATE=… for DURATION=…, its receipt and its bill; ENV=… TOKENS=file ALLOW_REMOTE=1
	@$(GO_BUILD) -o $(HOST)/load ./infra/load
	@exec $(HOST)/deploy rehearse $(SYSTEM) -log "$$DATA/functions.log" -report "$${REPORT:-$(BUILD)/rehearsal.html}" \
		$${RATE:+-rate "$$RATE"} $${PEAK:+-peak "$$PEAK"} $${DURATION:+-duration "$$DURATION"} \
		$${STOCK:+-stock "$$STOCK"} $${SHARDS:+-shards "$$SHARDS"} $${TOKENS:+-tokens "$$TOKENS"} \
		$${ALLOW_REMOTE:+-allow-remote}

.PHONY: compare-engine
compare-engine: host ## the local stack's orders a second over its engine's raw rate for the same writes
	@$(GO_BUILD) -o $(HOST)/compare ./infra/load/compare
	@$(GO_BUILD) -o $(HOST)/bare/PurchaseFunction/bootstrap ./infra/bench/bare
	@exec $(HOST)/compare $${ROUNDS:+-rounds "$$ROUNDS"} $${PROCESSES:+-processes "$$PROCESSES"}

.PHONY: bench
bench: ## what the handlers cost above the AWS calls they make; benchstat's format, then one ratio per case
	@$(GO_BUILD) -o $(HOST)/bench ./infra/bench
	@GOGC=400 $(HOST)/bench # as template.yaml has it

# The race detector costs several times the time, so it watches the packages
# whose goroutines share memory. Every package is in one of the three runs. Building
# takes as long as running: `make check` vets, with more analyzers than go test has,
# GOGC=400 spares compilers and tests a seventh of their work for more memory, and
# without cgo and with -trimpath packages are compiled as GO_BUILD compiles them, so
# they are compiled once. Some packages wait for real timeouts, so a third one runs
# beside two busy ones.
override RACED := ./functions/... ./shared/... ./infra/demo ./infra/faults ./infra/load ./infra/local/...
override GO_TEST := CGO_ENABLED=0 GOFLAGS=-trimpath GOGC=400 go test -vet=off -p 3
override GO_RACE := $(if $(RACE),GOGC=400 go test -vet=off -p 3 $(RACE),$(GO_TEST))
.PHONY: test
test: host ## run every test, the engines included; `make prove` runs the long proofs in full
	$(GO_RACE) -timeout 10m $(RACED)
	$(GO_TEST) -timeout 10m $$(go list ./... | grep -vxFf <(go list $(RACED) ./infra/simulate))
	$(GO_TEST) -timeout 10m ./infra/simulate -seeds 100 -faults 1

.PHONY: prove
prove: ## the long proofs in full: SEEDS=2000 random sales, every plan of FAULTS=3 faults, a million claims, large sales modelled, races in the simulation
	$(GO_TEST) -timeout 30m ./infra/simulate -seeds "$${SEEDS:-2000}" -faults "$${FAULTS:-3}"
	$(GO_TEST) -timeout 10m ./shared/ledger -run '^TestASaleOfAMillionClaims'
	$(GO_TEST) -timeout 10m ./infra/model -large -runs 1000
	$(if $(RACE),$(GO_RACE) -timeout 30m ./infra/simulate)

.PHONY: drill
drill: host operator ## the runbook's accidents on a stack of their own, with the runbook's commands; a table of what was seen and how long it took
	@go test -vet=off -count 1 -timeout 15m ./infra/drill -slow -v | grep --line-buffered -v '^=== \|--- PASS'

# gremlins changes each package and runs its tests; 95 % of its changes must be
# noticed. It takes the conditions of a `case` for uncovered and leaves && and || as
# they are, so our own runner then changes every operator. Both are checked against
# infra/mutants/survivors_test.go, which says why a change cannot be noticed.
override GREMLINS := github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
.PHONY: mutate
mutate: ## change every operator of functions and shared in turn; the package's own tests must notice (MUTATED=shared/sale)
	GOBIN="$$PWD/$(BUILD)/tools" go install $(GREMLINS)
	go test -timeout 0 ./infra/mutants -run '^TestEveryOperatorIsNeeded$$' -v -packages "$${MUTATED-$$(go list -f \
		'{{if .TestGoFiles}}{{.Dir}}{{else if .XTestGoFiles}}{{.Dir}}{{end}}' ./functions/... ./shared/... | sed "s|^$$PWD/||" | grep -v 'test$$')}" \
		-gremlins "$$PWD/$(BUILD)/tools/gremlins" | grep --line-buffered -v '^=== \|--- PASS'

.PHONY: check
check: ## formatting, vet (for macOS, too), staticcheck, known vulnerabilities, both templates and what SAM makes of them linted
	@unformatted=$$(gofmt -l functions shared infra); if [ -n "$$unformatted" ]; then echo "not formatted:" $$unformatted; exit 1; fi
	CGO_ENABLED=0 GOFLAGS=-trimpath go vet ./...
	CGO_ENABLED=0 GOFLAGS=-trimpath GOOS=darwin GOARCH=arm64 go vet ./...
	CGO_ENABLED=0 GOFLAGS=-trimpath go tool staticcheck ./...
	@infra/checks/vulnerabilities.sh
	@infra/checks/lint.sh

.PHONY: simulate
simulate: ## SEEDS=… random sales in virtual time under all faults; SEED=… one of them again
	@mkdir -p $(HOST) && go test -c -o $(HOST)/simulate ./infra/simulate
	@$(HOST)/simulate -test.run '^TestSimulation$$' -test.timeout 0 -seeds "$${SEEDS:-2000}" \
		$${SEED:+-seed "$$SEED"} -progress | grep -vx PASS

.PHONY: enumerate
enumerate: ## every plan of up to FAULTS=3 faults, a request that overlaps counting as one (OVERLAP=1: as none)
	@mkdir -p $(HOST) && go test -c -o $(HOST)/simulate ./infra/simulate
	@$(HOST)/simulate -test.run '^TestEveryPlan' -test.timeout 0 -faults "$${FAULTS:-3}" \
		$${OVERLAP:+-overlap} -progress | grep -vx PASS

.PHONY: torture
torture: host ## kill -9 anything while it sells, ROUNDS=… times or for MINUTES=…, and audit the books
	@$(GO_BUILD) -o $(HOST)/torture ./infra/torture
	@exec $(HOST)/torture $${ROUNDS:+-rounds "$$ROUNDS"} $${MINUTES:+-minutes "$$MINUTES"} $${SEED:+-seed "$$SEED"}

# The strategies' engines come from the system's packages; the lab says which
# one is missing. `make lab IDS=1` compares the order-id generators alone.
.PHONY: lab
lab: host ## every way to sell that the field has tried, side by side: STRATEGY=… SCENARIO=… SEED=… SEEDS=… (JSON=1)
	@$(GO_BUILD) -o $(HOST)/lab ./infra/lab
	@exec $(HOST)/lab -page $(BUILD)/lab.html $${STRATEGY:+-strategy "$$STRATEGY"} $${SCENARIO:+-scenario "$$SCENARIO"} \
		$${SEED:+-seed "$$SEED"} $${SEEDS:+-seeds "$$SEEDS"} $${IDS:+-ids} $${JSON:+-json}

.PHONY: lab-engines
lab-engines: ## install Redis and MariaDB for the lab, where this is Debian and one may
	@if command -v redis-server >/dev/null && { [ -x /usr/sbin/mariadbd ] || command -v mariadbd >/dev/null; }; then exit 0; fi; \
	if ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then \
		echo "install redis-server and mariadb-server with this system's packages"; exit 1; fi; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq redis-server mariadb-server >/dev/null

.PHONY: lab-check
lab-check: lab-engines host ## a reduced lab on real engines: the unsafe strategies fail in their scenario, the safe ones never
	LAB_ENGINES=required go test -count 1 -parallel 1 -p 1 -timeout 10m ./infra/lab/...

.PHONY: build
build: ## build every function as it is deployed (linux/arm64) under .build/lambda
	@for f in $(FUNCTIONS); do mkdir -p $(BUILD)/lambda/$$f && $(MAKE) --no-print-directory build-$$f ARTIFACTS_DIR=$(BUILD)/lambda/$$f; done

# `sam build` calls these with ARTIFACTS_DIR set: build-PurchaseFunction builds
# functions/purchase, and so on, for Lambda's arm64; `make host` builds for this machine.
# Only these names have a rule: a pattern would take any text into the command.
$(FUNCTIONS:%=build-%): build-%Function:
	GOOS="$${GOOS:-linux}" GOARCH="$${GOARCH:-arm64}" $(GO_BUILD) -o "$${ARTIFACTS_DIR:?}/bootstrap" ./functions/$$(echo $* | tr A-Z a-z)

# The functions, the local stack and its engine, for this machine.
.PHONY: host
host: needs-go engine
	@$(GO_BUILD) -o $(HOST)/ ./functions/... ./infra/local ./infra/demo
	@for f in $(FUNCTIONS); do mkdir -p $(HOST)/$$f && \
		ln -f $(HOST)/$$(echo $${f%Function} | tr A-Z a-z) $(HOST)/$$f/bootstrap; done

.PHONY: needs-go
needs-go:
	@infra/make/need.sh go

# The DynamoDB engine, pinned by version. npm takes the package for this machine and
# compares it with the lock file's integrity, or where that is not known (not every
# registry has every platform's package) with the registry's signature.
.PHONY: engine
engine: $(if $(value AWS_ENDPOINT_URL_DYNAMODB),,$(BUILD)/engine/installed)

$(BUILD)/engine/installed: infra/local/engine/package.json infra/local/engine/package-lock.json
	@infra/make/need.sh node
	@mkdir -p $(BUILD)/engine && cp $^ $(BUILD)/engine
	@$(TELL) npm ci --prefix $(BUILD)/engine --ignore-scripts --no-audit --no-fund --loglevel=error
	@infra/local/engine/verify.sh $(BUILD)/engine
	@touch $@

.PHONY: clean
clean: ## remove everything that was built (the stack's data stays)
	rm -rf $(BUILD)
