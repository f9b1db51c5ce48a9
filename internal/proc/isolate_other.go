//go:build !unix

package proc

import (
	"context"
	"syscall"
)

// isolation is how a program is kept apart: not at all.
type isolation struct {
	namespace bool // never: there is none
}

// onOwnThread calls work: no thread is special.
func onOwnThread(work func()) { work() }

func prepare(Command) (isolation, error) { return isolation{}, nil }

func (isolation) attributes() *syscall.SysProcAttr { return nil }

// kill ends the program.
func (p *process) kill() { _ = p.cmd.Process.Kill() } // an error says that it has ended

// Sweep finds nothing: what other processes have in their environments is not known.
func Sweep(context.Context, string) (int, error) { return 0, nil }
