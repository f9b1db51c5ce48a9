package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/convene-go/convene/internal/safepath"
)

// Sweep removes what an earlier process of this run has left: worktrees of this run whose
// branch is not in keep, and folders beside them that git does not know. It returns what it
// removed. Branches stay, and nothing outside of the folder for worktrees of this run is
// touched. It also finishes interrupted updates of folders after a merge.
func (w *Trees) Sweep(ctx context.Context, keep []string) (removed []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.finishForwards(ctx); err != nil {
		return nil, fmt.Errorf("worktree: sweep: %w", err)
	}
	removed, err = w.sweep(ctx, keep)
	if err != nil {
		return removed, fmt.Errorf("worktree: sweep: %w", err)
	}
	return removed, nil
}

func (w *Trees) sweep(ctx context.Context, keep []string) (removed []string, err error) {
	trees, err := w.list(ctx)
	if err != nil {
		return nil, err
	}
	live := map[string]bool{}
	for _, tree := range trees {
		switch rel, err := filepath.Rel(w.base, tree.path); {
		case err != nil || !filepath.IsLocal(rel):
		case slices.Contains(keep, w.prefix+"/"+filepath.ToSlash(rel)): // whatever is checked out in it
			live[tree.path] = true
		default:
			if err := w.remove(ctx, tree.path); err != nil {
				return removed, err
			}
			removed = append(removed, tree.path)
		}
	}
	dirs, err := w.attempts()
	for _, dir := range dirs {
		if live[dir] {
			continue
		}
		if err := safepath.RemoveAll(dir); err != nil {
			return removed, err
		}
		_ = os.Remove(filepath.Dir(dir)) // fails while it has others
		removed = append(removed, dir)
	}
	_ = os.Remove(w.base)
	return removed, err
}

// attempts returns what is where the worktrees of this run belong.
func (w *Trees) attempts() (dirs []string, err error) {
	tasks, err := os.ReadDir(w.base)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, task := range tasks {
		dir := filepath.Join(w.base, task.Name())
		if !task.IsDir() {
			dirs = append(dirs, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return dirs, err
		}
		for _, entry := range entries {
			dirs = append(dirs, filepath.Join(dir, entry.Name()))
		}
	}
	return dirs, err
}
