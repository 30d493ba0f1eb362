// Package sql holds the strategies that keep stock and orders in a relational
// database: what is written between BEGIN and COMMIT, and what is not.
//
// The SQL is InnoDB's, at its default isolation, REPEATABLE READ. No other engine
// is used.
package sql

import "flashsale/infra/lab/shop"

// Specs are all strategies of the package.
func Specs() []shop.Spec {
	all := []shop.Spec{readThenWrite(), pessimistic(), optimistic(), conditional(), unique(), trap(), cure()}
	for i := range all {
		all[i].Family, all[i].Needs, all[i].Orders = "sql", []shop.Need{shop.MariaDB}, orders
		if all[i].Prepare == nil {
			all[i].Prepare = prepare
		}
	}
	return all
}
