package operator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"flashsale/infra/ops/cli"
	requests "flashsale/shared/change"
	"flashsale/shared/sale"
)

// Members of a file of create that its reader knows; the others are texts to it. The last is the list of a group's sales.
const saleMember, groupMember, salesMember = "saleId", "limitGroup", "sales"

// wholes are the members that are whole numbers, with the unit of those that are lengths of time.
var wholes = map[string]time.Duration{
	"stock": 0, "shards": 0, "ordersPerSecond": 0, "maxStock": 0, "maxPerOrder": 0, "price": 0, "payWithin": time.Second, "lateDays": day, "keepHours": time.Hour,
}

const day = 24 * time.Hour

type wanted struct {
	sale.Creation
	request map[string]any // of SeedFunction
}

// saleFile is a file of create: one sale with the members of SeedFunction's creation, or a group of sales, with the
// members that all have and a list of sales, whose own members override those.
type saleFile struct{ name string }

// readSales reads a file, JSON or YAML, and checks each sale as far as that is possible without its stack. An error
// is one of usage, with the line.
func readSales(name string, text []byte) ([]wanted, error) {
	f := saleFile{name}
	if json.Valid(text) {
		text = bytes.ReplaceAll(text, []byte("\t"), []byte(" ")) // white space, which JSON may have and YAML may not
		text = pairs.ReplaceAllFunc(text, unpaired)
	}
	text = newerYAML.ReplaceAll(text, []byte("#"))
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, cli.Usagef("%s is empty", name)
	case err != nil:
		said := strings.TrimPrefix(err.Error(), "yaml: ")
		if strings.Contains(said, "incompatible YAML") {
			said = "it is for another version of YAML than 1.1 and 1.2, by its line %YAML"
		}
		if strings.Contains(said, "cannot start any token") {
			said += " (a tab? YAML is indented with blanks)"
		}
		return nil, cli.Usagef("%s cannot be read: %s", name, said)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, cli.Usagef("%s has more than one document: write one file for each sale or group", name)
	}
	top := document.Content[0] // no alias, because nothing is anchored before it
	common, err := f.members(top, salesMember)
	if err != nil {
		return nil, err
	}
	list := common[salesMember]
	if list == nil {
		one, err := f.wanted(top, common)
		return []wanted{one}, err
	}
	delete(common, salesMember)
	switch {
	case common[groupMember] == nil:
		return nil, f.refuse(top, "a list of sales needs %s, beside it: a buyer may order in only one of its sales", groupMember)
	case common[saleMember] != nil:
		return nil, f.refuse(common[saleMember], "%s belongs to each one of the sales", saleMember)
	case list.Kind != yaml.SequenceNode || len(list.Content) == 0 || len(list.Content) > sale.MaxGroup:
		return nil, f.refuse(list, "%s must be a list of 1 to %d sales", salesMember, sale.MaxGroup)
	}
	var all []wanted
	for _, node := range list.Content {
		own, err := f.members(node)
		if err == nil && own[groupMember] != nil {
			err = f.refuse(own[groupMember], "%s is the same for all sales of the list: write it once, above", groupMember)
		}
		if err != nil {
			return nil, err
		}
		members := maps.Clone(common)
		maps.Copy(members, own)
		one, err := f.wanted(node, members)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other wanted) bool { return other.SaleID == one.SaleID }) {
			return nil, f.refuse(node, "sale %s is in the list twice", one.SaleID)
		}
		all = append(all, one)
	}
	return all, nil
}

// pairs are the two escapes by which JSON may write one character, and YAML may not, among those that hide no other.
var pairs = regexp.MustCompile(`\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|.)`)

func unpaired(escaped []byte) []byte {
	var one string
	if len(escaped) > len(`\uXXXX`) && json.Unmarshal([]byte(`"`+string(escaped)+`"`), &one) == nil {
		return []byte(one)
	}
	return escaped
}

// newerYAML begins a file of YAML 1.2, which differs in what a plain scalar is taken for: here it is a text.
var newerYAML = regexp.MustCompile(`^(?:\x{FEFF})?%YAML 1\.2`)

// followed is what an alias stands for, at its own place. What is anchored is no alias, so that is all.
func followed(node *yaml.Node) *yaml.Node {
	if node.Kind != yaml.AliasNode {
		return node
	}
	one := *node.Alias
	one.Line, one.Column = node.Line, node.Column
	return &one
}

