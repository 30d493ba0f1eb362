package mutants

// survivors are the changes of an operator that no test of its package can
// notice, and why.
var survivors = map[string]string{}
