//go:build !linux

package proc

import "context"

// watch counts nothing: the processes of a program are not known.
func watch(Command, context.CancelCauseFunc) func(*process) func() {
	return func(*process) func() { return func() {} }
}
