package safepath

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes path and all below it, also folders without write permission, such as
// Go's module cache. A missing path is no error.
func RemoveAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	Unlock(path)
	return os.RemoveAll(path)
}

// Unlock gives the owner all permissions of the folders at and below path, as far as it
// can. It follows no links. Whoever needs a folder that stays locked gets the error.
func Unlock(path string) {
	_ = filepath.WalkDir(path, func(inner string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if info, err := d.Info(); err == nil {
				_ = os.Chmod(inner, info.Mode().Perm()|0o700)
			}
		}
		return nil
	})
}
