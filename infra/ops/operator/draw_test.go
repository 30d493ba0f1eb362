package operator

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/drawcheck"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/target"
)

// drawing is the draw that three implementations agree on, behind the API that publishes it.
type drawing struct {
	t         *testing.T
	Sale      string
	LeafKey   string
	Roll      string
	Round     uint64
	Signature string
	Seed      string
	Entrants  []struct{ User, Nonce, Leaf string }
	Calls     []struct {
		Lo, Hi        string
		Units, Called int64
	}
	closed, drawn bool // what is published: the roll, and the dice
	calls         int  // how many calls are
	late          time.Duration
	dice          *drawcheck.Chain // of the API's own
	db            *dynamotest.DB
}

func readDrawing(t *testing.T) *drawing {
	t.Helper()
	d := &drawing{t: t, db: newTable()}
	text, err := os.ReadFile("../../../shared/draw/testdata/vectors.json")
	if err == nil {
		err = json.Unmarshal(text, d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *drawing) page() map[string]any {
	signed := drawcheck.Quicknet.TimeOf(d.Round)
	draw := map[string]any{"enterUntil": signed.Add(-2 * time.Hour)}
	if d.closed {
		draw["closedAt"], draw["roll"], draw["round"], draw["entrants"] = signed.Add(-time.Hour), d.Roll, d.Round, len(d.Entrants)
	}
	from := signed.Add(time.Hour)
	if d.drawn {
		var calls []map[string]any
		for i, c := range d.Calls[:d.calls] {
			from = from.Add(time.Second)
			until := from.Add(time.Hour)
			calls = append(calls, map[string]any{"call": i + 1, "from": from, "until": until, "lo": c.Lo, "hi": c.Hi, "stock": c.Units, "open": i == len(d.Calls)-1})
			if c.Called > 0 {
				from = until
			}
		}
		draw["seed"], draw["signature"], draw["calls"] = d.Seed, d.Signature, calls
	}
	return map[string]any{"saleId": d.Sale, "opensAt": signed.Add(time.Hour), "closesAt": signed.Add(9 * time.Hour), "now": from.Add(d.late - time.Minute), "draw": draw}
}

func (d *drawing) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := any(map[string]any{"beacon": d.dice})
	if _, page, ok := strings.Cut(r.URL.Path, "/roll/"); ok {
		leaves := []string{}
		for _, e := range d.Entrants {
			if strings.HasPrefix(e.Leaf, page) {
				leaves = append(leaves, e.Leaf)
			}
		}
		slices.Sort(leaves)
		answer = map[string]any{"leaves": leaves}
	} else if strings.HasPrefix(r.URL.Path, "/sales/") {
		answer = d.page()
	}
	w := httptest.NewRecorder()
	err := json.NewEncoder(w).Encode(answer)
	return w.Result(), err
}

// at runs a command about the draw, as that API shows it.
func (d *drawing) at(api, command string) (said string, code int) {
	d.t.Helper()
	words := strings.Fields(command)
	p := &target{db: d.db, found: &system.Target{System: client.System{Client: client.New(api, client.Options{Transport: d})}}}
	return p.does(d.t, strings.Join(slices.Insert(words, 2, d.Sale), " "))
}

// tells runs a command about the draw and checks its exit code. What it says must have each of the texts.
func (d *drawing) tells(command string, code int, want ...string) {
	d.t.Helper()
	said, got := d.at("http://127.0.0.1", command)
	if got != code {
		d.t.Errorf("%s: exit %d, after\n%s", command, got, said)
	}
	contains(d.t, said, want...)
}

func TestADrawIsToldAndVerifiedFromItsRollToItsOpenCall(t *testing.T) {
	d := readDrawing(t)
	alice, nobody := d.Entrants[0], strings.Repeat("0", 64)
	turn := "draw verify --buyer alice --nonce " + alice.Nonce
	d.tells(turn, cli.ExitFine, "entering     until 2025-", "your leaf    "+alice.Leaf+": look for it", "not checked:", "the roll: it is closed")
	d.closed = true
	d.tells(turn, cli.ExitFine, "roll         40 entrants, digest "+d.Roll, "dice         round 21000000 of drand's quicknet, signed at ", "1h0m0s after the roll was closed",
		alice.Leaf+", on the roll", "correct so far", "the dice: round")
	d.tells("draw verify --round 21000000 --roll "+d.Roll, cli.ExitFine, "correct so far")
	d.tells("draw verify --roll "+nobody, cli.ExitBad, "WRONG:", "you noted the roll "+nobody+" before the dice, but it is "+d.Roll+" now: the roll was changed")
	d.tells("draw verify --round 20999999", cli.ExitBad, "WRONG:", "the dice were chosen again")
	d.tells("draw show", cli.ExitFine, "to publish elsewhere, before round 21000000 is signed at ", d.Sale+": 40 entrants, roll "+d.Roll)
	d.tells("draw called -o csv", cli.ExitBad, "no call for people on the roll is running")

	d.drawn, d.calls = true, 1
	d.tells(turn, cli.ExitFine, "call 1       3 people, places 1 to 3, from ", "uncalled     37", "your place   3 of 40, rank ", ": call 1, from", "correct: every leaf")
	d.tells("draw verify --buyer bob --nonce "+d.Entrants[1].Nonce, cli.ExitFine, ": not called yet")
	d.tells("draw show", cli.ExitFine, "call 1 runs until ", ": `flashsale draw called "+d.Sale+"` lists the people")
	d.tells("draw verify --buyer alice --nonce "+nobody, cli.ExitBad, "of alice is not on the roll")
	d.calls = len(d.Calls)
	d.tells("draw verify", cli.ExitFine, "call 2       1 people, places 4 to 4", "call 3       nobody: it came to nothing", "call 5       11 people, places 30 to 40", "call 6       anybody", "uncalled     0")
	d.Seed = nobody // every forgery is tested in infra/kit/drawcheck
	d.tells("draw verify", cli.ExitBad, "WRONG:", "the seed is")
	d.tells("draw called -o csv", cli.ExitUnknown, " is not correct: `flashsale draw verify ")
}

// An API elsewhere that names dice of its own does not choose the order.
func TestOnlyAStackOnThisMachineHasDiceOfItsOwn(t *testing.T) {
	d := readDrawing(t)
	own := drawcheck.Quicknet
	own.Hash = "own"
	d.closed, d.dice = true, &own
	for api, want := range map[string]string{"http://127.0.0.1": "this machine's own dice, which prove nothing to others", "https://shop.example.com": "drand's quicknet"} {
		if said, code := d.at(api, "draw verify"); code != cli.ExitFine || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d, %s", api, code, said)
		}
	}
}

