// Package engines runs the real servers that strategies store their sales in:
// Redis and MariaDB from the system's packages, dynoxide and the project's own
// stack. Each listens on a free port of 127.0.0.1, keeps its data in a folder of
// its own, can be killed and started again, and is stopped by its process id.
//
// A line in here knows programs, their arguments and how to tell that they
// serve. It knows no strategy. It installs nothing: what is missing is an error
// that names the command.
package engines
