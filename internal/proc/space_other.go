//go:build !linux && !darwin

package proc

// room cannot tell how much is free.
func room(string) (free uint64, known bool) { return 0, false }
