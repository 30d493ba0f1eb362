package dynamotest

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table describes a table. Both keys are strings; a table without SK has a
// partition key only.
type Table struct {
	Name string
	PK   string
	SK   string
}

// key is the place of an item in its table.
type key struct{ pk, sk string }

// String is the key as Call.Keys spells it.
func (k key) String() string {
	if k.sk == "" {
		return k.pk
	}
	return k.pk + "|" + k.sk
}

// row is one item and what it was before. A deleted item leaves its row, so that a
// lagging read may still see it.
type row struct {
	version
	past []version // oldest first: the last one, and those within DB.Lag
	// shownAt is when plain reads see the last write: later than the write itself
	// for one half of a transaction.
	shownAt time.Time
}

// version is an item as it is, or was until an instant. Its size is counted once.
type version struct {
	item  item // nil for none
	size  int
	until time.Time
}

func versionOf(it item) version { return version{item: it, size: it.size()} }

// before is the item before its last write.
func (r row) before() version {
	if len(r.past) == 0 {
		return version{}
	}
	return r.past[len(r.past)-1]
}

// partition is all items of one partition key, with the sort keys in order.
type partition struct {
	rows  map[string]row
	order []string
}

// table is a table's contents, guarded by DB.mu; the description never changes.
type table struct {
	Table
	partitions map[string]*partition
}

// view says which version of a row a read sees.
type view struct {
	now        time.Time
	latest     bool // whatever is hidden from plain reads
	consistent bool
	stale      bool          // one version behind, whatever the time
	torn       time.Duration // the state of so long ago, or a later one, even if consistent
	lag        time.Duration // the state of so long ago
}

func (v view) of(r row) version {
	switch {
	case v.latest:
		return r.version
	case v.now.Before(r.shownAt), !v.consistent && v.stale:
		return r.before()
	case v.torn > 0 && v.now.Add(-v.torn).Before(r.before().until):
		return r.before()
	case v.consistent:
		return r.version
	}
	at := v.now.Add(-v.lag)
	for _, p := range r.past {
		if at.Before(p.until) {
			return p
		}
	}
	return r.version
}

// get is what a read sees of an item.
func (t *table) get(k key, v view) version {
	p := t.partitions[k.pk]
	if p == nil {
		return version{}
	}
	return v.of(p.rows[k.sk])
}

// current is the item as it is.
func (t *table) current(k key) version { return t.get(k, view{latest: true}) }

// hide keeps the last write of an item from plain reads until that instant.
func (t *table) hide(k key, until time.Time) {
	if p := t.partitions[k.pk]; p != nil {
		r := p.rows[k.sk]
		r.shownAt = until
		p.rows[k.sk] = r
	}
}

// put stores an item, or deletes it if it is nil. Older versions are kept for as
// long as a read may lag.
func (t *table) put(k key, it version, now time.Time, lag time.Duration) {
	p := t.partitions[k.pk]
	if p == nil {
		if it.item == nil {
			return
		}
		p = &partition{rows: map[string]row{}}
		t.partitions[k.pk] = p
	}
	r, known := p.rows[k.sk]
	if !known {
		if it.item == nil {
			return
		}
		at, _ := slices.BinarySearch(p.order, k.sk)
		p.order = slices.Insert(p.order, at, k.sk)
	}
	r.until = now
	past := []version{r.version}
	if lag > 0 {
		old := slices.DeleteFunc(slices.Clone(r.past), func(v version) bool { return now.Sub(v.until) >= lag })
		past = append(old, past...)
	}
	p.rows[k.sk] = row{version: it, past: past}
}

// copied is an independent copy; items are shared because they never change.
func (t *table) copied() *table {
	out := &table{Table: t.Table, partitions: make(map[string]*partition, len(t.partitions))}
	for pk, p := range t.partitions {
		out.partitions[pk] = &partition{rows: maps.Clone(p.rows), order: slices.Clone(p.order)}
	}
	return out
}

// items are the table's current items, by partition key, then sort key.
func (t *table) items() []item {
	var out []item
	for _, pk := range slices.Sorted(maps.Keys(t.partitions)) {
		p := t.partitions[pk]
		for _, sk := range p.order {
			if it := p.rows[sk].item; it != nil {
				out = append(out, it)
			}
		}
	}
	return out
}

// scanOrder orders partition keys by a hash, as DynamoDB does, so that nobody
// comes to rely on a sorted scan.
func scanOrder(a, b string) int { return cmp.Or(cmp.Compare(hash(a), hash(b)), cmp.Compare(a, b)) }

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// keyItem is the key as attributes.
func (t *table) keyItem(k key) item {
	out := item{t.PK: &types.AttributeValueMemberS{Value: k.pk}}
	if t.SK != "" {
		out[t.SK] = &types.AttributeValueMemberS{Value: k.sk}
	}
	return out
}

// isKey reports whether the attribute is part of the key.
func (t *table) isKey(name string) bool { return name == t.PK || t.SK != "" && name == t.SK }

// keyOf reads a Key parameter: exactly the key attributes.
func (t *table) keyOf(attributes map[string]types.AttributeValue) (key, error) {
	k, err := t.keyIn(attributes)
	if err == nil && (len(attributes) > 2 || len(attributes) == 2 && t.SK == "") {
		err = validation("The provided key element does not match the schema")
	}
	return k, err
}

// keyIn reads the key out of a whole item.
func (t *table) keyIn(attributes map[string]types.AttributeValue) (key, error) {
	pk, err := keyPart(attributes, t.PK)
	if err != nil || t.SK == "" {
		return key{pk: pk}, err
	}
	sk, err := keyPart(attributes, t.SK)
	return key{pk, sk}, err
}

func keyPart(attributes map[string]types.AttributeValue, name string) (string, error) {
	v := attributes[name]
	if v == nil {
		return "", validation("One or more parameter values were invalid: Missing the key %s in the item", name)
	}
	text, ok := stringOf(v)
	if !ok {
		return "", validation("One or more parameter values were invalid: Type mismatch for key %s expected: S actual: %s", name, typeOf(v))
	}
	if text == "" {
		return "", validation("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", name)
	}
	return text, nil
}
