// Package mutants guards the guards: a list of named ways to break the system,
// each of which some named test must catch. A mutant that survives means that a
// promise is no longer watched.
//
// A line in here knows a few lines of the code by heart. When one of them
// changes, the mutant must be brought along: an edit that no longer fits is a
// failure, not a pass.
package mutants
