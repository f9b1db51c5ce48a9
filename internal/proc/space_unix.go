//go:build linux || darwin

package proc

import (
	"os"
	"syscall"
)

// room is how many bytes a file on the disk of path can grow, if that can be told. Where no
// file can be made any more there is none.
func room(path string) (free uint64, known bool) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return 0, false
	}
	if disk.Files > 0 && disk.Ffree == 0 {
		return 0, true
	}
	blocks := disk.Bavail
	if os.Geteuid() == 0 {
		blocks = disk.Bfree
	}
	return blocks * uint64(disk.Bsize), true
}
