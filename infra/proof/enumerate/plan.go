package enumerate

// plan walks depth-first through every sequence of choices in the runs of a
// deterministic scenario. Later choices and their options may depend on earlier ones
// and need not be known in advance.
type plan struct {
	path []branch
	at   int
	// nondeterministic: a run had other choices than the previous one under the same plan, so the
	// scenario is not deterministic and the walk proves nothing.
	nondeterministic bool
}

type branch struct{ taken, options int }

// choose returns this run's option, 0…options-1. The first run takes 0
// everywhere.
func (p *plan) choose(options int) int {
	if options < 2 {
		return 0
	}
	if p.at == len(p.path) {
		p.path = append(p.path, branch{0, options})
	}
	b := p.path[p.at]
	p.at++
	if b.options != options {
		p.nondeterministic = true
		return 0
	}
	return b.taken
}

// next advances to the next run, or reports that there is none.
func (p *plan) next() bool {
	p.nondeterministic = p.nondeterministic || p.at < len(p.path)
	p.path, p.at = p.path[:p.at], 0
	for i := len(p.path) - 1; i >= 0; i-- {
		if p.path[i].taken++; p.path[i].taken < p.path[i].options {
			p.path = p.path[:i+1]
			return true
		}
	}
	return false
}
