//go:build unix

package main

import (
	"os"
	"syscall"
)

// pause stops a process as it is, and unpause continues it.
func pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func unpause(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
