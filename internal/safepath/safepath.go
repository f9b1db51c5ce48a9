// Package safepath checks and repairs paths and names that a model wrote. The results stay
// inside a folder and outside of git's data there. They are safe as names of files and
// branches on every system.
package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrUnsafePath says that a path leaves its folder, leads into git's data, or names no file
// on some system.
var ErrUnsafePath = errors.New("unsafe path")

// Clean returns p in its shortest form, with slashes, relative to its folder. A leading
// slash means that folder. The error wraps ErrUnsafePath. These are errors:
//
//   - p is empty, the folder itself, or leads out of it by "..".
//   - p has more than 1024 bytes, or is not UTF-8.
//   - A component is ".git" on some file system.
//   - p means something else on some system: it has a backslash, a colon, a device, an
//     invisible character, or a component that ends in a dot or a space.
func Clean(p string) (string, error) {
	unsafe := func(why string) (string, error) { return "", fmt.Errorf("%w %q: %s", ErrUnsafePath, p, why) }
	if !utf8.ValidString(p) {
		return unsafe("it is not UTF-8")
	}
	if len(p) > longest {
		p = strings.ToValidUTF8(p[:64], "") + "…"
		return unsafe(fmt.Sprintf("it has more than %d bytes", longest))
	}
	if strings.ContainsFunc(p, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }) {
		return unsafe("it has an invisible character")
	}
	if i := strings.IndexAny(p, `\:`); i >= 0 {
		return unsafe(fmt.Sprintf("it has a %q", p[i]))
	}
	clean := path.Clean(strings.TrimLeft(p, "/"))
	switch {
	case clean == ".":
		return unsafe("it names no file")
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return unsafe("it leads out of its folder")
	}
	for component := range strings.SplitSeq(clean, "/") {
		if why := refuse(component); why != "" {
			return unsafe(why)
		}
	}
	return clean, nil
}

// longest is the limit of a path in bytes. With its folder, a path may have 4096 on most
// systems and in git.
const longest = 1024

// device matches a name that Windows takes for a device, with or without an extension.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)`)

// refuse returns the reason why a path may not have the component; "": it may.
func refuse(component string) string {
	switch lower := strings.ToLower(component); {
	case strings.TrimRight(component, ". ") != component:
		return fmt.Sprintf("%q ends in a dot or a space", component)
	case lower == ".git", lower == "git~1":
		return fmt.Sprintf("%q belongs to git", component)
	case device.MatchString(component):
		return fmt.Sprintf("%q is a device on some systems", component)
	}
	return ""
}

// In returns [Clean] of p, and checks p in the folder root, which must exist. A path that
// leads out of root or into git's data through a symbolic link is ErrUnsafePath, too. A
// path that does not exist yet is no error. Other errors come from the file system.
//
// Write and Remove stay in root even if links change meanwhile.
func In(root, p string) (string, error) {
	clean, err := Clean(p)
	if err != nil {
		return "", err
	}
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", fmt.Errorf("look at the folder: %w", err)
	}
	for at := clean; at != "."; at = path.Dir(at) {
		full := filepath.Join(base, filepath.FromSlash(at))
		real, err := filepath.EvalSymlinks(full)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Lstat(full); err == nil {
				return "", fmt.Errorf("%w %q: %q is a link that leads nowhere", ErrUnsafePath, p, at)
			}
			continue // the folder above may exist
		}
		if err != nil {
			return "", fmt.Errorf("look at %q: %w", at, err)
		}
		rel, err := filepath.Rel(base, real)
		if err == nil && rel != "." {
			_, err = Clean(filepath.ToSlash(rel))
		}
		if err != nil {
			return "", fmt.Errorf("%w %q: %q is a link that leads out of its folder or into a repository", ErrUnsafePath, p, at)
		}
		break
	}
	return clean, nil
}

// Write writes a file in the folder root, and makes the folders above it. A new file has
// the permissions 0644; an existing one keeps its own. Errors are those of [In] and of the
// file system.
func Write(root, p string, data []byte) error {
	return inside(root, p, func(r *os.Root, clean string) error {
		if err := r.MkdirAll(path.Dir(clean), 0o755); err != nil {
			return err
		}
		return r.WriteFile(clean, data, 0o644)
	})
}

// Remove removes a file or a symbolic link in the folder root, then the folders above it
// that are empty. A missing file is no error; a folder that is not empty is one. Errors
// are those of [In] and of the file system.
func Remove(root, p string) error {
	return inside(root, p, func(r *os.Root, clean string) error {
		if err := r.Remove(clean); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		dir := path.Dir(clean)
		for dir != "." && r.Remove(dir) == nil { // fails for the first that is not empty
			dir = path.Dir(dir)
		}
		return nil
	})
}

// inside calls do with root and the clean path, or returns the error of In.
func inside(root, p string, do func(r *os.Root, clean string) error) error {
	clean, err := In(root, p)
	if err != nil {
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	return errors.Join(do(r, filepath.FromSlash(clean)), r.Close())
}
