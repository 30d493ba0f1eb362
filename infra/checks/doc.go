// Package checks guards the repository itself: who may import whom, what
// template.yaml must say (the rows of CHECKLIST.md), which permissions a
// function's code needs and which metrics it files, where things lie, and that
// the documents name things that exist.
//
// A line in here knows the repository's files and the rules of its design. It
// runs no part of the system. Each rule is a function that returns what it
// found, and brings along the edits that it must notice, so that a rule which
// has gone blind fails as well.
package checks
