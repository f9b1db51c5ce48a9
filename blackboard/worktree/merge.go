package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Merge is the result of a merge.
type Merge struct {
	// Merged says that the branch contains the work, since the commit Commit.
	Merged bool   `json:"merged"`
	Commit string `json:"commit,omitempty"`

	// Conflicts are the files that conflict, sorted. Moved says instead that every try
	// failed because another process moved the branch.
	Conflicts []string `json:"conflicts,omitempty"`
	Moved     bool     `json:"moved,omitempty"`

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

// forwards is the prefix of the refs by which runs record the commit whose files a folder
// has, while they update it to its moved branch; forward is the ref of this run.
func forwards(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return "refs/convene/forward/" + hex.EncodeToString(sum[:8]) + "/"
}

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

// interrupted says whether each of the paths of a folder has its content in one of the two
// commits, or a beginning of that in head. Then the folder has no changes of other origin.
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
