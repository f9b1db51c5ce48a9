package proc

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
)

// isolation is how a program is kept apart.
type isolation struct {
	namespace bool // a PID namespace is tried
}

// onOwnThread calls work on a thread that ends with the calling goroutine: a program
// dies with the thread that started it, and inherits what the thread may write. It is
// never the first thread of the process: that one never ends, and /proc shows it as the
// process, where the program could read a thread with its own restrictions.
func onOwnThread(work func()) {
	runtime.LockOSThread() // not unlocked again
	if syscall.Gettid() != os.Getpid() {
		work()
		return
	}
	var other sync.WaitGroup // on another thread, as long as this one is locked
	other.Go(func() {
		runtime.LockOSThread()
		work()
	})
	other.Wait()
	runtime.UnlockOSThread()
}

// kept are the capabilities that a program of root keeps: to use files of others, to
// become another user, and to listen on low ports.
var kept = []uintptr{0, 1, 3, 4, 5, 6, 7, 10} // chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service

// prepare restricts what the thread of the calling goroutine hands on to c.
func prepare(c Command) (isolation, error) {
	const dropCapability = 24
	for capability := range uintptr(64) {
		if !slices.Contains(kept, capability) { // fails for one that does not exist, and where we have none
			_, _, _ = syscall.Syscall6(syscall.SYS_PRCTL, dropCapability, capability, 0, 0, 0, 0)
		}
	}
	if c.Processes > 0 { // so that watch runs before the processes that it counts
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 10); err != nil {
			return isolation{}, fmt.Errorf("lower the priority: %w", err)
		}
	}
	if len(c.Writable) > 0 {
		if err := restrictWrites(c.Writable); err != nil {
			return isolation{}, fmt.Errorf("limit writes: %w", err)
		}
	}
	return isolation{namespace: true}, nil
}

func (i isolation) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if !i.namespace {
		return attr
	}
	attr.Cloneflags = syscall.CLONE_NEWPID
	if uid := os.Geteuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	return attr
}
