package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Merge is the result of a merge.
type Merge struct {
	Merged bool   `json:"merged"`           // the branch contains the work
	Commit string `json:"commit,omitempty"` // first commit of the branch that has the work; "" unless Merged

	// Conflicts has the paths of the files that conflict, sorted.
	Conflicts []string `json:"conflicts,omitempty"`

	// Moved says that every try failed because another process moved the branch.
	Moved bool `json:"moved,omitempty"`

	// Behind is a folder with the branch checked out that does not have the merged files: it
	// was changed during the merge, or git could not update it. Sweep tries again.
	Behind string `json:"behind,omitempty"`
}

// mergeTries limits how often a merge is made because the branch moved.
const mergeTries = 4

// Merge merges a commit of t into a branch; "" is [Trees.Target]. It always makes a commit
// with two parents, and a trailer that names the attempt. It has the time of the later of
// its parents: two merges of the same are the same commit, whenever they are made. A commit
// that is merged already is not merged again.
//
// Check may be nil. It is called with the commit of the merge before the branch moves to it,
// and with the commit that the branch is at; its error is returned, and nothing was merged.
// A folder that has the branch checked out must be clean, without ignored files where the
// merge brings others, otherwise it is ErrDirtyRepo; it gets the files of the merge.
func (w *Trees) Merge(ctx context.Context, t Tree, commit, into string, check func(ctx context.Context, merge, onto string) error) (Merge, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.check(t)
	if err == nil && !commitID.MatchString(commit) {
		err = fmt.Errorf("%q is no commit", commit)
	}
	var m Merge
	if err == nil {
		if into == "" {
			into = w.main
		}
		m, err = w.merge(ctx, t, commit, into, check)
	}
	if err != nil && !m.Merged {
		return Merge{}, fmt.Errorf("worktree: merge %q: %w", t.Task, err)
	}
	return m, nil
}

// tip returns the commit that a branch is at.
func (w *Trees) tip(ctx context.Context, branch string) (string, error) {
	id, err := w.commit(ctx, "refs/heads/"+branch)
	if err == nil && id == "" {
		err = fmt.Errorf("branch %q does not exist", branch)
	}
	return id, err
}

func (w *Trees) merge(ctx context.Context, t Tree, commit, into string, check func(ctx context.Context, merge, onto string) error) (Merge, error) {
	for range mergeTries {
		tip, err := w.tip(ctx, into)
		if err != nil {
			return Merge{}, err
		}
		switch done, err := w.merged(ctx, commit, tip); {
		case err != nil:
			return Merge{}, err
		case done != "":
			return w.finish(ctx, into, done)
		}
		merge, conflicts, err := w.make(ctx, t, commit, tip, into)
		if err != nil || len(conflicts) > 0 {
			return Merge{Conflicts: conflicts}, err
		}
		if check != nil {
			if err := check(ctx, merge, tip); err != nil {
				return Merge{}, err
			}
		}
		switch ok, err := w.swap(ctx, into, tip, merge); {
		case err != nil:
			return Merge{}, err
		case ok:
			return w.finish(ctx, into, merge)
		}
	}
	return Merge{Moved: true}, nil
}

// merged returns the commit that brought a commit into a tip: its merge, or the tip; "" if
// it is not merged.
func (w *Trees) merged(ctx context.Context, commit, tip string) (string, error) {
	_, err := w.do(ctx, "merge-base", "--is-ancestor", commit, tip)
	if exit(err) == 1 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	merges, err := w.do(ctx, "rev-list", "--merges", "--parents", "--ancestry-path", "--reverse", commit+".."+tip)
	if err != nil {
		return "", err
	}
	for line := range strings.SplitSeq(merges, "\n") {
		if ids := strings.Fields(line); len(ids) > 2 && slices.Contains(ids[2:], commit) {
			return ids[0], nil
		}
	}
	return tip, nil
}

// make makes the commit that merges a commit into the tip of a branch, which is not moved,
// or returns the files that conflict; into the branch of t it is made despite conflicts. A
// ref protects it from git's garbage collection.
func (w *Trees) make(ctx context.Context, t Tree, commit, tip, into string) (merge string, conflicts []string, err error) {
	tree, conflicts, err := w.combine(ctx, tip, commit)
	message := fmt.Sprintf("Merge %s\n\nOrchestrator-Task: %s/%s/a%d", t.Branch, oneLine(w.run), oneLine(t.Task), t.Attempt)
	if into == t.Branch {
		message, conflicts = "Merge what others have made meanwhile into "+into, nil
	}
	if err != nil || len(conflicts) > 0 {
		return "", conflicts, err
	}
	at, err := w.later(ctx, tip, commit)
	if err != nil {
		return "", nil, err
	}
	merge, err = w.dated(ctx, w.git.Dir, at, "commit-tree", tree, "-p", tip, "-p", commit, "-m", message)
	if err != nil {
		return "", nil, err
	}
	_, err = w.do(ctx, "update-ref", w.ref("merge", t), merge)
	return merge, nil, err
}

// combine makes the merged tree of two commits, and returns the files that conflict.
func (w *Trees) combine(ctx context.Context, ours, theirs string) (tree string, conflicts []string, err error) {
	out, err := w.do(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
	if exit(err) > 1 || exit(err) < 0 {
		return "", nil, err
	}
	tree, files, _ := strings.Cut(out, "\x00")
	if err != nil {
		conflicts = strings.Split(strings.TrimSuffix(files, "\x00"), "\x00")
		slices.Sort(conflicts)
	}
	return tree, slices.Compact(conflicts), nil
}

// later is the later of the times of commits.
func (w *Trees) later(ctx context.Context, commits ...string) (at time.Time, err error) {
	out, err := w.do(ctx, append([]string{"log", "--no-walk", "--format=%ct"}, commits...)...)
	for line := range strings.FieldsSeq(out) {
		seconds, bad := strconv.ParseInt(line, 10, 64)
		if t := time.Unix(seconds, 0); bad == nil && t.After(at) {
			at = t
		}
	}
	return at, err
}

// oneLine replaces line breaks and other control characters by spaces.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' }), " ")
}

// swap moves a branch from one commit to another, or returns false if it is at a third one.
// It first records the folders that have the branch checked out, for finish to update.
func (w *Trees) swap(ctx context.Context, branch, from, to string) (bool, error) {
	if err := w.awaitUpdates(ctx, branch); err != nil {
		return false, err
	}
	trees, err := w.list(ctx)
	if err != nil {
		return false, err
	}
	for _, tree := range trees {
		if tree.branch != branch || !tree.whole() {
			continue
		}
		paths, err := w.changes(ctx, from, to)
		if err != nil {
			return false, err
		}
		switch path, err := w.inTheWay(ctx, tree.path, from, to, paths); {
		case err != nil:
			return false, err
		case path != "":
			err := fmt.Errorf("%w: the merge would overwrite %s, which git does not track: move or remove it", ErrDirtyRepo, path)
			return false, w.unmoved(ctx, branch, from, err)
		}
		if _, err := w.do(ctx, "update-ref", w.forward(tree.path), from); err != nil {
			return false, err
		}
	}
	_, err = w.do(ctx, "update-ref", "refs/heads/"+branch, to, from)
	if exit(err) == 128 {
		return false, w.unmoved(ctx, branch, from, err)
	}
	return err == nil, err
}

// unmoved returns a fault, or nil if a branch is not at a commit any more, which explains it.
func (w *Trees) unmoved(ctx context.Context, branch, from string, fault error) error {
	tip, err := w.tip(ctx, branch)
	if err == nil && tip != from {
		return nil
	}
	return errors.Join(fault, err)
}
