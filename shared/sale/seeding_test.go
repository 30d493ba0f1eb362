package sale

import (
	"strings"
	"testing"
	"time"
)

func creation(change func(*Creation)) Creation {
	c := Creation{SaleID: "moutai", Name: "Feitian Moutai", OpensAt: opensAt, ClosesAt: closesAt, Stock: 100}
	change(&c)
	return c
}

var tenLabels = Labels(strings.TrimSuffix(strings.Repeat(strings.Repeat("a", 50)+",", 10), ","))

// bytesLong are 504 bytes, of which the last label has 1.
var bytesLong = strings.Repeat(strings.Repeat("台", 50)+",", 3) + strings.Repeat("a", 50) + ","

func TestACreationIsCheckedFieldByField(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		name   string
		change func(*Creation)
		want   Code
	}{
		{"a complete one is valid", func(*Creation) {}, ""},
		{"one unit is enough", func(c *Creation) { c.Stock = 1 }, ""},
		{"the largest stock is valid", func(c *Creation) { c.Stock = MaxStock }, ""},
		{"a limit of the stock itself is valid", func(c *Creation) { c.MaxStock = 100 }, ""},
		{"the highest limit is valid", func(c *Creation) { c.MaxStock = MaxStock }, ""},
		{"a limit below the stock", func(c *Creation) { c.MaxStock = 99 }, InvalidRequest},
		{"too high a limit", func(c *Creation) { c.MaxStock = MaxStock + 1 }, InvalidRequest},
		{"as many shards as units are valid", func(c *Creation) { c.Shards = 100 }, ""},
		{"the most shards are valid", func(c *Creation) { c.Stock, c.Shards = 1000, MaxShards }, ""},
		{"the highest rate is valid", func(c *Creation) { c.OrdersPerSecond = MaxOrdersPerSecond }, ""},
		{"a name of 200 characters is valid", func(c *Creation) { c.Name = strings.Repeat("台", MaxName) }, ""},
		{"ten labels of 50 characters are valid", func(c *Creation) { c.Labels = tenLabels }, ""},
		{"eleven labels", func(c *Creation) { c.Labels = "a,b,c,d,e,f,g,h,i,j,k" }, InvalidRequest},
		{"labels of 512 bytes are valid", func(c *Creation) { c.Labels = Labels(bytesLong + "34567890") }, ""},
		{"labels of 513 bytes", func(c *Creation) { c.Labels = Labels(bytesLong + "345678901") }, InvalidRequest},
		{"a label of 51 characters", func(c *Creation) { c.Labels = Labels(strings.Repeat("a", 51)) }, InvalidRequest},
		{"an empty label", func(c *Creation) { c.Labels = "a,,b" }, InvalidRequest},
		{"a label that ends with a space", func(c *Creation) { c.Labels = "a ,b" }, InvalidRequest},
		{"no sale id", func(c *Creation) { c.SaleID = "" }, InvalidRequest},
		{"a sale id with a separator", func(c *Creation) { c.SaleID = "a#b" }, InvalidRequest},
		{"a name of 201 characters", func(c *Creation) { c.Name = strings.Repeat("台", MaxName+1) }, InvalidRequest},
		{"a name with a newline", func(c *Creation) { c.Name = "a\nb" }, InvalidRequest},
		{"a name that is not UTF-8", func(c *Creation) { c.Name = "\xff" }, InvalidRequest},
		{"no stock", func(c *Creation) { c.Stock = 0 }, InvalidRequest},
		{"negative stock", func(c *Creation) { c.Stock = -1 }, InvalidRequest},
		{"too much stock", func(c *Creation) { c.Stock = MaxStock + 1 }, InvalidRequest},
		{"negative shards", func(c *Creation) { c.Shards = -1 }, InvalidRequest},
		{"more shards than units", func(c *Creation) { c.Shards = 101 }, InvalidRequest},
		{"more shards than the limit", func(c *Creation) { c.Stock, c.Shards = 5000, MaxShards+1 }, InvalidRequest},
		{"shards and a rate", func(c *Creation) { c.Shards, c.OrdersPerSecond = 1, 1 }, InvalidRequest},
		{"a negative rate", func(c *Creation) { c.OrdersPerSecond = -1 }, InvalidRequest},
		{"a rate above the limit", func(c *Creation) { c.OrdersPerSecond = MaxOrdersPerSecond + 1 }, InvalidRequest},
		{"the most units of an order are valid", func(c *Creation) { c.MaxPerOrder = 8 }, ""},
		{"more units of an order", func(c *Creation) { c.MaxPerOrder = 9 }, InvalidRequest},
		{"fewer than none", func(c *Creation) { c.MaxPerOrder = -1 }, InvalidRequest},
		{"one in a draw is valid", func(c *Creation) { *c = drawn(); c.MaxPerOrder = 1 }, ""},
		{"two in a draw", func(c *Creation) { *c = drawn(); c.MaxPerOrder = 2 }, InvalidRequest},
		{"no opening", func(c *Creation) { c.OpensAt = time.Time{} }, InvalidRequest},
		{"no closing", func(c *Creation) { c.ClosesAt = time.Time{} }, InvalidRequest},
		{"an empty window", func(c *Creation) { c.ClosesAt = c.OpensAt }, InvalidRequest},
		{"a window below a millisecond", func(c *Creation) { c.ClosesAt = c.OpensAt.Add(time.Microsecond) }, InvalidRequest},
		{"a window backwards", func(c *Creation) { c.OpensAt, c.ClosesAt = c.ClosesAt, c.OpensAt }, InvalidRequest},
		{"an opening before 2000", func(c *Creation) { c.OpensAt = year(1999) }, InvalidRequest},
		{"a closing after 2099", func(c *Creation) { c.ClosesAt = year(2100) }, InvalidRequest},
	} {
		c := creation(tt.change)
		if err := c.Check(); CodeOf(err) != tt.want {
			t.Errorf("%s: Check() = %v, want code %q", tt.name, err, tt.want)
		}
	}
}

