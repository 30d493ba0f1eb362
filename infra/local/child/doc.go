// Package child starts a program as a child process which cannot outlive this
// one, and hands on what it prints, line by line.
//
// It knows processes, signals and pipes, not what the program is for.
package child
