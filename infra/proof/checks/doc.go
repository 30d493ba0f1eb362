// Package checks checks the repository itself: which packages may import which, what
// template.yaml must contain (the rows of CHECKLIST.md), which permissions a function's
// code needs and which metrics it emits, the layout, and that the documents name things
// that exist.
//
// It reads the repository's files; of the system it runs only the ledger's suite, over
// the fake DynamoDB. Each rule is a function that returns its findings, and lists edits
// that it must find, so that a rule that no longer finds anything fails, too.
package checks
