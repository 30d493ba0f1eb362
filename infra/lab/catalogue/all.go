package catalogue

import (
	"slices"

	"flashsale/infra/lab/cache"
	"flashsale/infra/lab/inprocess"
	"flashsale/infra/lab/ours"
	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/split"
	"flashsale/infra/lab/sql"
)

// All are the lab's strategies, in the order of its table.
func All() []shop.Spec {
	return slices.Concat(inprocess.Specs(), sql.Specs(), cache.Specs(), split.Specs(), ours.Specs())
}

// Find is the strategy of that name.
func Find(name string) (shop.Spec, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s shop.Spec) bool { return s.Name == name })
	if i < 0 {
		return shop.Spec{}, false
	}
	return all[i], true
}
