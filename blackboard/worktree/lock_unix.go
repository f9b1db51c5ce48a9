//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package worktree

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// lock waits until no other process holds the file, and holds it until release is called
// or this process ends.
func lock(ctx context.Context, path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() {
				_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // a child just forked may have the descriptor, too
				_ = f.Close()
			}, nil
		}
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			err = pause(ctx)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}