func TestTheCalledAreListedForASpreadsheet(t *testing.T) {
	d := readDrawing(t)
	d.closed, d.drawn, d.calls = true, true, 1
	key, err := hex.DecodeString(d.LeafKey)
	if err != nil {
		t.Fatal(err)
	}
	put := func(pk, sk string) {
		name := "T"
		if _, err := d.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}, "leafKey": &types.AttributeValueMemberB{Value: key},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	put("SALE#"+d.Sale, "SALE")
	put("DRAWKEY#"+d.Sale, "KEY")
	for _, e := range d.Entrants {
		put("ENTRY#"+d.Sale+"#"+e.Leaf[:2], e.User)
	}
	said, code := d.at("http://127.0.0.1", "draw called -o csv")
	if code != cli.ExitFine {
		t.Fatal(said)
	}
	said = said[strings.Index(said, "\ufeff"):]
	line := regexp.MustCompile(`(?m)^"'` + d.Sale + `","'([^"]+)",1,"'2025-[^"]*Z","'2025-[^"]*Z",(\d),"'([0-9a-f]{64})"$`)
	var places []string
	for _, cells := range line.FindAllStringSubmatch(said, -1) {
		places = append(places, cells[2])
		if cells[1] == "alice" && (cells[2] != "3" || cells[3] != d.Entrants[0].Leaf) {
			t.Errorf("alice is listed as %v", cells)
		}
	}
	slices.Sort(places)
	if !slices.Equal(places, []string{"1", "2", "3"}) || !strings.HasPrefix(said, "\ufeffsale,user,call,from,until,place,leaf\n") || strings.Count(said, "\n") != 4 {
		t.Errorf("the places are %v in\n%s", places, said)
	}
	(&world{T: t, db: d.db}).remove("ENTRY#"+d.Sale+"#"+d.Entrants[0].Leaf[:2], "alice")
	d.tells("draw called -o csv", cli.ExitUnknown, "the list has 2 of the 3 people")
	d.late = time.Minute
	d.tells("draw called -o csv", cli.ExitBad, "no call for people on the roll is running")
}
