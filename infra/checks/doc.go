// Package checks guards the repository itself: who may import whom, what
// template.yaml must say (the rows of CHECKLIST.md), which permissions a
// function's code needs and which metrics it files, where things lie, and that
// the documents name things that exist.
//
// It reads the repository's files and runs no part of the system. Each rule is a
// function that returns its findings, and lists edits that it must find, so that
// a rule which no longer finds anything fails as well.
package checks
