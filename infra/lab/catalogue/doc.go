// Package catalogue lists every strategy of the lab and the verdict that is
// expected of it in every scenario.
//
// A line in here names strategies and verdicts, one file of verdicts per family.
// Tests hold what is measured against it: the unsafe ones really fail, the safe
// ones never do.
package catalogue
