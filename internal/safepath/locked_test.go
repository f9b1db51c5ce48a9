package safepath_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/safepath"
)

func TestRemoveAll(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	require.NoError(t, os.Mkdir(outside, 0o500))
	top := filepath.Join(dir, "top")
	inner := filepath.Join(top, "a", "b")
	require.NoError(t, os.MkdirAll(inner, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(inner, "x"), nil, 0o400))
	require.NoError(t, os.Symlink(outside, filepath.Join(inner, "link")))
	require.NoError(t, os.Chmod(inner, 0o055))
	require.NoError(t, os.Chmod(filepath.Dir(inner), 0))

	safepath.Unlock(top)
	for path, want := range map[string]os.FileMode{inner: 0o755, filepath.Dir(inner): 0o700, outside: 0o500} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), path)
	}
	require.NoError(t, os.Chmod(inner, 0))
	require.NoError(t, safepath.RemoveAll(top))
	assert.NoDirExists(t, top)
	require.NoError(t, safepath.RemoveAll(top), "a missing one is no error")
	require.NoError(t, os.Chmod(outside, 0o700)) //nolint:gosec // a folder
}
