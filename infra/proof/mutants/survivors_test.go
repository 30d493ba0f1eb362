package mutants

// survivors are the operator changes that no test of the package can detect, with the
// reasons.
var survivors = map[string]string{
	"shared/orderq/decode.go: if !isHead || !isTail || !isSale || !isUser || !isClaim || !plain(saleID) || !plain(user) || !plain(claimID) {: && for || (5)": "without its user's part a message has no claim's part",
	"shared/sale/set.go: if left <= 0 {: < for <=":                                                                                                    "without a number left the mask is empty, and so are all words behind",
	"shared/sale/set.go: if left := limit - i*64; left < 64 {: <= for <":                                                                              "a mask of 64 numbers masks nothing",
	"shared/sale/spread.go: level := int64(sort.Search(int(highest), func(n int) bool { return kept(int64(n)+1) > left })): >= for >":                 "where the units of a level are exactly left, the level below has one spare unit for each shard above it: the same units stay",
	"shared/sale/set.go: return k >= 0 && k < MaxShards && s.words[k/64]&(1<<(k%64)) != 0: <= for <":                                                  "Add lets no number MaxShards in",
	"shared/eligibility/breaker.go: b.state++: -- for ++ (2)":                                                                                         "a state that no call in flight has come in is as good as a new one",
	`shared/httpapi/httpapi.go: if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {: > for >=`:                                              "two quotes are no valid key, whether they are taken off or not",
	"shared/ledger/add.go: if s.Limited && units > 0 {: >= for >":                                                                                     "no addition and no withdrawal is of 0 units: their Check refuses it",
	"shared/ledger/archive.go: if len(d.batch) < maxDeletes*atOnce {: <= for <":                                                                       "a batch of one item more is one transaction more for each 1,601 items",
	"shared/ledger/audit.go: if a.Missing++; len(a.StillAbsent) < maxAbsent {: <= for <":                                                              "a pass after more missing orders than are named checks all of them again",
	"shared/ledger/audit.go: if len(a.payments) < maxPayments {: <= for <":                                                                            "only how many payments a pass compares at most depends on it",
	"shared/ledger/batches.go: for start := 0; start < len(keys); start += batchKeys {: <= for <":                                                     "a round with nothing left to read makes no call",
	"shared/ledger/confirm.go: for start := 0; start < len(refs); start += maxStatements {: <= for <":                                                 "a round with no claim left makes no call",
	"shared/ledger/release.go: ctx, cancel := invocation.AtLeast(ctx, invocation.Margin/2): * for /":                                                  "only the time for the one write of the cursor changes, and a lost cursor costs reads",
	"shared/ledger/release.go: for pages := 0; next.Bucket < p.sale.Buckets && p.count < maxGathered; pages++ {: <= for < (2)":                        "only how much memory a pass needs at most depends on the bound",
	"shared/ledger/release.go: if err := p.part(ctx); err != nil || p.pass.Bucket < p.sale.Buckets && !invocation.Outlasts(ctx, minPart) {: <= for <": "a pass that has released everything and has no time left is then completed by the next call",
	"shared/ledger/release.go: if one, readErr = readShard(reasons[0].Item); readErr != nil || one.putBack <= before {: && for ||":                    "a shard that cannot be read has the number 0, which is not more",
	"shared/ledger/release.go: if one, readErr = readShard(reasons[0].Item); readErr != nil || one.putBack <= before {: < for <=":                     "a transaction whose condition fails has met another number, and the number only grows",
	"shared/ledger/release.go: p.count++: -- for ++":                                                                                                  "only how much memory a pass needs at most depends on the count",
	"shared/change/request.go: r.PayWithin = -1: + for -":                                                                                             "one second is refused like less than none",
	"shared/telemetry/telemetry.go: if trace, ok := ctx.Value(\"x-amzn-trace-id\").(string); ok && trace != \"\" {: || for &&":                        "what is no text is the empty one",
	"shared/ledger/withdraw.go: case p.sale.HasDraw() && failed(refused[1]):: || for &&":                                                              "besides the receipt only the condition of a sale with a draw can fail, so each term says it alone",
	"shared/ledger/snapshot.go: if isNewer := found && !(v.found && s.Version == v.sale.Version); r.number < v.done && !isNewer {: <= for <":          "every read has a number of its own, above that of all reads before, so a result's number is never the one that is done",
	"shared/ledger/audit.go: SettleTime = 10 * time.Second: / for *":                                                                                  "only functions/reconcile waits it, and its tests notice",
	"shared/eventbus/eventbus.go: for try := 0; len(left) > 0; try++ {: >= for >":                                                                     "the tries that are left have no event to publish, so they make no call",
}
