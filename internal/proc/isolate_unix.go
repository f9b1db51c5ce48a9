//go:build unix && !linux

package proc

import "syscall"

// isolation is how a program is kept apart: by a group of processes.
type isolation struct {
	namespace bool // never: there is none
}

// onOwnThread calls work: no thread is special.
func onOwnThread(work func()) { work() }

func prepare(Command) (isolation, error) { return isolation{}, nil }

func (isolation) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
