package template

import "slices"

func (r *reader) tables() []Table {
	all := r.ofType(typeTable)
	if r.o.TableName != "" && len(all) > 1 {
		r.fail(all[1].key, all[1].id, "one name was given for the template's table, but it has %d", len(all))
		return nil
	}
	var out []Table
	names := map[string]string{}
	for _, res := range all {
		t := r.table(res)
		if other, taken := names[t.Name]; taken {
			r.fail(res.key, res.id, "has the same name as %s", other)
		}
		names[t.Name] = res.id
		out = append(out, t)
	}
	return out
}

func (r *reader) table(res *resource) Table {
	p := res.props
	// Capacity, protection, backups and encryption have no local counterpart,
	// and a time to live never deletes here. Indexes would change answers.
	p.only(
		[]string{"TableName", "AttributeDefinitions", "KeySchema", "StreamSpecification"},
		[]string{
			"BillingMode", "ContributorInsightsSpecification", "DeletionProtectionEnabled", "OnDemandThroughput",
			"PointInTimeRecoverySpecification", "ProvisionedThroughput", "ResourcePolicy", "SSESpecification",
			"TableClass", "Tags", "TimeToLiveSpecification", "WarmThroughput",
		})
	t := Table{LogicalID: res.id, Name: r.tableName(res.key, res.id, res)}
	if p.absent() {
		r.fail(res.key, res.id, "a table needs KeySchema and AttributeDefinitions")
		return t
	}
	defined := map[string]bool{}
	for _, v := range p.need("AttributeDefinitions").list() {
		a := Attribute{Name: v.need("AttributeName").text(""), Type: v.need("AttributeType").text("")}
		if r.err == nil && !slices.Contains([]string{"S", "N", "B"}, a.Type) {
			v.get("AttributeType").fail("must be S, N or B")
		}
		defined[a.Name] = true
		t.AttributeDefinitions = append(t.AttributeDefinitions, a)
	}
	schema := p.need("KeySchema")
	for i, v := range schema.list() {
		k := Key{Name: v.need("AttributeName").text(""), Type: v.need("KeyType").text("")}
		if want := []string{"HASH", "RANGE"}; r.err == nil && (i > 1 || k.Type != want[i]) {
			v.fail("a key is a HASH element, then at most one RANGE element")
		}
		if !defined[k.Name] {
			v.fail("key attribute %q is not in AttributeDefinitions", k.Name)
		}
		t.KeySchema = append(t.KeySchema, k)
	}
	if len(t.KeySchema) == 0 {
		schema.fail("a key needs a HASH element")
	}
	if stream := p.get("StreamSpecification"); !stream.absent() {
		stream.only([]string{"StreamViewType"}, []string{"ResourcePolicy"})
		t.StreamView = stream.need("StreamViewType").text("")
		if !slices.Contains([]string{"KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"}, t.StreamView) {
			stream.get("StreamViewType").fail("is not a stream's view type")
		}
	}
	return t
}
