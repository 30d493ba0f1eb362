// Package catalogue lists every strategy of the lab and the verdict that is
// expected of it in every scenario.
//
// There is one file of verdicts per family. Tests compare them with what is
// measured: the unsafe strategies really fail, the safe ones never do.
package catalogue
