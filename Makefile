# flashsale: every target builds and installs what it needs. `make help` lists the targets.
#
# A user's variables (SALE=…, RATE=…) are data. They reach the programs through the
# environment, and a recipe uses the shell's syntax: "$$SALE", or $${RATE:+-rate "$$RATE"}
# for an optional flag. Never write $(SALE): make would put the value into the command's
# text, and the shell would run it. To test whether a variable is given, write
# $(if $(value SALE),…). All other variables are `override`, so that a user cannot replace
# a part of a command.
# Scripts are started by bash, because an exported tree may have lost their mode bits.
override SHELL := /bin/bash
override .SHELLFLAGS := -euo pipefail -c
ifeq ($(MAKE_VERSION),3.81)
override SHELL := infra/make/shell.sh
endif
.DEFAULT_GOAL := help

# make would expand a `$` in a command-line value when it exports it; this line keeps the
# value unchanged. It comes before the first $(shell …), which gets the exported variables
# from make 4.4 on.
override GIVEN := $(foreach v,$(filter-out MAKE% -%,$(.VARIABLES)),$(if $(filter command,$(origin $v)),$v))
$(foreach v,$(GIVEN),$(eval override $v := $$(value $v))$(eval export $v))

# A variable that no given target knows is an error: a misspelt one would be left out silently. What a
# target knows is what its recipe and its line of help name. What AWS's programs read is theirs.
ifeq ($(MAKELEVEL),0)
override TARGETS := $(or $(MAKECMDGOALS),$(.DEFAULT_GOAL))
override KNOWN := $(if $(GIVEN),$(shell awk -f infra/make/known.awk Makefile Makefile))
$(foreach v,$(filter-out AWS_%,$(GIVEN)),$(if $(filter $(TARGETS:%=%/),$(KNOWN)),\
	$(if $(filter $(TARGETS:%=%/$v),$(KNOWN)),,$(error make $(TARGETS) does not know $v: `make help` lists what it takes))))
endif

override BUILD := .build
override HOST := $(BUILD)/host
override SAM_BUILT := $(BUILD)/sam
override FUNCTIONS := PurchaseFunction FinalizeFunction QueryFunction SeedFunction OperateFunction ReconcileFunction ReleaseFunction DrawFunction PageFunction PayFunction PublishFunction
override TELL := bash infra/make/tell.sh
# Every go command of a recipe and of the scripts has the same build flags, also those that only test, so
# that they share compiled packages in Go's cache, for every clone.
override CGO_ENABLED := 0
override GOFLAGS := -trimpath
export CGO_ENABLED GOFLAGS
override BUILD_FLAGS := -v -buildvcs=false -trimpath -tags lambda.norpc -ldflags=-s
override GO_BUILD := $(TELL) go build $(BUILD_FLAGS)
# The lab is a module of its own: its databases' clients are none of the product's modules.
override LAB_BUILD := $(TELL) go build -C infra/lab $(BUILD_FLAGS) -o ../../$(HOST)/lab .

# A local run cannot reach real AWS. Only commands that are given a stack or a table on AWS
# may use the machine's credentials.
ifeq ($(value ENV)$(value TABLE)$(value ALLOW_REMOTE),)
export AWS_EC2_METADATA_DISABLED := true
endif

# The race detector needs a C compiler; without one, tests run without it.
override RACE = $(if $(shell command -v "$$(go env CC)" 2>/dev/null),-race)

# Where the local stack listens (always on 127.0.0.1), and keeps its data: without a folder, in memory.
API_PORT      ?= 3000
LAMBDA_PORT   ?= 3001
DYNAMODB_PORT ?= 8000
SQS_PORT      ?= 9324
OPERATE_PORT  ?= 3002
SHOP_PORT     ?= 3003
DATA          ?=
export API_PORT LAMBDA_PORT DYNAMODB_PORT SQS_PORT OPERATE_PORT SHOP_PORT DATA
override PORTS := -api-port "$$API_PORT" -lambda-port "$$LAMBDA_PORT" -dynamodb-port "$$DYNAMODB_PORT" -operate-port "$$OPERATE_PORT"
override LOCAL_URL := http://127.0.0.1:$$API_PORT

