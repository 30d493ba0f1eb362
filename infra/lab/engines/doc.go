// Package engines runs the real servers that strategies store their sales in:
// Redis and MariaDB from the system's packages, dynoxide and the project's own
// stack. Each listens on a free port of 127.0.0.1, keeps its data in a folder of
// its own, can be killed and started again, and is stopped by its process id.
//
// It contains nothing of the strategies and installs nothing: a missing program
// is an error that names the command to install it.
package engines
