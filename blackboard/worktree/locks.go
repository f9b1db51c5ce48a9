package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/convene-go/convene/internal/git"
)

// A killed git leaves its locks. A lock that is older than this is stale: ownLock for files
// that only this package writes, staleLock for the others.
const (
	ownLock   = time.Second
	staleLock = 10 * time.Second
	lockWait  = 10 * time.Millisecond
)

var (
	// held finds the lock in the error of a git that could not acquire it.
	held = regexp.MustCompile(`Unable to create '([^'\n]+)\.lock': File exists|could not lock config file (\S+): File exists`)

	// own matches refs of this package, branches of attempts, and what belongs to worktrees.
	own = regexp.MustCompile(`[/\\](refs[/\\]convene[/\\]|refs[/\\]heads[/\\].+[/\\]a\d+\.lock$|worktrees[/\\])`)
)

// runGit runs git. It waits while another process holds a lock that git needs, and removes
// a stale one.
func runGit(ctx context.Context, r git.Repo, args []string) (string, error) {
	for {
		out, err := r.Run(ctx, args...)
		path := lockOf(r.Dir, err)
		if path == "" {
			return out, err
		}
		if broken := released(ctx, path); broken != nil {
			return out, errors.Join(err, broken)
		}
	}
}

// lockOf is the lock that made git fail in a folder; "": it was something else.
func lockOf(dir string, err error) string {
	var failed *git.Error
	if !errors.As(err, &failed) {
		return ""
	}
	m := held.FindStringSubmatch(failed.Detail)
	if m == nil {
		return ""
	}
	path := m[1] + m[2] + ".lock"
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}

// released waits until a lock is released.
func released(ctx context.Context, path string) error {
	for {
		if gone, err := release(ctx, path); gone || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockWait):
		}
	}
}

// release says whether a lock is released, and removes a stale one. Only one process of this
// package does so at a time, so that it removes the lock that it has looked at.
func release(ctx context.Context, path string) (gone bool, err error) {
	if repo := repository(path); repo != "" {
		done, err := lock(ctx, filepath.Join(repo, "convene-locks.lock"))
		if err != nil {
			return false, err
		}
		defer done()
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	limit := staleLock
	if own.MatchString(path) {
		limit = ownLock
	}
	if err != nil || time.Since(info.ModTime()) < limit {
		return false, err
	}
	return true, os.Remove(path)
}

// repository is the folder of the repository that a lock belongs to; "": it is not made
// yet.
func repository(path string) string {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "objects")); err == nil {
			return dir
		}
	}
	return ""
}