# Targets that call Go directly.
plan bench prove mutate check simulate enumerate $(FUNCTIONS:%=build-%): needs-go

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z%-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: run
run: host ## the system on this machine, in memory, with a demonstration sale open (DATA=folder keeps its data; FAULTS=… CONCURRENCY=… SHOP=1 PARAMETERS='Name=value …')
	@exec $(HOST)/local $(PORTS) -sqs-port "$$SQS_PORT" -data "$$DATA" -demo-sale $${FAULTS:+-faults "$$FAULTS"} \
		$${SHOP:+-parameter "PaymentUrl=/_local/shop/$$SHOP_PORT?order={orderId}&sale={saleId}&amount={amount}&currency={currency}&payBy={payBy}&signature={signature}"} \
		$${CONCURRENCY:+-concurrency "$$CONCURRENCY"} $${PARAMETERS:+-parameters "$$PARAMETERS"}

.PHONY: shop
shop: needs-go ## an example payment page of a shop, for a stack that was started with `make run SHOP=1` (SHOP_PORT=… WEBHOOK_SECRET=… PAYMENT_LINK_KEYS=… ADDRESSES=file)
	@$(GO_BUILD) -o $(HOST)/shop ./infra/ops/consumers/shop
	@exec $(HOST)/shop "$(LOCAL_URL)"

.PHONY: demo
demo: host ## 1,000 buyers rush for 100 bottles on the running stack (or on a new one), then the receipt; PAYMENTS=1: some must pay
	@$(GO_BUILD) -o $(HOST)/load ./infra/ops/load
	@exec $(HOST)/load -demo -url "$(LOCAL_URL)" $${PAYMENTS:+-payments}

# The lab's picture shows a part of the lab that fits: a few strategies of each family, and
# the scenarios in which they differ. Its page is kept, because the run takes minutes.
.PHONY: screenshots
screenshots: host browser $(BUILD)/lab-picture.html ## take the README's pictures again: the pages, the live view during a rush, and the lab's verdicts
	@$(GO_BUILD) -o $(HOST)/screenshots ./infra/proof/browser/screenshots
	@$(HOST)/screenshots

$(BUILD)/lab-picture.html: | host lab-engines
	@$(LAB_BUILD)
	$(HOST)/lab -page $(BUILD)/lab-picture.new.html -scenario calm,slow-check,last-units,frozen-at-the-end,fifteen-clicks,server-killed,engine-killed,answers-lost \
		-strategy mutex-x3,sql-read-then-write,sql-for-update,sql-conditional,redis-set-nx-ex,redis-set-nx-ex-set,redis-token-unlock,redis-fenced-set,redis-failover,redis-decr,redis-lua-queue,split-shares,ours-ledger
	@mv $(BUILD)/lab-picture.new.html $@

.PHONY: events
events: ## create the sale and orders of the files in events/ in the running stack (DYNAMODB_PORT=…)
	@go run ./events

# What an operator needs in a hurry is compiled only when a source is newer: the folders are
# sources, too, because a file that goes changes only its folder.
override SOURCES := go.mod go.sum $(shell find functions shared infra -type d -o -name '*.go' ! -name '*_test.go' 2>/dev/null)
$(HOST)/operator $(HOST)/deploy: $(HOST)/%: $(SOURCES)
	@bash infra/make/need.sh go
	@$(GO_BUILD) -o $@ ./infra/ops/$*
	@touch $@

# An operator's commands: on the local stack, or on the stack of ENV=dev or ENV=prod in
# infra/samconfig.toml, with AWS credentials in the environment. Commands that only read
# the table and the queues also accept TABLE=… (and QUEUE=… DLQ=…) instead.
override OPERATOR := $(HOST)/operator -api-port "$$API_PORT" $${ENV:+-env "$$ENV"} \
	$${TABLE:+-table "$$TABLE"} $${QUEUE:+-queue "$$QUEUE"} $${DLQ:+-dead-letter-queue "$$DLQ"}
# Why a change is made, and the id of a change that is repeated. An id counts only on the command
# line: one that stayed in the environment would make the next change a repeat of this one.
override BECAUSE = $${NOTE:+-note "$$NOTE"} $(if $(filter override,$(origin ID)),-id "$$ID")
# What was seen of the sale, as the command before printed it: no change since then is undone.
override SAW = $(if $(filter override,$(origin SEEN)),-seen "$$SEEN")

.PHONY: sales
sales: operator ## list the sales with their state, and their units and books as last audited
	@$(OPERATOR) sales

# Nobody who must stop a sale waits for a compiler: a program that is there is used, however old.
.PHONY: pause
pause: $(if $(wildcard $(HOST)/operator),,operator) ## stop SALE=… (on AWS: ENV=…): after its confirmation no unit is sold (NOTE=… ID=…, as for every change)
	@$(OPERATOR) pause -sale "$${SALE-}" $(BECAUSE)

