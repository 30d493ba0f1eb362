package drawcheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/drawcheck/rules"
)

// forgery is a draw that a test changes as somebody would who may write everything that is
// published.
type forgery struct{ *Published }

// of returns a page with at least n leaves, or the one after the given page.
func (f *forgery) of(n int) *[]rules.Leaf {
	for i := range f.Pages {
		if len(f.Pages[i]) >= n {
			return &f.Pages[i]
		}
	}
	panic("no page has as many leaves")
}

// republish makes digest, number and seed those of the pages, as if they had always been so.
func (f *forgery) republish() {
	f.Sale.Entrants = 0
	for _, page := range f.Pages {
		f.Sale.Entrants += int64(len(page))
	}
	f.Sale.Roll = rules.DigestOf(&f.Pages)
}

func (f *forgery) reseed() { f.Sale.Seed = rules.SeedOf(f.Sale.SaleID, f.Sale.Roll, f.Sale.Signature) }

// rank returns the rank at a place of the order.
func (f *forgery) rank(place int64) rules.Rank {
	return rules.Check(&f.Sale.Draw, &f.Pages, nil).Ranks[place-1]
}

func (f *forgery) move(call int, hi rules.Rank) {
	f.Sale.Calls[call].Hi = &hi
	if call+1 < len(f.Sale.Calls) {
		f.Sale.Calls[call+1].Lo = hi
	}
}

func TestEveryForgeryIsRefused(t *testing.T) {
	after := func(l rules.Leaf) rules.Leaf { l[31]++; return l }
	v := readVectors(t)
	for _, tt := range []struct {
		name   string
		change func(*forgery)
		want   string // a part of the first sentence
	}{
		{"a leaf is added", func(f *forgery) { p := f.of(1); *p = append(*p, after((*p)[len(*p)-1])) }, "the roll has 41 leaves, but 40 entrants were published"},
		{"a leaf is added, and counted", func(f *forgery) { p := f.of(1); *p = append(*p, after((*p)[len(*p)-1])); f.Sale.Entrants++ }, "a leaf was added, removed or changed"},
		{"a leaf is another one, under the same digest", func(f *forgery) { p := f.of(1); (*p)[0] = after((*p)[0]) }, "a leaf was added, removed or changed"},
		{"a leaf is another one, under a new digest", func(f *forgery) { p := f.of(1); (*p)[0] = after((*p)[0]); f.republish() }, "the seed is"},
		{"a leaf is there twice", func(f *forgery) { p := f.of(1); *p = append((*p)[:1:1], *p...); f.republish(); f.reseed() }, "in the wrong place"},
		{"a page is out of order", func(f *forgery) { slices.Reverse(*f.of(2)); f.republish(); f.reseed() }, "in the wrong place"},
		{"a leaf is on another page", func(f *forgery) {
			p := f.of(1)
			leaf := (*p)[0]
			*p = (*p)[1:]
			f.Pages[255] = append(f.Pages[255], leaf)
			f.republish()
			f.reseed()
		}, "in the wrong place"},
		{"another round", func(f *forgery) { f.Sale.Round++ }, "the signature is not that of round 21000001"},
		{"another round with its own signature and seed", func(f *forgery) { f.Sale.Round, f.Sale.Signature = 1001, bytesOf(t, signed[1001]); f.reseed() }, "the dice were known before"},
		{"a round at the roll's closing", func(f *forgery) { f.Sale.ClosedAt = Quicknet.TimeOf(f.Sale.Round) }, "the dice were known before"},
		{"a roll that was closed before entering ended", func(f *forgery) { f.Sale.ClosedAt = f.Sale.EnterUntil.Add(-time.Millisecond) }, "while people could enter until"},
		{"a forged signature", func(f *forgery) { f.Sale.Signature = bytesOf(t, signed[1000]); f.reseed() }, "the signature is not that of round 21000000"},
		{"the seed of another sale", func(f *forgery) { f.Sale.SaleID = "another" }, "the seed is"},
		{"a call ends at nobody's rank", func(f *forgery) { hi := f.rank(3); hi[15]++; f.move(0, hi) }, "which is nobody's rank"},
		{"a call ends one person later", func(f *forgery) { f.move(0, f.rank(4)) }, "call 1 called 4 people, but there were units for 3"},
		{"a call ends one person earlier", func(f *forgery) { f.move(0, f.rank(2)) }, "call 1 called 2 people, but there were units for 3"},
		{"nothing is said of the units", func(f *forgery) { f.Sale.Calls[0].Stock = 0 }, "call 1 called 3 people, but there were units for 0"},
		{"a call for everybody has an end", func(f *forgery) { hi := f.rank(40); hi[0]++; f.Sale.Calls[5].Hi = &hi }, "call 6 is for everybody, but ends at rank"},
		{"a call goes back", func(f *forgery) { f.move(1, f.rank(1)) }, "below its beginning"},
		{"a call skips a person", func(f *forgery) { f.Sale.Calls[1].Lo = f.rank(4) }, "people were left out or called again"},
		{"the first call leaves people out", func(f *forgery) { f.Sale.Calls[0].Lo = f.rank(1) }, "call 1 begins above rank"},
		{"a call is for everybody too early", func(f *forgery) { f.Sale.Calls[3].Open = true }, "call 4 is for everybody, with 36 people who have not been called"},
		{"the last call is for people, but there are none", func(f *forgery) { f.Sale.Calls[5].Open = false }, "call 6 is for people on the roll, with 0 people"},
		{"a call is missing", func(f *forgery) { f.Sale.Calls = slices.Delete(f.Sale.Calls, 1, 2) }, "call 3 comes in place of call 2"},
		{"a call begins during another", func(f *forgery) { f.Sale.Calls[1].From = f.Sale.Calls[0].Until }, "but call 1 had people until"},
		{"a call begins with an empty one", func(f *forgery) { f.Sale.Calls[3].From = f.Sale.Calls[2].From }, "call 4 is from"},
		{"a call ends before it begins", func(f *forgery) { f.Sale.Calls[1].Until = f.Sale.Calls[1].From }, "not after its beginning"},
		{"a call lasts longer than the sale", func(f *forgery) { f.Sale.ClosesAt = f.Sale.ClosesAt.Add(-1) }, "but the sale until"},
		{"a call before the sale", func(f *forgery) { f.Sale.OpensAt = f.Sale.Calls[0].From.Add(1) }, "before the sale begins"},
		{"a call before the dice", func(f *forgery) { f.Sale.Calls[0].From = Quicknet.TimeOf(f.Sale.Round) }, "the first call is from"},
		{"a call without its end", func(f *forgery) { f.Sale.Calls[0].Hi = nil; f.Sale.Calls[1].Lo = rules.Rank{} }, "call 1 is not complete, but call 2 has begun"},
		{"calls without dice", func(f *forgery) { f.Sale.Seed, f.Sale.Signature = rules.Digest{}, nil }, "people were called before the dice"},
		{"calls without a roll", func(f *forgery) { f.Sale.Round = 0 }, "there are dice or calls, but no roll"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &forgery{v.drawn(t)}
			tt.change(f)
			r := f.Check()
			if len(r.Wrong) == 0 || !strings.Contains(r.Wrong[0], tt.want) {
				t.Errorf("wrong: %q, want first %q", r.Wrong, tt.want)
			}
		})
	}
}

