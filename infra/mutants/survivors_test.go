package mutants

// survivors are the changes of an operator that no test of its package can
// notice, and why.
var survivors = map[string]string{
	"shared/orderq/message.go: if !isHead || !isTail || !isSale || !isUser || !isClaim || !plain(saleID) || !plain(user) || !plain(claimID) {: && for || (5)": "without its user's part a message has no claim's part",
	"shared/sale/set.go: if left <= 0 {: < for <=":                                                   "without a number left the mask is empty, and so are all words behind",
	"shared/sale/set.go: if left := limit - i*64; left < 64 {: <= for <":                             "a mask of 64 numbers masks nothing",
	"shared/sale/set.go: return k >= 0 && k < MaxShards && s.words[k/64]&(1<<(k%64)) != 0: <= for <": "Add lets no number MaxShards in",
}
