// Package eventbus is Amazon EventBridge's PutEvents for one machine: it checks entries by
// EventBridge's limits and appends the events that it accepts to a file, one a line, in the
// form in which a rule's target gets them.
//
// It has no rules and no targets, and does not depend on what the events mean. As on AWS, an
// entry for a bus that does not exist is answered as accepted, and its event goes nowhere.
package eventbus
