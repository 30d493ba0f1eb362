package books

import "testing"

func TestATableThatWasRestoredInPartBalancesOnceItIsReplayed(t *testing.T) {
	w := newWorld(t)
	w.RestoredInPart(func(about string) {
		if r := w.balanced(); len(r.Unfinished) > 0 {
			t.Errorf("%s: %q", about, r.Unfinished)
		}
	})
}
