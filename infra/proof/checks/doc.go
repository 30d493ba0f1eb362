// Package checks checks what the compiler does not see and AWS, a user or an attacker would punish: which
// permissions a function's code needs, what the templates must contain, which metrics an alarm reads, which
// packages may import which, and what reaches a program through make.
//
// It reads the repository's files; of the system it runs only the ledger's suite, over
// the fake DynamoDB.
package checks