func TestWhatIsNotPublishedYetIsPendingAndNotWrong(t *testing.T) {
	v := readVectors(t)
	for _, tt := range []struct {
		name   string
		change func(*forgery)
		want   string
	}{
		{"people enter", func(f *forgery) {
			f.Sale.Draw = rules.Draw{SaleID: f.Sale.SaleID, EnterUntil: f.Sale.EnterUntil}
			f.Pages = [rules.Pages][]rules.Leaf{}
		}, "the roll: it is closed after entering"},
		{"the dice are thrown", func(f *forgery) { f.Sale.Seed, f.Sale.Signature, f.Sale.Calls = rules.Digest{}, nil, nil }, "the dice: round 21000000 is signed at"},
		{"nobody is called yet", func(f *forgery) { f.Sale.Calls = nil }, ""},
		{"a call is being made", func(f *forgery) { f.Sale.Calls = f.Sale.Calls[:2]; f.Sale.Calls[1].Hi, f.Sale.Calls[1].Stock = nil, 0 }, ""},
		{"a call was given up", func(f *forgery) {
			given := f.Sale.Calls[0]
			given.Hi, given.Stock = &given.Lo, 0
			given.From = given.From.Add(-500 * time.Millisecond)
			f.Sale.Calls = append([]rules.Call{given}, f.Sale.Calls...)
			for i := range f.Sale.Calls {
				f.Sale.Calls[i].Number = int64(i + 1)
			}
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &forgery{v.drawn(t)}
			tt.change(f)
			r := f.Check()
			if len(r.Wrong) > 0 || !strings.HasPrefix(strings.Join(r.Pending, ""), tt.want) || (tt.want == "") != (len(r.Pending) == 0) {
				t.Errorf("wrong: %q, pending: %q, want %q", r.Wrong, r.Pending, tt.want)
			}
		})
	}
}

// That the API's own answers are read is tested where an operator verifies a draw.
func TestAnswersThatNoAPIGivesAreRefused(t *testing.T) {
	const sale = `{"saleId":"moutai","draw":{"enterUntil":"2026-11-25T12:00:00.000Z"%s}}`
	digest := strings.Repeat("ab", 32)
	if s, err := readSale(fmt.Appendf(nil, sale, "")); err != nil || s.Round != 0 || len(s.Calls) != 0 {
		t.Errorf("before the roll it is %+v, %v", s, err)
	}
	if _, err := readSale([]byte(`{"saleId":"moutai"}`)); err == nil || err.Error() != "the sale has no draw" {
		t.Errorf("a sale without a draw: %v", err)
	}
	for _, wrong := range []string{
		`,"roll":"` + strings.ToUpper(digest) + `","round":9,"closedAt":"2026-11-25T12:15:00.000Z"`, `,"roll":"` + digest[2:] + `","round":9,"closedAt":"2026-11-25T12:15:00.000Z"`, `,"roll":"` + digest + `"`, `,"round":9`, `,"roll":"` + digest + `","round":9`, `,"closedAt":"2026-11-25T12:15:00.000Z"`,
		`,"seed":"` + digest + `"`, `,"signature":"aa"`, `,"seed":"` + digest + `","signature":"xx"`, `,"entrants":"7"`,
	} {
		if s, err := readSale(fmt.Appendf(nil, sale, wrong)); err == nil {
			t.Errorf("%s is read as %+v", wrong, s)
		}
	}
	for _, wrong := range []string{`{}`, `{"leaves":["` + digest[1:] + `"]}`, `{"leaves":[`, `[]`} {
		if page, err := readPage([]byte(wrong)); err == nil {
			t.Errorf("%s is read as %v", wrong, page)
		}
	}
}