func TestACreationFillsInItsNameAndShards(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Creation)
		shards int
	}{
		{"explicit shards stay", func(c *Creation) { c.Shards = 7 }, 7},
		{"they are planned for orders", func(c *Creation) { c.MaxPerOrder = 4 }, 2},
		{"a rate needs a shard per 20 orders a second", func(c *Creation) { c.Stock, c.OrdersPerSecond = 10_000, 201 }, 11},
		{"the default rate needs 50", func(c *Creation) { c.Stock = 10_000 }, 50},
	} {
		c := creation(tt.change)
		c.Name = ""
		if err := c.Check(); err != nil {
			t.Fatal(tt.name, err)
		}
		if c.Name != c.SaleID || c.Shards != tt.shards {
			t.Errorf("%s: name %q and %d shards, want %q and %d", tt.name, c.Name, c.Shards, c.SaleID, tt.shards)
		}
	}
}

func TestAnAdditionAndAWithdrawalAreCheckedFieldByField(t *testing.T) {
	for _, tt := range []struct {
		name string
		a    Addition
		want Code
	}{
		{"the most units are valid", Addition{SaleID: "moutai", SeedID: "second-batch", Stock: MaxStock}, ""},
		{"an invalid sale id", Addition{SaleID: "mou tai", SeedID: "s", Stock: 1}, InvalidRequest},
		{"no seed id", Addition{SaleID: "moutai", SeedID: "", Stock: 1}, InvalidRequest},
		{"a seed id with a separator", Addition{SaleID: "moutai", SeedID: "s#1", Stock: 1}, InvalidRequest},
		{"no stock", Addition{SaleID: "moutai", SeedID: "s", Stock: 0}, InvalidRequest},
		{"negative stock", Addition{SaleID: "moutai", SeedID: "s", Stock: -50}, InvalidRequest},
		{"too much stock", Addition{SaleID: "moutai", SeedID: "s", Stock: MaxStock + 1}, InvalidRequest},
	} {
		w := Withdrawal(tt.a)
		for _, err := range []error{tt.a.Check(), w.Check()} {
			if CodeOf(err) != tt.want {
				t.Errorf("%s: Check() = %v, want code %q", tt.name, err, tt.want)
			}
		}
	}
}
