//go:build unix

package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/delivery/workspace"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	take := func(t *testing.T) func() error {
		t.Helper()
		unlock, err := workspace.Lock(t.Context(), path)
		require.NoError(t, err)
		return unlock
	}
	t.Run("SC47 a lock that is released in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first := take(t)
			time.AfterFunc(time.Second, func() { assert.NoError(t, first()) })
			begun := time.Now()
			require.NoError(t, take(t)())
			assert.InDelta(t, 1, time.Since(begun).Seconds(), 0.1)
		})
	})
	t.Run("SC47 a child that is being started has the file, too", func(t *testing.T) {
		unlock := take(t)
		copied := 0
		for fd := range 1000 { // as a fork does
			if at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && at == path {
				copied, err = syscall.Dup(fd)
				require.NoError(t, err)
				break
			}
		}
		if copied == 0 {
			t.Skip("open files are not to be seen here")
		}
		require.NoError(t, unlock())
		require.NoError(t, take(t)())
		require.NoError(t, syscall.Close(copied))
	})
	t.Run("SC46 another process works on", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first := take(t)
			_, err := workspace.Lock(t.Context(), path)
			require.Error(t, err)
			require.NoError(t, first())
			require.NoError(t, take(t)())
		})
	})
	t.Run("SC46 a wait that is canceled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first := take(t)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			begun := time.Now()
			_, err := workspace.Lock(ctx, path)
			require.Error(t, err)
			assert.Zero(t, time.Since(begun))
			require.NoError(t, first())
		})
	})
}
