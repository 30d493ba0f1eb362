package faults

import "testing"

func TestAnItemIsKnownByItsKeyHoweverItIsNamed(t *testing.T) {
	keys := []string{"pk", "sk"}
	put := readCall(dynamoPrefix+"PutItem", []byte(`{"TableName":"T","Item":{"more":{"N":"1"},"sk":{"S":"b"},"pk":{"S":"a"}}}`), keys)
	update := readCall(dynamoPrefix+"UpdateItem", []byte(`{"Key":{"pk":{"S":"\u0061"}, "sk":{"S":"b"}},"TableName":"T"}`), keys)
	if len(put.items) != 1 || len(update.items) != 1 || put.items[0] != update.items[0] || put.items[0] == "" {
		t.Errorf("got %q and %q", put.items, update.items)
	}
	for _, other := range []string{
		`{"TableName":"T2","Key":{"pk":{"S":"a"},"sk":{"S":"b"}}}`, `{"TableName":"T","Key":{"pk":{"S":"a"}}}`,
		`{"TableName":"T","Key":{"pk":{"S":"b"},"sk":{"S":"a"}}}`, `{"TableName":"T","Key":{"pk":{"N":"1"},"sk":{"S":"b"}}}`,
	} {
		if c := readCall(dynamoPrefix+"UpdateItem", []byte(other), keys); len(c.items) != 1 || c.items[0] == update.items[0] {
			t.Errorf("%s is %q", other, c.items)
		}
	}
}

func TestAStatementWritesTheItemOfItsKey(t *testing.T) {
	keys := []string{"pk", "sk"}
	key := `{"S":"a"},{"S":"b"}`
	update := readCall(dynamoPrefix+"UpdateItem", []byte(`{"Key":{"pk":{"S":"a"},"sk":{"S":"b"}},"TableName":"T"}`), keys)
	c := readCall(dynamoPrefix+"BatchExecuteStatement", []byte(`{"Statements":[
		{"Statement":"UPDATE \"T\" SET orderId = ? WHERE pk = ? AND sk = ? AND x = ? AND orderId IS MISSING","Parameters":[{"N":"1"},`+key+`,{"S":"x"}]},
		{"Statement":"INSERT INTO \"T\" VALUE {'pk': ?, 'sk': ?, 'x': ?}","Parameters":[`+key+`,{"S":"x"}]},
		{"Statement":"DELETE FROM T WHERE sk=? AND pk=?","Parameters":[{"S":"b"},{"S":"a"}]},
		{"Statement":"UPDATE \"T2\" SET x = ? WHERE pk = ? AND sk = ?","Parameters":[{"N":"1"},`+key+`]}]}`), keys)
	if c.class != statements || len(c.items) != 4 {
		t.Fatalf("got %+v", c)
	}
	for i, item := range c.items {
		if same := item == update.items[0]; same != (i < 3) {
			t.Errorf("statement %d writes %q, the update %q", i, item, update.items[0])
		}
	}
	reads := readCall(dynamoPrefix+"BatchExecuteStatement", []byte(`{"Statements":[{"Statement":"SELECT * FROM T WHERE pk = ?","Parameters":[{"S":"a"}]}]}`), keys)
	if reads.writes() {
		t.Errorf("reading statements are %+v", reads)
	}
}
