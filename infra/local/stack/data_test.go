package stack

import (
	"strings"
	"testing"
)

func TestASecondStackOnTheSameDataIsRefused(t *testing.T) {
	data := t.TempDir()
	first, second := &Stack{o: Options{Data: data}}, &Stack{o: Options{Data: data}}
	if err := first.openData(); err != nil {
		t.Fatal(err)
	}
	if err := second.openData(); err == nil || !strings.Contains(err.Error(), "another stack runs on the data in "+data) {
		t.Errorf("the second one got %v", err)
	}
	for _, stop := range first.closers {
		_ = stop()
	}
	if err := second.openData(); err != nil {
		t.Errorf("after the end of the first one: %v", err)
	}
}
