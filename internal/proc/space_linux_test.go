package proc_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/proc"
)

// disk is a folder on a disk of 4 MiB.
func disk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("this process may not mount a small disk: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

func TestNoSpace(t *testing.T) {
	small := disk(t)
	for _, tt := range []struct {
		name, script string
		writable     bool
		full         bool
	}{
		{"fails, and has removed what it wrote", "head -c 5000000 /dev/zero >big; code=$?; rm big; exit $code", false, true},
		{"fails without a word, and leaves no room", "head -c 5000000 /dev/zero >big 2>/dev/null; exit 1", true, true},
		{"fails for another reason", "echo wrong >&2; exit 1", true, false},
		{"ends well on a full disk", "head -c 5000000 /dev/zero >big; exit 0", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := sh(t, tt.script)
			if c.Dir = small; tt.writable {
				c.Writable = []string{small}
			}
			res, err := proc.Run(t.Context(), c)
			assert.Equal(t, proc.Exited, res.End)
			if tt.full {
				require.ErrorIs(t, err, proc.ErrNoSpace)
				require.ErrorContains(t, err, small)
			} else {
				require.NoError(t, err)
			}
			require.NoError(t, os.RemoveAll(filepath.Join(small, "big")))
		})
	}
	t.Run("nothing can be written beside where it runs", func(t *testing.T) {
		c := sh(t, "head -c 5000000 /dev/zero >"+small+"/big; code=$?; rm "+small+"/big; exit $code")
		c.Writable = []string{c.Dir, small}
		_, err := proc.Run(t.Context(), c)
		require.ErrorIs(t, err, proc.ErrNoSpace)
	})
}

func TestWordsOfAFullDisk(t *testing.T) {
	_, err := proc.Run(t.Context(), sh(t, "echo 'write: Disk quota exceeded'; exit 1"))
	require.ErrorIs(t, err, proc.ErrNoSpace)
	run(t, sh(t, "echo 'write: Disk quota exceeded'"))

	c := sh(t, "echo 'want the error: no space left on device'; exit 1")
	var free syscall.Statfs_t
	require.NoError(t, syscall.Statfs(c.Dir, &free))
	if free.Bavail*uint64(free.Bsize) < 2<<30 { //nolint:gosec // a size
		t.Skip("this disk is nearly full")
	}
	assert.Equal(t, 1, run(t, c).Code, "there is room: it is what a test says")
}
