package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Merge is what came of a merge.
type Merge struct {
	// Merged says that the branch has the work now, in the commit Commit.
	Merged bool   `json:"merged"`
	Commit string `json:"commit,omitempty"`

	// Conflicts are the files for which it was not possible, sorted. Moved says instead
	// that others changed the branch again and again.
	Conflicts []string `json:"conflicts,omitempty"`
	Moved     bool     `json:"moved,omitempty"`

	// Behind is a folder with the branch checked out that was changed meanwhile, so that
	// its files are not those of the merge. Sweep tries again.
	Behind string `json:"behind,omitempty"`
}

// mergeTries is how often a merge is made anew because the branch was moved.
const mergeTries = 4

// Merge merges a commit of t into a branch; "" is [Trees.Target]. There is always a commit
// with two parents, and a trailer that says what it is for. What is merged already is
// found, and not merged again.
//
// Check, which may be nil, sees the commit of the merge before it is on the branch; its
// error is returned, and nothing was merged. A folder that has the branch checked out must
// be clean, otherwise it is ErrDirtyRepo; it gets the files of the merge.
func (w *Trees) Merge(ctx context.Context, t Tree, commit, into string, check func(ctx context.Context, merge string) error) (Merge, error) {
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
	if err != nil {
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

func (w *Trees) merge(ctx context.Context, t Tree, commit, into string, check func(context.Context, string) error) (Merge, error) {
	for range mergeTries {
		tip, err := w.tip(ctx, into)
		if err != nil {
			return Merge{}, err
		}
		if done, err := w.merged(ctx, commit, tip); err != nil || done != "" {
			return w.finish(ctx, into, Merge{Merged: true, Commit: done}, err)
		}
		merge, conflicts, err := w.make(ctx, t, commit, tip, into)
		if err != nil || len(conflicts) > 0 {
			return Merge{Conflicts: conflicts}, err
		}
		if check != nil {
			if err := check(ctx, merge); err != nil {
				return Merge{}, err
			}
		}
		switch ok, err := w.swap(ctx, into, tip, merge); {
		case err != nil:
			return Merge{}, err
		case ok:
			return w.finish(ctx, into, Merge{Merged: true, Commit: merge}, nil)
		}
	}
	return Merge{Moved: true}, nil
}

// Parents returns the tree of a commit and its parents: two merges of which all these are
// equal are the same merge, made at different times.
func (w *Trees) Parents(ctx context.Context, commit string) (tree string, parents []string, err error) {
	if !commitID.MatchString(commit) {
		return "", nil, fmt.Errorf("worktree: parents: %q is no commit", commit)
	}
	if tree, parents, err = w.parents(ctx, commit); err != nil {
		return "", nil, fmt.Errorf("worktree: parents: %w", err)
	}
	return tree, parents, nil
}

func (w *Trees) parents(ctx context.Context, commit string) (tree string, parents []string, err error) {
	out, err := w.do(ctx, "log", "-1", "--format=%T %P", commit)
	if err != nil {
		return "", nil, err
	}
	ids := strings.Fields(out)
	return ids[0], ids[1:], nil
}

// merged returns the commit by which a commit came to a tip: the merge of it, or the tip;
// "" if it is not there.
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

// make makes the commit that merges a commit into the tip of a branch, which stays where it
// is, or says which files conflict; into the branch of t it is made all the same. A ref keeps
// it from being collected.
func (w *Trees) make(ctx context.Context, t Tree, commit, tip, into string) (merge string, conflicts []string, err error) {
	tree, conflicts, err := w.combine(ctx, tip, commit)
	message := fmt.Sprintf("Merge %s\n\nOrchestrator-Task: %s/%s/a%d", t.Branch, oneLine(w.run), oneLine(t.Task), t.Attempt)
	if into == t.Branch {
		message, conflicts = "Merge what others have made meanwhile into "+into, nil
	}
	if err != nil || len(conflicts) > 0 {
		return "", conflicts, err
	}
	merge, err = w.do(ctx, "commit-tree", tree, "-p", tip, "-p", commit, "-m", message)
	if err != nil {
		return "", nil, err
	}
	_, err = w.do(ctx, "update-ref", w.ref("merge", t), merge)
	return merge, nil, err
}

// combine makes the tree that two commits have together, and says which files conflict.
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

// oneLine replaces what would end a line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' }), " ")
}

// swap moves a branch from one commit to another one, or says that it is elsewhere. Folders
// that have it checked out are noted before, so that their files can follow.
func (w *Trees) swap(ctx context.Context, branch, from, to string) (bool, error) {
	if err := w.settle(ctx, branch); err != nil {
		return false, err
	}
	trees, err := w.list(ctx)
	if err != nil {
		return false, err
	}
	for _, tree := range trees {
		if tree.branch == branch && !tree.missing() {
			if _, err := w.do(ctx, "update-ref", w.forward(tree.path), from); err != nil {
				return false, err
			}
		}
	}
	_, err = w.do(ctx, "update-ref", "refs/heads/"+branch, to, from)
	if exit(err) == 128 { // it was moved, or is being moved
		return false, nil
	}
	return err == nil, err
}

// settle waits until no folder that has a branch checked out is brought forward by a run,
// and helps where that was interrupted. It returns ErrDirtyRepo for one that was changed by
// somebody else.
func (w *Trees) settle(ctx context.Context, branch string) error {
	unexplained := 0 // a run may have been through between the two looks
	for try := 0; ; try++ {
		dirty, err := w.dirty(ctx, branch)
		if err != nil || dirty == "" {
			return err
		}
		refs, err := w.do(ctx, "for-each-ref", "--format=%(refname)", forwards(dirty))
		if err != nil {
			return err
		}
		if refs == "" {
			unexplained++
		}
		if unexplained == dirtyLooks || try == followTries {
			return fmt.Errorf("%w: %s, which has the branch %q", ErrDirtyRepo, dirty, branch)
		}
		for ref := range strings.FieldsSeq(refs) {
			if ok, err := w.follow(ctx, dirty, ref); err != nil || !ok {
				return errors.Join(err, fmt.Errorf("%w: %s, which has the branch %q", ErrDirtyRepo, dirty, branch))
			}
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// pause gives others a moment.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(followWait):
		return nil
	}
}

// forwards begins the refs of all runs that have the commit at which the files of a folder
// are, while they follow a branch that the run has moved; forward is that of this run.
func forwards(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return "refs/convene/forward/" + hex.EncodeToString(sum[:8]) + "/"
}

func (w *Trees) forward(dir string) string { return forwards(dir) + w.short }

// finish lets folders that have a branch checked out follow it.
func (w *Trees) finish(ctx context.Context, branch string, m Merge, err error) (Merge, error) {
	if err != nil {
		return Merge{}, err
	}
	trees, err := w.list(ctx)
	if err != nil {
		return Merge{}, err
	}
	for _, tree := range trees {
		if tree.branch != branch || tree.missing() {
			continue
		}
		ok, err := w.follow(ctx, tree.path, w.forward(tree.path))
		if err != nil {
			return Merge{}, err
		}
		if !ok {
			m.Behind = tree.path
		}
	}
	return m, nil
}

// finishForwards does so for all folders that an interrupted merge has left behind. It is
// no error that one cannot follow.
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
			if !strings.HasPrefix(ref, forwards(tree.path)) || tree.missing() {
				continue
			}
			if _, err := w.follow(ctx, tree.path, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// These say how long a folder is tried to follow its branch, while others have its index.
const (
	followTries = 20
	followWait  = 100 * time.Millisecond
	dirtyLooks  = 3 // at a folder with changes that no run explains
)

// errBusy says that somebody else has the index of a folder just now.
var errBusy = errors.New("the index of the folder is in use")

// follow gives a folder the files of its branch, if it has those of the commit that a ref
// has for it. It says whether it has the files of its branch then. Changes that somebody
// made there are never lost: then it stays behind.
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
			return true, nil // that run is about to move the branch, or was interrupted before
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

// forwardTo makes the files of a folder, which are at a commit, those of another one, and
// says whether it could.
func (w *Trees) forwardTo(ctx context.Context, dir, at, head string) (bool, error) {
	locked, err := w.locked(ctx, dir)
	if err != nil {
		return false, err
	}
	if locked {
		return false, errBusy
	}
	_, err = w.in(ctx, dir, "read-tree", "-m", "-u", at, head)
	switch code := exit(err); {
	case code == 0:
		return true, nil
	case code < 0:
		return false, err
	}
	// Somebody has changed files, or git was interrupted while it wrote them: it writes
	// its index last, and only files that the two commits have differently.
	_, err = w.in(ctx, dir, "diff", "--cached", "--quiet", at, "--")
	if exit(err) > 0 {
		return false, errBusy // another run brings the folder forward
	}
	if err != nil {
		return false, err
	}
	out, err := w.in(ctx, dir, "diff", "--name-only", "--no-renames", "-z", at, head, "--")
	if err != nil {
		return false, err
	}
	paths := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if ok, err := w.interrupted(ctx, dir, at, head, paths); err != nil || !ok {
		return false, err
	}
	return w.rewrite(ctx, dir, head, paths)
}

// locked says whether somebody has the index of a folder. A lock that a git has left that
// was killed is removed.
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

// interrupted says whether each of the paths of a folder is as one commit has it, as the
// other one has it, or a beginning of that. So nothing is there that anybody else wrote.
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

// rewrite gives some paths of a folder the content that they have in a commit.
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
