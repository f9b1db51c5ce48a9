//go:build unix

package workspace

// Lock takes the lock of a file.
var Lock = lock
