//go:build unix

package proc

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// sweeps is how often Sweep looks again: processes may start others meanwhile.
const sweeps = 50

// Sweep kills every process of this user that has the mark in its environment, and
// returns how many: processes that [Run] started with [Command.Mark] in a process that
// was killed. It must not run while a Run with the same mark does. A process that has
// overwritten its environment is not found.
func Sweep(ctx context.Context, mark string) (int, error) {
	if mark == "" {
		return 0, nil
	}
	killed := map[int]bool{}
	for range sweeps {
		found, err := marked(ctx, markName+"="+mark)
		if err != nil {
			return len(killed), fmt.Errorf("look for processes: %w", err)
		}
		if len(found) == 0 {
			return len(killed), nil
		}
		for _, pid := range found {
			if pid != os.Getpid() && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed[pid] = true
			}
		}
		select {
		case <-ctx.Done():
			return len(killed), context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return len(killed), fmt.Errorf("processes with the mark %q start others faster than they can be killed", mark)
}
