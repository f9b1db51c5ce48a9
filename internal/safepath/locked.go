package safepath

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll is os.RemoveAll also for what has folders without permissions, such as Go's
// cache of modules.
func RemoveAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	Unlock(path)
	return os.RemoveAll(path)
}

// Unlock gives the owner of the folders at and below path every permission for them, as far
// as it can. It follows no links.
func Unlock(path string) {
	_ = filepath.WalkDir(path, func(inner string, d fs.DirEntry, err error) error { // what stays inaccessible is an error of who needs it
		if err == nil && d.IsDir() {
			if info, err := d.Info(); err == nil {
				_ = os.Chmod(inner, info.Mode().Perm()|0o700)
			}
		}
		return nil
	})
}
