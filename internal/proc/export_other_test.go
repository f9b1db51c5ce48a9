//go:build !linux

package proc

// Isolates reports whether the kernel lets us make PID namespaces.
func Isolates() bool { return false }
