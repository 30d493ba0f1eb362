package operator

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"flashsale/infra/ops/cli"
	requests "flashsale/shared/change"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// mustChange are the members that a copy must have others of.
var mustChange = map[string]string{
	saleMember:   "CHANGE: no two sales have the same",
	"opensAt":    "CHANGE",
	"closesAt":   "CHANGE",
	"enterFrom":  "CHANGE",
	"enterUntil": "CHANGE",
	groupMember:  "CHANGE: who has ordered in a sale of a group can never order in another one of it",
}

// exportVerb prints what createVerb takes.
var exportVerb = verb{
	use: "export SALE", short: "Print the file that creates another sale, or group, like one that exists", joins: true,
	example: "flashsale sale export moutai >next.yaml\nflashsale sale export --group shoe >next.yaml",
	again:   "the file is not complete: repeat the command", run: export,
}

func export(ctx context.Context, p *target, o options, out *terminal) error {
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	var all []sale.Creation
	for _, id := range o.sales() {
		c, err := maintenance.Of(book).Creation(ctx, id)
		switch {
		case sale.CodeOf(err) == sale.SaleNotFound:
			return noSuch("there is no sale %s: %s has all", id, p.flashsale("sale list"))
		case err != nil:
			return fmt.Errorf("export %s: %w", id, err)
		}
		all = append(all, c)
	}
	return writeSales(out, all, o["group"] != "", time.Now())
}

// writeSales writes a file of create that makes sales like these: the only one, or those of a group.
func writeSales(out io.Writer, sales []sale.Creation, isGroup bool, asOf time.Time) error {
	file := &yaml.Node{Kind: yaml.MappingNode}
	switch {
	case !isGroup:
		add(file, valuesOf(sales[0]), func(string) bool { return true })
		file.HeadComment = "The sale " + sales[0].SaleID
	default:
		all := make([]map[string]string, len(sales))
		for i, c := range sales {
			all[i] = valuesOf(c)
		}
		isCommon := func(name string) bool {
			return name != saleMember && !slices.ContainsFunc(all, func(one map[string]string) bool {
				value, given := one[name]
				return !given || value != all[0][name]
			})
		}
		add(file, all[0], isCommon)
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, one := range all {
			own := &yaml.Node{Kind: yaml.MappingNode}
			add(own, one, func(name string) bool { return !isCommon(name) })
			list.Content = append(list.Content, own)
		}
		file.Content = append(file.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: salesMember}, list)
		file.HeadComment = "The sales of the group " + sales[0].LimitGroup
	}
	file.HeadComment += " at " + instant(asOf) + ", for `flashsale create`."
	return cli.WriteNode(out, file)
}

// add adds those of a sale's members that belong there, in their usual order.
func add(to *yaml.Node, values map[string]string, belongs func(name string) bool) {
	for _, name := range append([]string{saleMember}, requests.Takes("create")...) {
		value, given := values[name]
		if !given || !belongs(name) {
			continue
		}
		node := &yaml.Node{}
		switch _, isWhole := wholes[name]; {
		case isWhole:
			node.Kind, node.Tag, node.Value = yaml.ScalarNode, "!!int", value
		case name == "opensAt", name == "closesAt", strings.HasPrefix(name, "enter"):
			node.Kind, node.Tag, node.Value = yaml.ScalarNode, "!!timestamp", value
		default:
			node.SetString(value)
		}
		node.LineComment = mustChange[name]
		to.Content = append(to.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, node)
	}
}

// valuesOf are the members of a creation that are given.
func valuesOf(c sale.Creation) map[string]string {
	values := map[string]string{saleMember: c.SaleID, "opensAt": exactly(c.OpensAt), "closesAt": exactly(c.ClosesAt)}
	if c.Name != c.SaleID {
		values["name"] = c.Name
	}
	for name, n := range map[string]int64{
		"stock": c.Stock, "shards": int64(c.Shards), "maxStock": c.MaxStock, "maxPerOrder": int64(c.MaxPerOrder), "price": c.Price,
		"payWithin": int64(c.PayWithin / time.Second), "lateDays": int64(c.LateFor / day), "keepHours": int64(c.KeepFor / time.Hour),
	} {
		if n != 0 || name == "stock" {
			values[name] = strconv.FormatInt(n, 10)
		}
	}
	for name, text := range map[string]string{
		"currency": c.Currency, "labels": string(c.Labels), groupMember: c.LimitGroup, "image": c.Image, "about": c.About, "link": c.Link,
	} {
		if text != "" {
			values[name] = text
		}
	}
	if c.Shards == sale.ShardsFor(sale.DefaultOrdersPerSecond, c.Stock/int64(max(1, c.MaxPerOrder))) {
		delete(values, "shards") // they follow from the stock, also from another one
	}
	if c.Extras {
		values["extras"] = sale.ExtrasAllowed
	}
	if c.HasDraw() {
		values["enterFrom"], values["enterUntil"] = exactly(c.EnterFrom), exactly(c.EnterUntil)
	}
	return values
}

// exactly formats an instant to the millisecond, if it has some.
func exactly(t time.Time) string { return t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano) }
