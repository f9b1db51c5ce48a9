package worktree

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Update merges the tip of a branch into that of t, which has a worktree without changes
// that are not committed; "" is [Trees.Target]. It returns the files in which both have
// changed the same, sorted: texts have both versions between conflict markers then, see
// [Trees.Unresolved]. What is there already is not merged again.
func (w *Trees) Update(ctx context.Context, t Tree, from string) (conflicts []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err = w.check(t); err == nil {
		conflicts, err = w.update(ctx, t, cmp.Or(from, w.main))
	}
	if err != nil {
		return nil, fmt.Errorf("worktree: update %q: %w", t.Task, err)
	}
	return conflicts, nil
}

func (w *Trees) update(ctx context.Context, t Tree, from string) ([]string, error) {
	commit, err := w.tip(ctx, from)
	if err != nil {
		return nil, err
	}
	m, err := w.merge(ctx, t, commit, t.Branch, nil)
	switch {
	case err != nil:
		return nil, err
	case !m.Merged || m.Behind != "":
		return nil, fmt.Errorf("its worktree could not follow the branch %q", t.Branch)
	}
	head, err := w.tip(ctx, t.Branch)
	if err != nil || m.Commit != head {
		return nil, err // it was there before, and there is work on top of it
	}
	out, err := w.do(ctx, "log", "-1", "--format=%P", head)
	parents := strings.Fields(out)
	if err != nil || len(parents) < 2 || parents[1] != commit {
		return nil, err // it was there by itself
	}
	_, conflicts, err := w.combine(ctx, parents[0], parents[1])
	return conflicts, err
}

// Unresolved returns the files in a commit of t with conflict markers that the branch into
// does not have. It is the branch for the merge; "" means [Trees.Target].
func (w *Trees) Unresolved(ctx context.Context, t Tree, commit, into string) ([]string, error) {
	from, err := w.forked(ctx, t, commit, into)
	var out string
	if err == nil {
		out, err = w.do(ctx, "diff", "--name-only", "--no-renames", "-z", "-G^<<<<<<< [0-9a-f]{40}", from, commit, "--")
	}
	if err != nil {
		return nil, fmt.Errorf("worktree: conflicts of %q: %w", t.Task, err)
	}
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(file string) bool { return file == "" }), nil
}

// forked returns the commit at which a commit of t has left a branch; "" is the target.
func (w *Trees) forked(ctx context.Context, t Tree, commit, from string) (string, error) {
	if err := w.check(t); err != nil {
		return "", err
	}
	if !commitID.MatchString(commit) {
		return "", fmt.Errorf("%q is no commit", commit)
	}
	tip, err := w.tip(ctx, cmp.Or(from, w.main))
	if err != nil {
		return "", err
	}
	return w.do(ctx, "merge-base", tip, commit)
}
