package mutants

const (
	drawTests    = "./shared/draw"
	drawing      = "shared/draw/draw.go"
	beaconTests  = "./shared/beacon"
	verifying    = "shared/beacon/beacon.go"
	askingRelays = "shared/beacon/relays.go"
	anyAnswer    = "^TestWhateverARelaySays"
)

// ofTheDice break what follows from public data alone: the roll, the dice and the order.
var ofTheDice = []mutant{
	{"a leaf is anybody's who has the nonce", "P27", drawTests, "^TestALeafIsOfOneUser", []edit{{drawing,
		`slices.Concat([]byte(user), []byte{0}, n[:])`, `n[:]`}}},
	{"a nonce is the same with every key", "P27", drawTests, "^TestALeafIsOfOneUser", []edit{{drawing,
		`hmac.New(sha256.New, leafKey)`, `hmac.New(sha256.New, nil)`}}},
	{"a leaf is on a page twice", "P27", drawTests, "^TestAPageHasItsOwnLeaves", []edit{{drawing,
		`leaves[i-1].Compare(l) >= 0`, `leaves[i-1].Compare(l) > 0`}}},
	{"a leaf is on another's page", "P27", drawTests, "^TestAPageHasItsOwnLeaves", []edit{{drawing,
		`l.Page() != page`, `false`}}},
	{"a part of a leaf is lost", "P27", drawTests, "^TestLeavesAreStoredAsOnePiece", []edit{{drawing,
		`len(text)%len(Leaf{}) != 0`, `false`}}},
	{"a page's last leaf is not in its digest", "P28", drawTests, "^TestARollsDigest", []edit{{drawing,
		`	for _, l := range leaves {
		h.Write(`, `	for _, l := range leaves[:max(len(leaves), 1)-1] {
		h.Write(`}}},
	{"the roll is left out of the seed", "P28", drawTests, "^TestASeedDependsOn", []edit{{drawing,
		`[]byte{0}, roll[:], randomness[:])`, `[]byte{0}, randomness[:])`}}},
	{"the sale is left out of the seed", "P28", drawTests, "^TestASeedDependsOn", []edit{{drawing,
		`[]byte(saleID), []byte{0}, roll`, `[]byte{0}, roll`}}},
	{"the seed is made in another way", "P28", drawTests, "^TestTheOrderIsThatOfAnother", []edit{{drawing,
		`flashsale draw 1`, `flashsale draw 2`}}},
	{"ranks are made in another way", "P28", drawTests, "^TestTheOrderIsThatOfAnother", []edit{{drawing,
		`copy(text[copy(text[:], seed[:]):], l[:])`, `copy(text[copy(text[:], l[:]):], seed[:])`}}},
	{"who was called last is called again", "P29", drawTests, "^TestTheNthAbove", []edit{{drawing,
		`r.Compare(lo) > 0`, `r.Compare(lo) >= 0`}}},
	{"one more is called than there are units", "P30", drawTests, "^TestTheNthAbove", []edit{{drawing,
		`return above[called-1], called`, `return above[min(called, int64(len(above))-1)], called`}}},
	{"a rank has two texts", "P28", drawTests, "^TestValuesAreLowerCase", []edit{{drawing,
		` || hex.EncodeToString(b) != text`, ``}}},
	{"a signature that does not verify is taken", "P28", beaconTests, anyAnswer, []edit{{askingRelays,
		`return signature, r.Chain.Verify(round, signature)`, `return signature, nil`}}},
	{"a relay's latest round is taken", "P28", beaconTests, anyAnswer, []edit{
		{askingRelays, `said.Round != round`, `false`}, {askingRelays, `Verify(round, signature)`, `Verify(said.Round, signature)`}}},
	{"a relay that speaks of another round is believed", "P28", beaconTests, anyAnswer, []edit{{askingRelays,
		`said.Round != round`, `false`}}},
	{"an answer of any status is taken", "P28", beaconTests, anyAnswer, []edit{{askingRelays,
		`response.StatusCode != http.StatusOK`, `response.StatusCode >= 300`}}},
	{"an answer of any length is taken", "P19", beaconTests, anyAnswer, []edit{{askingRelays,
		`len(text) > maxAnswer`, `false`}}},
	{"a relay sends the function elsewhere", "P19", beaconTests, anyAnswer, []edit{{askingRelays,
		`return http.ErrUseLastResponse`, `return nil`}}},
	{"a relay that is silent holds the draw up", "P31", beaconTests, anyAnswer, []edit{{askingRelays,
		`context.WithTimeout(ctx, timeout)`, `context.WithCancel(ctx)`}}},
	{"a good answer waits for the others", "P31", beaconTests, anyAnswer, []edit{{askingRelays,
		`			cancel()
		}`, `		}`}}},
	{"a relay on the network is asked without https", "P19", beaconTests, "^TestARelayIsReached", []edit{{askingRelays,
		`u.Scheme == "http" && isLoopback(u)`, `u.Scheme == "http"`}}},
	{"dice of the operator's own come from the network", "P28", beaconTests, "^TestTheEnvironment", []edit{{"shared/beacon/env.go",
		`other != "" && !isLoopback(u)`, `u == nil`}}},
	{"any point is a signature", "P28", beaconTests, "^TestARoundTakesItsOwn", []edit{{verifying,
		`!product.IsIdentity()`, `product == nil`}}},
	{"a signature has two encodings", "P28", beaconTests, "^TestNoOtherBytes", []edit{{verifying,
		`len(signature) != SignatureSize`, `len(signature) < SignatureSize`}}},
	{"round 0 has a signature", "P28", beaconTests, "^TestNoOtherBytes", []edit{{verifying,
		`round == 0`, `false`}}},
	{"the key may be the point at infinity", "P28", beaconTests, "^TestAChainIsChecked", []edit{{verifying,
		`key.IsIdentity()`, `false`}}},
	{"the dice are of another scheme", "P28", beaconTests, "^TestPublishedRounds", []edit{{verifying,
		`BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_`, `BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_`}}},
	{"the round was signed within the second before", "P27", beaconTests, "^TestTheRoundAtAnInstant", []edit{{verifying,
		`t.Nanosecond() > 0`, `false`}}},
	{"the round was signed within the period before", "P27", beaconTests, "^TestTheRoundAtAnInstant", []edit{{verifying,
		`(seconds+c.Period-1)/c.Period`, `seconds/c.Period`}}},
	{"the local dice are known in advance", "P28", "./infra/local/beacon", "^TestARoundIsThereFromItsTime", []edit{{"infra/local/beacon/beacon.go",
		` || round > r.latest()`, ``}}},
}
