package model

import (
	"testing"
	"time"

	"flashsale/infra/local/template"
)

func TestTheModelGathersMessagesAsTheTemplateSays(t *testing.T) {
	s, err := template.Load("../../../template.yaml", template.Options{
		Parameters: map[string]string{"JwtIssuer": "http://127.0.0.1", "JwtAudience": "model"},
		TableName:  tableName, QueueURL: func(name string) string { return "http://127.0.0.1/" + name },
	})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{}.withDefaults()
	var sources []template.QueueSource
	for _, f := range s.Functions {
		sources = append(sources, f.Queues...)
	}
	if len(sources) != 1 || sources[0].BatchSize != c.Batch || sources[0].Window != c.Gather {
		t.Errorf("the template's sources are %+v, the model gathers %d for %v", sources, c.Batch, c.Gather)
	}
}

// burden is the cost of confirming an order.
type burden struct {
	writes      float64 // write units
	invocations float64
	busy        time.Duration
}

// confirming returns the cost per order that finalizing adds to the same sale.
func confirming(t *testing.T, batch int, window time.Duration) burden {
	t.Helper()
	c := roomy(64, 1000)
	c.Stock, c.Users, c.Repeats, c.TableWrites = 1000, 1000, 10, 40_000
	if *large {
		c.Stock, c.Users = 4000, 4000
	}
	c.Batch, c.Gather = batch, window
	with := play(t, c)
	c.NoFinalize = true
	without := play(t, c)
	n := float64(c.Stock)
	b := burden{
		(with.WriteUnits - without.WriteUnits) / n, (with.Invocations - without.Invocations) / n,
		time.Duration(float64(with.Busy-without.Busy) / n),
	}
	t.Logf("up to %3d messages in %2v: %.2f write units, %.3f invocations, %v per order; the last order %v after the last sale",
		batch, window, b.writes, b.invocations, b.busy.Round(10*time.Microsecond), (with.LastConfirmed - with.LastSold).Round(10*time.Millisecond))
	return b
}

// Batches of 25 fill the statements' limit of one call: smaller ones cost more
// for each order, larger ones nothing less, and they make the first of them wait.
func TestTheTemplatesBatchIsTheSmallestOfTheCheapOnes(t *testing.T) {
	t.Parallel()
	c := Config{}.withDefaults()
	chosen := confirming(t, c.Batch, c.Gather)
	for _, smaller := range []burden{confirming(t, 10, c.Gather), confirming(t, c.Batch, time.Millisecond)} {
		if smaller.writes <= chosen.writes || smaller.busy <= chosen.busy {
			t.Errorf("a smaller batch costs %+v, the template's %+v", smaller, chosen)
		}
	}
	if larger := confirming(t, 100, c.Gather); larger.writes < 0.98*chosen.writes || larger.busy < chosen.busy*95/100 {
		t.Errorf("a larger batch costs %+v, the template's %+v", larger, chosen)
	}
}
