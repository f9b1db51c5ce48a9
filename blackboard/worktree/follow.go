package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// awaitUpdates waits while other runs update folders that have a branch checked out, and
// finishes interrupted updates. It returns ErrDirtyRepo for a folder with changes of other origin.
func (w *Trees) awaitUpdates(ctx context.Context, branch string) error {
	unexplained := 0 // a run may have finished its update between two looks
	for try := 0; ; try++ {
		dir, dirty, err := w.dirty(ctx, branch)
		if err != nil || dirty == nil {
			return err
		}
		refs, err := w.do(ctx, "for-each-ref", "--format=%(refname)", forwards(dir))
		if err != nil {
			return err
		}
		if refs == "" {
			unexplained++
		}
		if unexplained == dirtyLooks || try == followTries {
			return dirty
		}
		for ref := range strings.FieldsSeq(refs) {
			if ok, err := w.follow(ctx, dir, ref); err != nil || !ok {
				return errors.Join(err, dirty)
			}
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// pause waits a moment for other runs.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(followWait):
		return nil
	}
}

// forwards returns the prefix of the refs for a folder. While a run updates the folder to
// its moved branch, such a ref has the commit whose files the folder had before.
func forwards(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return "refs/convene/forward/" + hex.EncodeToString(sum[:8]) + "/"
}

// forward returns the ref of this run for a folder.
func (w *Trees) forward(dir string) string { return forwards(dir) + w.short }

// finish updates the folders that have a branch checked out, which has moved to a merge. An
// error says that one of them could not be updated; it is merged nevertheless.
func (w *Trees) finish(ctx context.Context, branch, merge string) (Merge, error) {
	m := Merge{Merged: true, Commit: merge, Behind: w.git.Dir}
	trees, err := w.list(ctx)
	if err != nil {
		return m, err
	}
	m.Behind = ""
	for _, tree := range trees {
		if tree.branch != branch || !tree.whole() {
			continue
		}
		ok, fault := w.follow(ctx, tree.path, w.forward(tree.path))
		if !ok {
			m.Behind, err = tree.path, errors.Join(err, fault)
		}
	}
	return m, err
}

// finishForwards finishes the updates of folders that an interrupted merge left. A folder
// that cannot be updated is no error.
func (w *Trees) finishForwards(ctx context.Context) error {
	refs, err := w.do(ctx, "for-each-ref", "--format=%(refname)", "refs/convene/forward")
	if err != nil || refs == "" {
		return err
	}
	trees, err := w.list(ctx)
	if err != nil {
		return err
	}
	for ref := range strings.SplitSeq(refs, "\n") {
		for _, tree := range trees {
			if !strings.HasPrefix(ref, forwards(tree.path)) || !tree.whole() {
				continue
			}
			if _, err := w.follow(ctx, tree.path, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// The update of a folder is retried while its index is locked, until that lock is stale.
const (
	followWait  = 100 * time.Millisecond
	followTries = int((staleLock + 2*time.Second) / followWait)
	dirtyLooks  = 3 // at a folder with changes that no run explains
)

// errBusy says that another process has locked the index of a folder.
var errBusy = errors.New("the index of the folder is in use")

// follow updates a folder to its branch, if the folder has the files of the commit that ref
// records. It says whether the folder has the files of its branch then. It never overwrites
// other changes in the folder.
func (w *Trees) follow(ctx context.Context, dir, ref string) (bool, error) {
	for range followTries {
		at, err := w.commit(ctx, ref)
		if err != nil || at == "" {
			return at == "", err
		}
		head, err := w.in(ctx, dir, "rev-parse", "HEAD")
		if err != nil {
			return false, err
		}
		if at == head && ref != w.forward(dir) {
			return true, nil // the other run has not moved the branch yet, or was interrupted
		}
		ok, err := w.forwardTo(ctx, dir, at, head)
		switch {
		case errors.Is(err, errBusy):
			if err := pause(ctx); err != nil {
				return false, err
			}
			continue
		case err != nil || !ok:
			return false, err
		}
		now, err := w.in(ctx, dir, "rev-parse", "HEAD")
		if err != nil {
			return false, err
		}
		if now == head {
			_, err := w.do(ctx, "update-ref", "-d", ref, at)
			if exit(err) > 0 {
				err = nil // another run was first
			}
			return true, err
		}
	}
	return false, nil
}

// forwardTo updates the files of a folder from one commit to another, and says whether it
// could, or had done so before.
func (w *Trees) forwardTo(ctx context.Context, dir, at, head string) (bool, error) {
	locked, err := w.locked(ctx, dir)
	if err != nil {
		return false, err
	}
	if locked {
		return false, errBusy
	}
	paths, err := w.changes(ctx, at, head)
	if err != nil {
		return false, err
	}
	if done, err := w.followed(ctx, dir, head, paths); err != nil || done {
		return done, err
	}
	if path, err := w.inTheWay(ctx, dir, at, head, paths); err != nil || path != "" {
		return false, err
	}
	_, err = w.in(ctx, dir, "read-tree", "-m", "-u", at, head)
	switch code := exit(err); {
	case code == 0:
		return true, nil
	case code < 0:
		return false, err
	}
	// The files were changed, or git was interrupted while it wrote them: it writes its
	// index last, and only files that differ between the two commits.
	_, err = w.in(ctx, dir, "diff", "--cached", "--quiet", at, "--")
	if exit(err) > 0 {
		return false, errBusy // another run updates the folder
	}
	if err != nil {
		return false, err
	}
	all := slices.Collect(maps.Keys(paths))
	if ok, err := w.interrupted(ctx, dir, at, head, all); err != nil || !ok {
		return false, err
	}
	return w.rewrite(ctx, dir, head, all)
}

// followed says whether a folder was updated already: git writes its index as a whole, so one
// path in it that is as in head says so for all. What differs was changed since.
func (w *Trees) followed(ctx context.Context, dir, head string, paths map[string]string) (bool, error) {
	out, err := w.in(ctx, dir, "diff", "--cached", "--name-only", "--no-renames", "-z", head, "--")
	if err != nil {
		return false, err
	}
	differ := 0
	for path := range strings.SplitSeq(out, "\x00") {
		if paths[path] != "" {
			differ++
		}
	}
	return differ < len(paths), nil
}

// changes returns the paths that differ between two commits, with git's letter for how, such
// as A for one that only the second commit has.
func (w *Trees) changes(ctx context.Context, at, head string) (map[string]string, error) {
	out, err := w.do(ctx, "diff", "--name-status", "--no-renames", "-z", at, head, "--")
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		paths[fields[i+1]] = fields[i]
	}
	return paths, nil
}

// inTheWay returns a file or folder that an update of a folder would overwrite or remove
// although git does not track it; "": there is none. read-tree does not spare ignored ones.
// In worktrees of this run they are the worker's, and give way.
func (w *Trees) inTheWay(ctx context.Context, dir, at, head string, paths map[string]string) (string, error) {
	if rel, err := filepath.Rel(w.base, dir); err == nil && filepath.IsLocal(rel) {
		return "", nil
	}
	for path, letter := range paths {
		if letter != "A" {
			continue
		}
		name, info, err := first(dir, path)
		if err != nil {
			return "", err
		}
		ours := true
		switch {
		case name == path && info.IsDir():
			var others string
			others, err = w.in(ctx, dir, "--literal-pathspecs", "ls-files", "--others", "-z", "--", path)
			ours = others == ""
		case name == path:
			ours, err = w.interrupted(ctx, dir, at, head, []string{path})
		case name != "":
			ours = paths[name] != "" // then git tracks it, and removes it
		}
		if err != nil || !ours {
			return filepath.Join(dir, filepath.FromSlash(name)), err
		}
	}
	return "", nil
}

// first returns what stands where a folder is to get a path: what has the path, or what is
// no folder and has that of one of its parents; "": nothing.
func first(dir, path string) (name string, info fs.FileInfo, err error) {
	for end := 0; end < len(path); {
		next := strings.IndexByte(path[end+1:], '/')
		if end += 1 + next; next < 0 {
			end = len(path)
		}
		info, err = os.Lstat(filepath.Join(dir, filepath.FromSlash(path[:end])))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil, nil
		case err != nil || end == len(path) || !info.IsDir():
			return path[:end], info, err
		}
	}
	return "", nil, nil
}

// locked says whether another process has locked the index of a folder. It removes the lock
// of a killed git.
func (w *Trees) locked(ctx context.Context, dir string) (bool, error) {
	lock, err := w.in(ctx, dir, "rev-parse", "--path-format=absolute", "--git-path", "index.lock")
	if err != nil {
		return false, err
	}
	info, err := os.Stat(lock)
	if err != nil {
		return false, nil //nolint:nilerr // there is none
	}
	if time.Since(info.ModTime()) > staleLock {
		return false, os.Remove(lock)
	}
	return true, nil
}

// interrupted reports whether an interrupted update explains all paths of a folder: each
// has its content in one of the two commits, or the beginning of its content in head.
func (w *Trees) interrupted(ctx context.Context, dir, at, head string, paths []string) (bool, error) {
	for _, path := range paths {
		file := filepath.Join(dir, filepath.FromSlash(path))
		info, err := os.Lstat(file)
		if err != nil {
			continue // it is not there
		}
		var content string
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(file)
			if err != nil {
				return false, err
			}
			content = string(data)
		case info.Mode()&os.ModeSymlink != 0:
			if content, err = os.Readlink(file); err != nil {
				return false, err
			}
		default:
			return false, nil
		}
		ours := false
		for i, commit := range []string{at, head} {
			r := w.git
			r.Dir = dir
			text, err := r.Run(ctx, "cat-file", "--filters", commit+":"+path)
			if exit(err) > 0 {
				continue // that commit has no such file
			}
			if err != nil {
				return false, err
			}
			ours = ours || content == text || i == 1 && strings.HasPrefix(text, content)
		}
		if !ours {
			return false, nil
		}
	}
	return true, nil
}

// rewrite writes some paths of a folder as they are in a commit.
func (w *Trees) rewrite(ctx context.Context, dir, commit string, paths []string) (bool, error) {
	f, err := os.CreateTemp("", "convene-paths-*")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(strings.Join(paths, "\x00"))
	if err := errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	_, err = w.in(ctx, dir, "--literal-pathspecs", "restore", "--source="+commit, "--staged", "--worktree",
		"--pathspec-from-file="+f.Name(), "--pathspec-file-nul")
	if exit(err) > 0 {
		return false, nil
	}
	return err == nil, err
}