.PHONY: resume
resume: operator ## continue SALE=…, unless somebody has changed it since (SEEN=…, as for every change but a pause and a recall; without it, the sale is looked at now)
	@$(OPERATOR) resume -sale "$${SALE-}" $(BECAUSE) $(SAW)

.PHONY: reschedule
reschedule: operator ## let SALE=… sell from OPENS=2026-11-11T12:00:00Z to CLOSES=… (UNTIL=…: a later end of a draw's newest call)
	@$(OPERATOR) reschedule -sale "$${SALE-}" -opens "$${OPENS-}" -closes "$${CLOSES-}" $${UNTIL:+-until "$$UNTIL"} $(BECAUSE) $(SAW)

# Only what is given on the command line counts: some systems have a NAME in the environment.
.PHONY: describe
describe: operator ## correct what buyers read of SALE=…: NAME=… IMAGE=… ABOUT=… LINK=…; an empty one is removed
	@$(OPERATOR) describe -sale "$${SALE-}" $(if $(filter override,$(origin NAME)),-name "$$NAME") \
		$(if $(filter override,$(origin IMAGE)),-image "$$IMAGE") $(if $(filter override,$(origin ABOUT)),-about "$$ABOUT") \
		$(if $(filter override,$(origin LINK)),-link "$$LINK") $(BECAUSE) $(SAW)

.PHONY: add
add: operator ## add STOCK=… units to SALE=…; a repeat with the same SEED_ID=… changes nothing
	@$(OPERATOR) add -sale "$${SALE-}" -stock "$${STOCK-}" -seed-id "$${SEED_ID-}" $${NOTE:+-note "$$NOTE"} $(SAW)

.PHONY: withdraw
withdraw: operator ## take up to STOCK=… unsold units out of SALE=…; a repeat with the same SEED_ID=… changes nothing
	@$(OPERATOR) withdraw -sale "$${SALE-}" -stock "$${STOCK-}" -seed-id "$${SEED_ID-}" $${NOTE:+-note "$$NOTE"} $(SAW)

.PHONY: recall
recall: operator ## stop SALE=… for ever, because of NOTE=…: unpaid orders are released, payments go back (asks once; YES=1: does not)
	@$(OPERATOR) recall -sale "$${SALE-}" $(BECAUSE) $${YES:+-yes}

.PHONY: resend
resend: operator ## send the lost order messages of SALE=… again at once, 5,000 at most, without waiting until they are due
	@$(OPERATOR) resend -sale "$${SALE-}"

.PHONY: receipt
receipt: operator ## recount SALE=… (or ALL=1) from the table, fail unless it balances; JSON=1; FULL=1 scans a table of any size; EVENTS=file compares its events
	@$(OPERATOR) receipt -sale "$${SALE-}" $${ALL:+-all} $${JSON:+-json} $${FULL:+-full} $${EVENTS:+-events "$$EVENTS"}

.PHONY: republish
republish: operator ## publish every event of SALE=… again, from the table, under the same ids (UNKNOWN=1: refunds due of unknown orders; BUS=…)
	@$(OPERATOR) republish -sale "$${SALE-}" $${UNKNOWN:+-unknown} $${BUS:+-bus "$$BUS"}

.PHONY: orders
orders: operator ## list the orders of SALE=… (STATE=paid: only those; CSV=1: for a spreadsheet or a warehouse)
	@$(OPERATOR) orders -sale "$${SALE-}" -state "$${STATE-}" $${CSV:+-csv}

.PHONY: buyer
buyer: operator ## show what happened to the order of BUYER=… in SALE=…
	@$(OPERATOR) buyer -sale "$${SALE-}" -user "$${BUYER-}"

.PHONY: person
person: operator ## print everything that the table holds of BUYER=…, in all sales (JSON=1): the answer to a request for access
	@$(OPERATOR) person -user "$${BUYER-}" $${JSON:+-json}

.PHONY: erase
erase: operator ## put random ids in the place of BUYER=… in all sales, which must be drained, and seal them; GO=1 does it
	@$(OPERATOR) erase -user "$${BUYER-}" $${GO:+-go}

.PHONY: archive
archive: operator ## write SALE=…, 90 days after its end, to FILE=…; GO=1 reads that file, or a copy, compares it and deletes claims and orders from the table
	@$(OPERATOR) archive -sale "$${SALE-}" -file "$${FILE-}" $${GO:+-go}

