// Package child starts a program as a child process which cannot outlive this
// one, and hands on what it prints, line by line. A Program is one that serves and can be
// started again; Children lists what a process has started.
//
// It knows processes, signals, ports and pipes, not what the program is for.
package child
