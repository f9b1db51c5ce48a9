package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// entry is what git has in its own folder for a worktree.
type entry struct {
	dir  string // git's
	tree string // the worktree's
}

// entries returns those of the worktrees in a folder.
func (w *Trees) entries(in string) (all []entry, err error) {
	parent := filepath.Join(w.common, "worktrees")
	dirs, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, d := range dirs {
		e := entry{dir: filepath.Join(parent, d.Name())}
		link, err := os.ReadFile(filepath.Join(e.dir, "gitdir"))
		if err != nil {
			continue // git ignores it, too
		}
		e.tree = filepath.Dir(filepath.FromSlash(strings.TrimSpace(string(link))))
		if !filepath.IsAbs(e.tree) {
			e.tree = filepath.Join(e.dir, e.tree)
		}
		if rel, err := filepath.Rel(in, e.tree); err == nil && filepath.IsLocal(rel) {
			all = append(all, e)
		}
	}
	return all, nil
}

// half says whether a git that made the worktree or removed it has not finished.
func (e entry) half() bool {
	why, _ := os.ReadFile(filepath.Join(e.dir, "locked"))
	_, err := os.Stat(filepath.Join(e.tree, ".git"))
	return err != nil || strings.TrimSpace(string(why)) == "initializing"
}

// drop lets git forget the worktree. The file by which the entry is found goes last.
func (e entry) drop() error {
	files, err := os.ReadDir(e.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		if f.Name() != "gitdir" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(e.dir, f.Name())))
		}
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(e.dir)
}

// ofRun matches worktrees of runs, in the folder for worktrees.
var ofRun = regexp.MustCompile(`[/\\][0-9a-f]{8}[/\\][^/\\]+[/\\]a\d+$`)

// repair lets git forget worktrees of any run that a killed process has half made or half
// removed: git may not list any worktree as long as there is such a one. The caller holds
// the lock of worktrees.
func (w *Trees) repair(ctx context.Context) error {
	all, err := w.entries(filepath.Dir(w.base))
	for _, e := range all {
		if err == nil && ofRun.MatchString(e.tree) {
			err = e.repair(ctx)
		}
	}
	return err
}

func (e entry) repair(ctx context.Context) error {
	for e.half() {
		info, err := os.Stat(e.dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case time.Since(info.ModTime()) > ownLock:
			return e.drop()
		}
		if err := pause(ctx); err != nil { // its git may still run
			return err
		}
	}
	return nil
}

// exclusively calls do while no other process changes worktrees.
func (w *Trees) exclusively(ctx context.Context, do func() error) error {
	release, err := lock(ctx, filepath.Join(w.common, "convene.lock"))
	if err != nil {
		return err
	}
	defer release()
	return do()
}