.PHONY: draw
draw: operator ## show how the draw of SALE=… stands and what to publish before its dice (CSV=1: list whom the running call calls)
	@$(OPERATOR) draw -sale "$${SALE-}" $${CSV:+-csv}

.PHONY: verify-draw
verify-draw: operator ## check a draw from what everybody can read: URL=… SALE=…, for an entrant BUYER=… NONCE=…, against ROLL=… ROUND=… noted before the dice
	@$(OPERATOR) verify-draw -url "$${URL-}" -sale "$${SALE-}" -user "$${BUYER-}" -nonce "$${NONCE-}" \
		-roll "$${ROLL-}" $${ROUND:+-round "$$ROUND"}

.PHONY: refunds
refunds: operator ## list payments that must go back (of SALE=…); GO=1 PAYMENT='provider\#reference' marks one as refunded, once
	@$(OPERATOR) refunds -sale "$${SALE-}" $${GO:+-go} -payment "$${PAYMENT-}"

.PHONY: record
record: operator ## record a payment whose webhook never came: PROVIDER=stripe SALE=… ORDER=… PAYMENT=pi_… AMOUNT=89900 CURRENCY=…; GO=1 does it, once
	@$(OPERATOR) record -provider "$${PROVIDER-}" -sale "$${SALE-}" -order "$${ORDER-}" -payment "$${PAYMENT-}" -amount "$${AMOUNT-}" -currency "$${CURRENCY-}" $${GO:+-go}

.PHONY: restore-check
restore-check: operator ## say what TABLE=…, restored to AT=2026-11-11T12:04:00Z, lacks of what LOG=file and EVENTS=file have; writes nothing
	@$(OPERATOR) restore-check -at "$${AT-}" -log "$${LOG-}" -events "$${EVENTS-}"

.PHONY: restore-replay
restore-replay: operator ## the same; GO=1 writes it into the table, before a stack uses that
	@$(OPERATOR) restore-replay -at "$${AT-}" -log "$${LOG-}" -events "$${EVENTS-}" $${GO:+-go}

.PHONY: redrive
redrive: operator ## show the dead letters and their reasons; GO=1 moves pending ones back, DROP=poison deletes poison ones
	@$(OPERATOR) redrive $${GO:+-go} $${DROP:+-drop "$$DROP"}

# Optional: LATENCY (median duration of a transaction) and WRITES (the account's quota for a
# table, in write units a second); FRONT=1 if CloudFront answers the sale page; GROUP=1 if the sale has a limitGroup.
.PHONY: plan
plan: ## size a sale and price it: USERS=500000 STOCK=10000 PEAK=50000 (DRAW=1: a draw beside it, ENTER=72h KEEP=24h; APPLY=dev OPENS=… configures it, APPLY=dev REST=1 undoes that)
	@$(GO_BUILD) -o $(HOST)/plan ./infra/ops/plan
	@$(HOST)/plan -users "$${USERS:-500000}" -stock "$${STOCK:-10000}" -peak "$${PEAK:-50000}" \
		-latency "$${LATENCY:-20ms}" -writes "$${WRITES:-40000}" \
		$${FRONT:+-front} $${GROUP:+-group} $${DRAW:+-draw} $${ENTER:+-enter "$$ENTER"} $${KEEP:+-keep "$$KEEP"} \
		$${APPLY:+-apply "$$APPLY"} $${OPENS:+-opens "$$OPENS"} $${REST:+-rest}

.PHONY: operator
test: operator deployer
operator: $(HOST)/operator

# An open-loop load: RATE and PEAK in buyers a second, DURATION such as 30s, STOCK,
# SHARDS, SEED, REPORT, and on the local stack PAYMENTS=1: accepted buyers pay, but for a
# third. For a deployed API: URL=… SALE=… TOKENS=file ALLOW_REMOTE=1, and TABLE=… for the
# receipt.
.PHONY: load
load: operator ## send buyers at RATE=… for DURATION=… with a PEAK=… at the opening; an HTML report and the receipt
	@$(GO_BUILD) -o $(HOST)/load ./infra/ops/load
	@exec $(HOST)/load -url "$${URL:-$(LOCAL_URL)}" -report "$${REPORT:-$(BUILD)/load.html}" \
		$${RATE:+-rate "$$RATE"} $${PEAK:+-peak "$$PEAK"} $${DURATION:+-duration "$$DURATION"} \
		$${STOCK:+-stock "$$STOCK"} $${SHARDS:+-shards "$$SHARDS"} $${SEED:+-seed "$$SEED"} \
		$${SALE:+-sale "$$SALE"} $${TOKENS:+-tokens "$$TOKENS"} $${TABLE:+-table "$$TABLE"} \
		$${ALLOW_REMOTE:+-allow-remote} $${PAYMENTS:+-payments}

