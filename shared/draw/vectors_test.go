package draw

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"flashsale/shared/beacon"
)

// vectors is a draw from its entrants to its calls. vectors.py printed it and says what it means.
type vectors struct {
	About      string            `json:"about"`
	Sale       string            `json:"sale"`
	LeafKey    string            `json:"leafKey"`
	Entrants   []entrant         `json:"entrants"`
	Pages      map[string]string `json:"pages"`
	EmptyPage  string            `json:"emptyPage"`
	Roll       string            `json:"roll"`
	Round      uint64            `json:"round"`
	Signature  string            `json:"signature"`
	Randomness string            `json:"randomness"`
	Seed       string            `json:"seed"`
	Calls      []call            `json:"calls"`
}

type entrant struct {
	User  string `json:"user"`
	Nonce string `json:"nonce"`
	Leaf  string `json:"leaf"`
	Rank  string `json:"rank"`
}

type call struct {
	Lo     string `json:"lo"`
	Units  int64  `json:"units"`
	Hi     string `json:"hi"`
	Called int64  `json:"called"`
}

const vectorsFile = "testdata/vectors.json"

func readVectors(t *testing.T, text []byte) (v vectors) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// inputs are what the rest of the vectors follows from.
func (v vectors) inputs() vectors {
	in := vectors{About: v.About, Sale: v.Sale, LeafKey: v.LeafKey, Round: v.Round, Signature: v.Signature}
	for _, e := range v.Entrants {
		in.Entrants = append(in.Entrants, entrant{User: e.User})
	}
	for _, c := range v.Calls {
		in.Calls = append(in.Calls, call{Units: c.Units})
	}
	return in
}

// follow computes the rest of the vectors from their inputs.
func (v vectors) follow(t *testing.T) vectors {
	t.Helper()
	key, err := hex.DecodeString(v.LeafKey)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := hex.DecodeString(v.Signature)
	if err != nil {
		t.Fatal(err)
	}
	if err := beacon.Quicknet.Verify(v.Round, signature); err != nil {
		t.Error(err)
	}
	var pages [Pages][]Leaf
	var leaves []Leaf
	for i, e := range v.Entrants {
		nonce := NonceOf(key, e.User)
		leaf := LeafOf(e.User, nonce)
		v.Entrants[i].Nonce, v.Entrants[i].Leaf = nonce.String(), leaf.String()
		leaves, pages[leaf.Page()] = append(leaves, leaf), append(pages[leaf.Page()], leaf)
	}
	var digests [Pages]Digest
	v.Pages, v.EmptyPage = map[string]string{}, PageDigest(nil).String()
	for i, page := range pages {
		slices.SortFunc(page, Leaf.Compare)
		if digests[i] = PageDigest(page); len(page) > 0 {
			v.Pages[fmt.Sprintf("%02x", i)] = digests[i].String()
		}
	}
	roll, randomness := RollDigest(&digests), beacon.Randomness(signature)
	seed := SeedOf(v.Sale, roll, randomness)
	v.Roll, v.Randomness, v.Seed = roll.String(), hex.EncodeToString(randomness[:]), seed.String()
	ranks := Ranks(seed, leaves)
	for i, rank := range ranks {
		v.Entrants[i].Rank = rank.String()
	}
	var lo Rank
	for i, c := range v.Calls {
		hi, called := NthAbove(ranks, lo, c.Units)
		v.Calls[i] = call{lo.String(), c.Units, hi.String(), called}
		lo = hi
	}
	return v
}

func TestTheOrderIsThatOfAnotherImplementation(t *testing.T) {
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	want := readVectors(t, text)
	if got := want.inputs().follow(t); !reflect.DeepEqual(got, want) {
		t.Errorf("from the same inputs follows\n%+v\nwant\n%+v", got, want)
	}
	if len(want.Entrants) < 40 || len(want.Calls) < 5 {
		t.Errorf("the vectors have %d entrants and %d calls", len(want.Entrants), len(want.Calls))
	}
}

// inBrowser does what follow does, with the script of the page.
const inBrowser = `
import { createHmac } from "node:crypto";
import { digestOf, leafOf, rankOf, seedOf } from "./draw.mjs";
let input = "";
for await (const text of process.stdin.setEncoding("utf8")) input += text;
const v = JSON.parse(input);
const pages = Array.from({ length: 256 }, () => []);
for (const e of v.entrants) {
  e.nonce = createHmac("sha256", Buffer.from(v.leafKey, "hex")).update(e.user).digest("hex");
  e.leaf = await leafOf(e.user, e.nonce);
  pages[parseInt(e.leaf.slice(0, 2), 16)].push(e.leaf);
}
const digests = await Promise.all(pages.map((page) => digestOf(...page.sort())));
v.pages = Object.fromEntries(digests.map((d, i) => [i.toString(16).padStart(2, "0"), d]).filter((_, i) => pages[i].length));
v.emptyPage = await digestOf();
v.roll = await digestOf(...digests);
v.randomness = await digestOf(v.signature);
v.seed = await seedOf(v.sale, v.roll, v.randomness);
for (const e of v.entrants) e.rank = await rankOf(v.seed, e.leaf);
let lo = "0".repeat(32);
for (const c of v.calls) {
  const called = v.entrants.map((e) => e.rank).filter((rank) => rank > lo).sort().slice(0, c.units);
  [c.lo, c.called, lo] = [lo, called.length, called.at(-1) ?? lo];
  c.hi = lo;
}
console.log(JSON.stringify(v));
`

func TestTheOrderInABrowserIsTheSame(t *testing.T) {
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../functions/page/assets/draw.js")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"draw.mjs": script, "vectors.mjs": []byte(inBrowser)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := readVectors(t, text)
	command := exec.CommandContext(t.Context(), "node", "vectors.mjs")
	command.Dir, command.Stderr = dir, os.Stderr
	in, err := json.Marshal(want.inputs())
	if err != nil {
		t.Fatal(err)
	}
	command.Stdin = bytes.NewReader(in)
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := readVectors(t, out); !reflect.DeepEqual(got, want) {
		t.Errorf("from the same inputs follows\n%+v\nwant\n%+v", got, want)
	}
}
