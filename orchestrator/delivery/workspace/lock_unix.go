//go:build unix

package workspace

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockWait is how long to wait for a lock. A process that was killed while it started a
// child keeps its locks for a moment, until the child has started or ended.
const lockWait = 2 * time.Second

// lock acquires the lock of a file, which ends with the process at the latest, and
// returns its release. The error is ErrInUse if another process holds it.
func lock(ctx context.Context, path string) (func() error, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	tick := time.NewTicker(lockWait / 100) //nolint:forbidigo // opening a workspace is no part of a flow
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(ErrInUse, f.Close())
		}
	}
	return func() error { // unlock before Close: a child process may have f open, too
		return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
	}, nil
}