# The target is the local stack, any API by URL=…, or the stack of ENV=dev or ENV=prod in
# infra/samconfig.toml, with AWS credentials in the environment.
override SYSTEM := $${ENV:+-env "$$ENV"} -url "$(if $(value ENV),$${URL-},$${URL:-$(LOCAL_URL)})"
# The SAM CLI looks for a relative path beside the template that it is given.
override SAM_CONFIG := --config-file "$$PWD/infra/samconfig.toml" --config-env "$$ENV"

.PHONY: deployer
deployer: $(HOST)/deploy

.PHONY: preflight
preflight: deployer ## check whether ENV=dev or ENV=prod can be deployed, with PARAMETERS='Name=value …' (OFFLINE=1: without calls)
	@$(HOST)/deploy preflight -env "$${ENV-}" $${OFFLINE:+-offline} -- "$${PARAMETERS-}"

.PHONY: deploy
deploy: preflight ## preflight, build and deploy ENV=dev or ENV=prod with the SAM CLI (RELEASE=folder: deploy a release's files; YES=1: without confirmation)
	$(if $(value RELEASE),@rm -rf $(SAM_BUILT),sam build $(SAM_CONFIG) --build-dir $(SAM_BUILT))
	@parameters=$$($(HOST)/deploy parameters -env "$$ENV" -built $(SAM_BUILT) $${RELEASE:+-release "$$RELEASE"} -- "$${PARAMETERS-}"); \
	set --; while IFS= read -r one; do if [ -n "$$one" ]; then set -- "$$@" "$$one"; fi; done <<<"$$parameters"; \
	if [ $$# -gt 0 ]; then set -- --parameter-overrides "$$@"; fi; \
	sam deploy $(SAM_CONFIG) --template-file $(SAM_BUILT)/template.yaml $${YES:+--no-confirm-changeset} "$$@"

# A bill of materials is made from what a function's program says of itself, so that it lists what is
# deployed and nothing else. Without serial number and time, it is the same every time.
.PHONY: release
release: deployer ## make the files of a release in .build/release: zips, templates, bills of materials, licences, checksums (TAG=v…: refuse another version)
	@$(HOST)/deploy release $${TAG:+-tag "$$TAG"}
	@rm -rf $(BUILD)/lambda $(BUILD)/release && mkdir -p $(BUILD)/release
	@$(MAKE) --no-print-directory build
	@GOBIN="$$PWD/$(HOST)" $(TELL) go install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
	@version=$$($(HOST)/deploy release -name); for f in $(FUNCTIONS); do GOOS=linux GOARCH=arm64 $(HOST)/cyclonedx-gomod bin -json -std -noserial -notimestamp \
		-version "$$version" -output $(BUILD)/release/$$f.cdx.json $(BUILD)/lambda/$$f/bootstrap; done
	@$(HOST)/deploy release $${TAG:+-tag "$$TAG"} -built $(BUILD)/lambda -out $(BUILD)/release

.PHONY: smoke
smoke: deployer ## test the running stack, or URL=… SALE=…, or ENV=…, as one buyer; with TOKEN=… it buys
	@$(HOST)/deploy smoke $(SYSTEM) $${SALE:+-sale "$$SALE"}

.PHONY: tokens
tokens: deployer ## write N=… access tokens of test users to OUT=file, from the local stack or ENV=dev's user pool
	@$(HOST)/deploy tokens $(SYSTEM) -n "$${N:-1}" -out "$${OUT:-$(BUILD)/tokens}"

.PHONY: rehearse
rehearse: operator ## run a trial sale at RATE=… for DURATION=…, with its receipt, on AWS its bill, and the report in REPORT=… (locally PAYMENTS=1: buyers must pay); ENV=… TOKENS=file ALLOW_REMOTE=1
	@$(GO_BUILD) -o $(HOST)/load ./infra/ops/load
	@exec $(HOST)/load -rehearse $(SYSTEM) -report "$${REPORT:-$(BUILD)/rehearsal.html}" \
		$${RATE:+-rate "$$RATE"} $${PEAK:+-peak "$$PEAK"} $${DURATION:+-duration "$$DURATION"} \
		$${STOCK:+-stock "$$STOCK"} $${SHARDS:+-shards "$$SHARDS"} $${TOKENS:+-tokens "$$TOKENS"} \
		$${ALLOW_REMOTE:+-allow-remote} $${PAYMENTS:+-payments}

# Each run of the benchmarks is one round, so that the handlers and the bare calls alternate. GOGC is
# template.yaml's.
.PHONY: bench
bench: ## benchmark the handlers' overhead over their AWS calls, and a cold start: benchstat compares both sides of each case
	@$(GO_BUILD) -o $(HOST)/ ./functions/purchase ./infra/proof/bench/bare
	@$(TELL) go test -c -o $(HOST)/bench ./infra/proof/bench
	@cd infra/proof/bench && for round in {1..15}; do \
		GOGC=400 ../../../$(HOST)/bench -test.run '^$$' -test.bench . -test.benchtime 300ms; done | tee ../../../$(BUILD)/bench.txt
	@go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da \
		-col '/side@(bare handler)' -filter '.unit:(cpu-sec/op OR allocs/op) OR .name:ColdStart' $(BUILD)/bench.txt
	@for program in purchase bare; do printf 'zip %s bytes=%d\n' $$program "$$(gzip -c $(HOST)/$$program | wc -c)"; done

# The race detector multiplies the running time, so it is used only for the packages whose
# goroutines share memory, and not for the ledger on its engine, a process of its own whose tests
# take as long as all the others. Every package is in a run of test, check, prove or lab-check.
# Building takes as long as running, so: no vet, because `make check` vets with more analyzers;
# GOGC=400, which saves a seventh of the CPU time and uses more memory. Some packages mostly wait for
# real timeouts, so four run at a time on two CPUs, and the ones that wait longest start first.
override RACED := $$(go list ./functions/... ./shared/... ./infra/local/faults ./infra/ops/load ./infra/kit/rush ./infra/local/...)
override SEPARATE := ^TestTheLedgerOverTheEngine
override WAITING := ./infra/proof/explore ./infra/proof/system ./shared/ledger ./infra/proof/contract
# What `make check` tests besides: what stands around the product.
override AROUND := ./infra/ops/... ./infra/local/... ./infra/kit/... ./infra/proof/bench/...
# What `make test` leaves to check and prove.
override LATER := $(AROUND) ./infra/proof/checks ./infra/proof/mutants ./infra/proof/browser/... ./infra/proof/clients
# The time limit is for a machine that is several times as busy: what hangs is seen in what the watch prints.
override GO_TEST := GOGC=400 bash infra/make/watch.sh go test -vet=off -p 4 -timeout 60m
override GO_RACE := $(if $(RACE),CGO_ENABLED=1 GOGC=400 bash infra/make/watch.sh go test -vet=off -p 4 -timeout 60m $(RACE),$(GO_TEST))
# Tests of the running system that take a minute or more: the accidents of the runbook, kill -9, and every document's commands.
override PROVED := ^TestEveryAccident|^TestNoPromiseIsBroken|^TestTheDocumentsCommands
.PHONY: test
test: host ## test the product, alone and on the local stack; `make check` has the tools, the stack itself and the rules of the sources, `make prove` the browsers, the accidents, the mutants and the long proofs
	@$(GO_BUILD) -o $(HOST)/shop ./infra/ops/consumers/shop
	$(GO_TEST) -skip '$(PROVED)' $(WAITING) $$(go list ./... | grep -vxFf <(go list $(WAITING) $(LATER)))

.PHONY: prove prove-stack prove-rules
prove: ## run the tests in a browser, generated clients, the accidents, kill -9, the mutants, the race detector and the long proofs in full: SEEDS=2000 random sales from FIRST=1 on, every plan of FAULTS=2 faults, 100,000 due claims, a draw of a million, the commands of the documents, races in the simulation
	@$(MAKE) --no-print-directory -j 2 prove-stack prove-rules

# Side by side, because the one mostly waits, for servers, browsers and real timeouts, and the other computes.
prove-stack: host operator deployer browser clients
	$(GO_TEST) ./infra/proof/system -run '$(PROVED)'
	$(GO_TEST) ./infra/proof/clients
	$(GO_TEST) ./infra/proof/browser/...

prove-rules: needs-go
	$(GO_TEST) ./infra/proof/explore -seeds "$${SEEDS:-2000}" -first "$${FIRST:-1}" -faults "$${FAULTS:-2}"
	$(GO_TEST) ./shared/ledger -run '^TestReleasingManyClaims|^TestARecallOfManyOrders|^TestADrawOfManyEntrants' -dues 100000 -entrants 1000000
	$(GO_TEST) ./infra/proof/mutants
	$(if $(RACE),$(GO_RACE) ./infra/proof/explore -run '^TestSimulation' -seeds "$$(($${SEEDS:-2000} / 80))" -first "$${FIRST:-1}")
	$(if $(RACE),$(GO_RACE) -skip '$(SEPARATE)' ./infra/ops/load ./shared/ledger $(RACED))

.PHONY: drill
drill: host operator ## run the runbook's commands on a new stack during each accident; a table of results and times
	@go test -vet=off -count 1 -timeout 15m ./infra/proof/system -run '^TestEveryAccident' -slow -v | grep --line-buffered -v '^=== \|--- PASS'

# The result is compared with infra/proof/mutants/survivors.txt, which says why a mutant
# cannot be detected.
.PHONY: mutate
mutate: ## mutate every operator of functions and shared in turn; tests must fail (MUTATED=shared/sale)
	@go test -timeout 0 ./infra/proof/mutants -run '^TestEveryOperatorIsNeeded$$' -v -packages "$${MUTATED-shared/ledger/table shared/ledger/maintenance $$(go list -f \
		'{{if .TestGoFiles}}{{.Dir}}{{else if .XTestGoFiles}}{{.Dir}}{{end}}' ./functions/... ./shared/... | sed "s|^$$PWD/||" | grep -v 'test$$')}" \
		| grep --line-buffered -v '^=== \|--- PASS'

.PHONY: check
check: host ## test the tools and the local stack, also the ledger on its engine; check formatting, vet, staticcheck, the rules of the sources, known vulnerabilities; lint the templates and SAM's output
	@unformatted=$$(gofmt -l functions shared infra); if [ -n "$$unformatted" ]; then echo "not formatted:" $$unformatted; exit 1; fi
	go vet ./...
	go vet -C infra/lab ./...
	go tool staticcheck ./...
	staticcheck=$$(go tool -n staticcheck) && cd infra/lab && "$$staticcheck" ./...
	$(GO_TEST) $(AROUND) ./infra/proof/checks
	@bash infra/proof/checks/vulnerabilities.sh
	@bash infra/proof/checks/lint.sh

# Compiling everything for macOS once more takes minutes, so it is not part of `make check`.
.PHONY: check-darwin
check-darwin: ## vet everything as it is compiled for macOS on arm64
	GOOS=darwin GOARCH=arm64 go vet ./...
	GOOS=darwin GOARCH=arm64 go vet -C infra/lab ./...

.PHONY: simulate
simulate: ## simulate SEEDS=… random sales, from seed FIRST=… on, in virtual time under all faults; SEED=… repeats one
	@mkdir -p $(HOST) && go test -c -o $(HOST)/explore ./infra/proof/explore
	@$(HOST)/explore -test.run '^TestSimulation$$' -test.timeout 0 -seeds "$${SEEDS:-2000}" \
		$${SEED:+-seed "$$SEED"} $${FIRST:+-first "$$FIRST"} -progress | grep -vx PASS

.PHONY: enumerate
enumerate: ## run every plan of up to FAULTS=3 faults; an overlapping request counts as a fault
	@mkdir -p $(HOST) && go test -c -o $(HOST)/explore ./infra/proof/explore
	@$(HOST)/explore -test.run '^TestEveryPlan' -test.timeout 0 -faults "$${FAULTS:-3}" -progress | grep -vx PASS

# The strategies' engines come from the system's packages; the lab names a missing one.
.PHONY: lab
lab: host ## compare common flash-sale strategies side by side: STRATEGY=… SCENARIO=… SEED=… SEEDS=… (JSON=1)
	@$(LAB_BUILD)
	@exec $(HOST)/lab -page $(BUILD)/lab.html $${STRATEGY:+-strategy "$$STRATEGY"} $${SCENARIO:+-scenario "$$SCENARIO"} \
		$${SEED:+-seed "$$SEED"} $${SEEDS:+-seeds "$$SEEDS"} $${JSON:+-json}

.PHONY: lab-speed
lab-speed: host ## orders a second of the local stack, PostgreSQL and Redis, in turn, with the same clients: CLIENTS=64 DURATION=5s ROUNDS=3 (STRATEGY=… of the lab's others)
	@$(LAB_BUILD)
	@exec $(HOST)/lab -speed "$${DURATION:-5s}" -seeds "$${ROUNDS:-3}" $${CLIENTS:+-clients "$$CLIENTS"} $${STRATEGY:+-strategy "$$STRATEGY"}

.PHONY: lab-engines
lab-engines: ## install Redis, MariaDB and PostgreSQL for the lab (on Debian, if permitted)
	@if command -v redis-server >/dev/null && { [ -x /usr/sbin/mariadbd ] || command -v mariadbd >/dev/null; } && \
		{ compgen -G '/usr/lib/postgresql/*/bin/postgres' || command -v postgres; } >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then \
		echo "install redis-server, mariadb-server and postgresql with this system's packages"; exit 1; fi; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq redis-server mariadb-server postgresql >/dev/null

.PHONY: lab-check
lab-check: lab-engines host ## test the lab, and run it reduced on real engines: the unsafe strategies fail in their scenario, the safe ones never
	GOGC=400 bash infra/make/watch.sh go test -C infra/lab -vet=off -p 4 -timeout 60m $$(go list -C infra/lab ./... | grep -v '/engines$$')
	LAB_ENGINES=required go test -C infra/lab -count 1 -parallel 1 -p 1 -timeout 60m -run '^TestOnRealEngines$$|^TestEveryRowOfTheSpeed' .
	LAB_ENGINES=required go test -C infra/lab -count 1 -parallel 1 -p 1 -timeout 60m ./engines

.PHONY: build
build: ## build every function for deployment (linux/arm64) under .build/lambda
	@for f in $(FUNCTIONS); do mkdir -p $(BUILD)/lambda/$$f && $(MAKE) --no-print-directory build-$$f ARTIFACTS_DIR=$(BUILD)/lambda/$$f; done

# `sam build` calls these with ARTIFACTS_DIR set: build-PurchaseFunction builds
# functions/purchase for Lambda's arm64, and so on; `make host` builds for this machine.
# There is a rule for each name: a pattern would put any text into the command.
$(FUNCTIONS:%=build-%): build-%Function:
	GOOS="$${GOOS:-linux}" GOARCH="$${GOARCH:-arm64}" $(GO_BUILD) -o "$${ARTIFACTS_DIR:?}/bootstrap" ./functions/$$(echo $* | tr A-Z a-z)

# The functions, the local stack and its engine, for this machine: what the first `make run` needs, and
# no more. Each other program is built by the targets that start it.
.PHONY: host
host: needs-go engine
	@$(GO_BUILD) -o $(HOST)/ ./functions/... ./infra/local
	@for f in $(FUNCTIONS); do mkdir -p $(HOST)/$$f && \
		ln -f $(HOST)/$$(echo $${f%Function} | tr A-Z a-z) $(HOST)/$$f/bootstrap; done

.PHONY: needs-go
needs-go:
	@bash infra/make/need.sh go

# The DynamoDB engine, pinned by version. npm selects the package for this machine and
# verifies it by the lock file's integrity or, where that is unknown (not every registry has
# every platform's package), by the registry's signature.
.PHONY: engine
engine: $(if $(value AWS_ENDPOINT_URL_DYNAMODB),,$(BUILD)/engine/installed)

$(BUILD)/engine/installed: infra/local/engine/package.json infra/local/engine/package-lock.json infra/local/engine/streamfile.mjs
	@bash infra/make/need.sh node
	@mkdir -p $(BUILD)/engine && cp $^ $(BUILD)/engine
	@$(TELL) npm ci --prefix $(BUILD)/engine --ignore-scripts --no-audit --no-fund --loglevel=error
	@bash infra/local/engine/verify.sh $(BUILD)/engine
	@touch $@

# What the tests of the pages need: a Chromium, whose path is noted, and two npm packages,
# verified by the lock file's integrity.
.PHONY: browser
browser: $(BUILD)/browser/installed
	@program=$$(bash infra/make/browser.sh) && printf '%s\n' "$$program" >$(BUILD)/browser/program

$(BUILD)/browser/installed: infra/proof/browser/package.json infra/proof/browser/package-lock.json
	@bash infra/make/need.sh node
	@mkdir -p $(BUILD)/browser && cp $^ $(BUILD)/browser
	@$(TELL) npm ci --prefix $(BUILD)/browser --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Other people's readers of our documents.
.PHONY: clients
clients: $(BUILD)/clients/installed

$(BUILD)/clients/installed: infra/proof/clients/package.json infra/proof/clients/package-lock.json
	@bash infra/make/need.sh node
	@mkdir -p $(BUILD)/clients && cp $^ $(BUILD)/clients
	@$(TELL) npm ci --prefix $(BUILD)/clients --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: clean
clean: ## remove all build output (the data of stacks stays)
	rm -rf $(BUILD)
