// Package child starts a program as a child process which cannot outlive this one, and
// forwards its output line by line. A Program is a server that can be restarted;
// Children lists the children of a process.
//
// It handles processes, signals, ports and pipes, whatever the program does.
package child
