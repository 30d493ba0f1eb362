package enumerate

import (
	"slices"
	"testing"
)

func TestAPlanWalksThroughEverySequenceOfChoicesOnce(t *testing.T) {
	var p plan
	var got []string
	for {
		// A second choice exists only behind the first one's options 1 and 2.
		run := string(rune('a' + p.choose(3)))
		if run != "a" {
			run += string(rune('x' + p.choose(2)))
		}
		p.choose(1)
		got = append(got, run)
		if !p.next() {
			break
		}
	}
	if want := []string{"a", "bx", "by", "cx", "cy"}; !slices.Equal(got, want) {
		t.Errorf("walked %v, want %v", got, want)
	}
}

func TestAPlanNoticesARunThatIsNotDeterministic(t *testing.T) {
	var p plan
	p.choose(2)
	p.choose(3)
	if !p.next() || p.nondeterministic {
		t.Fatalf("after one run: %+v", p)
	}
	p.choose(2)
	if p.choose(4); !p.nondeterministic {
		t.Error("other options than before were not noticed")
	}
	p = plan{}
	p.choose(2)
	p.choose(3)
	p.next()
	p.choose(2)
	if p.next(); !p.nondeterministic {
		t.Error("a run that ended early was not noticed")
	}
}
