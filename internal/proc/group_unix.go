//go:build unix

package proc

import "syscall"

// kill ends the program and its group; the kernel ends the rest of its namespace.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // an error says that no process is left
}