// unsupported is what of YAML a file of create cannot have; "" if a node has none of it.
func unsupported(node *yaml.Node) string {
	switch tag := node.ShortTag(); {
	case tag == "!!merge":
		return "a merge (<<) is not supported: what all sales share stands above their list, and an alias stands for one value or one sale"
	case node.Style&yaml.TaggedStyle != 0 && (tag == "!!binary" || !strings.HasPrefix(tag, "!!")):
		return "the tag " + tag + " is not supported: write the value itself"
	}
	return ""
}

func (f saleFile) refuse(at *yaml.Node, format string, args ...any) error {
	return cli.Usagef("%s, line %d: %s", f.name, at.Line, fmt.Sprintf(format, args...))
}

// members are the values of a sale's members, and of the further ones if they are given.
func (f saleFile) members(node *yaml.Node, further ...string) (map[string]*yaml.Node, error) {
	node = followed(node)
	if node.Kind != yaml.MappingNode {
		return nil, f.refuse(node, "a sale must be written as members, such as `saleId: spring`")
	}
	known := slices.Concat([]string{saleMember}, requests.Takes("create"), further)
	members := map[string]*yaml.Node{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := followed(node.Content[i]), followed(node.Content[i+1])
		fault, at := unsupported(key), key
		if fault == "" {
			fault, at = unsupported(value), value
		}
		switch name := key.Value; {
		case fault != "":
			return nil, f.refuse(at, "%s", fault)
		case key.Kind != yaml.ScalarNode:
			return nil, f.refuse(key, "the name of a member must be a text")
		case !slices.Contains(known, name):
			meant := cli.DidYouMean(name, known)
			if meant == "" {
				meant = "; there are " + strings.Join(known, ", ")
			}
			return nil, f.refuse(key, "there is no member %q%s", name, meant)
		case members[name] != nil:
			return nil, f.refuse(key, "%s is given twice, first in line %d", name, members[name].Line)
		default:
			members[name] = value
		}
	}
	return members, nil
}

func (f saleFile) wanted(at *yaml.Node, members map[string]*yaml.Node) (w wanted, err error) {
	w.request = map[string]any{"action": "create"}
	about := "the sale"
	if id := members[saleMember]; id != nil && sale.ValidID(id.Value) {
		about = "sale " + id.Value
	}
	for _, name := range append([]string{saleMember}, requests.Takes("create")...) {
		if node := members[name]; node != nil {
			value, fault := valueOf(name, node)
			if fault != "" {
				return w, f.refuse(node, "%s: %s %s", about, name, fault)
			}
			w.request[name] = value
		}
	}
	raw, err := json.Marshal(w.request)
	if err != nil {
		return w, fmt.Errorf("write request: %w", err)
	}
	r, err := requests.Decode(raw)
	if err == nil {
		w.Creation, err = r.Creation()
	}
	if err == nil {
		err = w.CheckNew()
	}
	if refused, ok := errors.AsType[*sale.Error](err); ok {
		// The product's refusal of a member begins with its name.
		if node := members[strings.SplitN(refused.Detail, " ", 2)[0]]; node != nil {
			at = node
		}
		return w, f.refuse(at, "%s: %s", about, refused.Detail)
	}
	return w, err
}

// valueOf is a member's value in a request, or what is wrong with it. A text is what is written, whatever YAML takes it for: 42, on and
// 2026-11-11T12:00:00Z, too. What should be a number and is none is a text here, which the product refuses.
func valueOf(name string, node *yaml.Node) (value any, fault string) {
	unit, isWhole := wholes[name]
	switch {
	case node.Kind != yaml.ScalarNode:
		return nil, "must be one text or number"
	case node.ShortTag() == "!!null":
		return nil, "has no value: write one, or leave the member out"
	case !isWhole:
		return node.Value, ""
	case (node.ShortTag() == "!!int" || node.ShortTag() == "!!float") && json.Valid([]byte(node.Value)):
		return json.Number(node.Value), ""
	case unit == 0:
		return node.Value, ""
	}
	length, err := time.ParseDuration(node.Value)
	if err != nil || length%unit != 0 {
		return nil, fmt.Sprintf("is %q; it must be a whole number, or a time such as %v", node.Value, short(4*unit))
	}
	return json.Number(strconv.FormatInt(int64(length/unit), 10)), ""
}

// short is a length of time without the units that are 0, as far as they come last.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
