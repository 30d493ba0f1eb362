package tally

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/lab/shop"
)

// userOf is the user whom a letter names: a pair if it is a capital.
func userOf(letter string) string {
	if letter < "a" {
		return shop.Pair + letter
	}
	return letter
}

// sold makes orders of users named by letters.
func sold(users string) (all []shop.Order) {
	for _, u := range users {
		all = append(all, shop.Order{User: userOf(string(u))})
	}
	return all
}

// told makes answers: "a+ b-" is a yes for a and sold out for b; "=" is already
// ordered, "~" busy, "." no answer.
func told(text string) (all []Answer) {
	outcomes := map[byte]shop.Outcome{'+': shop.Accepted, '=': shop.AlreadyOrdered, '-': shop.SoldOut, '~': shop.Busy, '.': ""}
	for _, one := range strings.Fields(text) {
		all = append(all, Answer{User: userOf(one[:1]), Outcome: outcomes[one[1]]})
	}
	return all
}

func TestACountComesFromOrdersAndAnswersAlone(t *testing.T) {
	for name, c := range map[string]struct {
		stock   int
		orders  string
		answers string
		want    Count
		verdict Verdict
	}{
		"a sound sale":                         {2, "ab", "a+ b+ c-", Count{ToldSoldOut: 1}, Holds},
		"a repeated click":                     {2, "a", "a+ a= a=", Count{}, Holds},
		"a winner whose second click lost":     {1, "a", "a+ a-", Count{Misled: 1}, Misleads},
		"a winner who never heard":             {1, "a", "a. b-", Count{ToldSoldOut: 1}, Holds},
		"a winner who is sent home":            {1, "a", "a. a-", Count{Misled: 1}, Misleads},
		"units left that nobody wanted":        {5, "a", "a+", Count{}, Holds},
		"one too many":                         {1, "ab", "a+ b+", Count{Oversold: 1}, Oversells},
		"two for one":                          {3, "aa", "a+ a+", Count{Doubles: 1}, Doubles},
		"yes without an order":                 {2, "a", "a+ b+", Count{Lost: 1}, Loses},
		"already ordered without an order":     {2, "a", "a+ b=", Count{Lost: 1}, Loses},
		"sold out with units left":             {3, "a", "a+ b-", Count{Unsold: 1, ToldSoldOut: 1}, Undersells},
		"as many unsold as there were refused": {9, "a", "a+ b- c-", Count{Unsold: 2, ToldSoldOut: 2}, Undersells},
		"as many unsold as are left":           {2, "a", "a+ b- c-", Count{Unsold: 1, ToldSoldOut: 2}, Undersells},
		"never a decision":                     {2, "a", "a+ b~ c.", Count{Unsold: 1, Undecided: 2}, Stalls},
		"never a decision, nothing left":       {1, "a", "a+ b~", Count{Undecided: 1}, Stalls},
		"one left, which no pair wants":        {3, "A", "A+ B-", Count{Sold: 2, ToldSoldOut: 1}, Holds},
		"one left, which somebody wants":       {3, "A", "A+ B- c-", Count{Sold: 2, Unsold: 1, ToldSoldOut: 2}, Undersells},
		"two left for a pair":                  {4, "A", "A+ B-", Count{Sold: 2, Unsold: 2, ToldSoldOut: 1}, Undersells},
		"the last one sold to a pair":          {3, "AB", "A+ B+", Count{Sold: 4, Oversold: 1}, Oversells},
		"the worst is the verdict":             {1, "aab", "a+ b+ c+ d~", Count{Oversold: 2, Doubles: 1, Lost: 1, Undecided: 1}, Oversells},
	} {
		t.Run(name, func(t *testing.T) {
			got := Of(c.stock, sold(c.orders), told(c.answers))
			if c.want.Stock = c.stock; c.want.Sold == 0 {
				c.want.Sold = len(c.orders)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("count (-want +got):\n%s", diff)
			}
			if verdict, _ := got.Judge(nil); verdict != c.verdict {
				t.Errorf("verdict %q, want %q", verdict, c.verdict)
			}
		})
	}
}

func TestDecisionsAreTimedAndBusyIsNone(t *testing.T) {
	var answers []Answer
	for i := range 100 {
		d := time.Duration(i+1) * time.Millisecond
		answers = append(answers, Answer{User: "a", Outcome: shop.SoldOut, Took: d, Ended: 5 * d})
	}
	answers = append(answers, Answer{User: "b", Outcome: shop.Busy, Took: time.Hour, Ended: time.Hour})
	c := Of(1, nil, answers)
	if c.P50Ms != 50 || c.P99Ms != 99 || c.PerSecond != 200 {
		t.Errorf("p50 %v ms, p99 %v ms, %v/s, want 50, 99, 200", c.P50Ms, c.P99Ms, c.PerSecond)
	}
	if none := Of(1, nil, nil); none.P99Ms != 0 || none.PerSecond != 0 {
		t.Errorf("without answers: %+v", none)
	}
}
