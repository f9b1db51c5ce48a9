package proc

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// The system calls of Landlock have these numbers on all architectures that Go and
// Linux share, except mips, where they are refused.
const (
	sysCreateRuleset = 444
	sysAddRule       = 445
	sysRestrictSelf  = 446
	prSetNoNewPrivs  = 38
)

// The rights of Landlock that change something.
const (
	writeFile = 1 << 1
	truncate  = 1 << 14 // from version 3 on

	changeTree = writeFile | 1<<4 | 1<<5 | // remove folders and files
		1<<6 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12 // make devices, folders, files, sockets, pipes, links
	refer = 1 << 13 // move between folders, from version 2 on
)

// devices may be written although they are not below writable.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty"}

// restrictWrites makes the calling thread, and all that it starts, unable to change files
// that are not below writable. It does nothing on a kernel without Landlock.
func restrictWrites(writable []string) error {
	version, _, errno := syscall.Syscall(sysCreateRuleset, 0, 0, 1)
	if errno != 0 {
		return nil
	}
	files, trees := uint64(writeFile), uint64(changeTree)
	if version >= 2 {
		trees |= refer
	}
	if version >= 3 {
		files, trees = files|truncate, trees|truncate
	}
	handled := trees // the kernel reads a struct whose first field is this
	rules, _, errno := syscall.Syscall(sysCreateRuleset, uintptr(unsafe.Pointer(&handled)), unsafe.Sizeof(handled), 0)
	if errno != 0 {
		return fmt.Errorf("make rules of Landlock: %w", errno)
	}
	defer func() { _ = syscall.Close(int(rules)) }()
	for _, path := range writable {
		if err := allow(rules, path, files, trees); err != nil {
			return err
		}
	}
	optional := devices
	if os.Geteuid() != 0 {
		optional = append([]string{"/proc"}, devices...) // the map of users of the new namespace is written there
	}
	for _, path := range optional {
		if err := allow(rules, path, files, trees); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("give up new privileges: %w", errno)
	}
	if _, _, errno := syscall.Syscall(sysRestrictSelf, rules, 0, 0); errno != 0 {
		return fmt.Errorf("apply rules of Landlock: %w", errno)
	}
	return nil
}

// allow adds a rule for path: files for a file, trees for a folder.
func allow(rules uintptr, path string, files, trees uint64) error {
	const oPath = 0x200000 // O_PATH: names the file, opens nothing
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = syscall.Close(fd) }()
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	rights := files
	if stat.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		rights = trees
	}
	rule := pathRule(rights, fd)
	const beneath = 1
	if _, _, errno := syscall.Syscall6(sysAddRule, rules, beneath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allow writes to %s: %w", path, errno)
	}
	return nil
}

// pathRule is the kernel's packed struct of the rights and the folder.
func pathRule(rights uint64, fd int) (rule [12]byte) {
	*(*uint64)(unsafe.Pointer(&rule[0])) = rights
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(fd)
	return rule
}
