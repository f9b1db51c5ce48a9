package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/git"
	"github.com/convene-go/convene/internal/safepath"
)

// Tree is the worktree of one attempt.
type Tree struct {
	Task    string `json:"task"`    // ID of the task
	Attempt int    `json:"attempt"` // number of the attempt, from 1 on
	Branch  string `json:"branch"`  // branch of the attempt
	Path    string `json:"path"`    // absolute path of the folder
	Base    string `json:"base"`    // commit from which the attempt started
}

// tree returns the names of an attempt.
func (w *Trees) tree(task string, attempt int) (Tree, error) {
	if task == "" || attempt < 1 {
		return Tree{}, fmt.Errorf("task is %q and attempt %d, want a name and 1 or more", task, attempt)
	}
	slug := safepath.Slug(task)
	return Tree{
		Task: task, Attempt: attempt,
		Branch: fmt.Sprintf("%s/%s/a%d", w.prefix, slug, attempt),
		Path:   filepath.Join(w.base, slug, fmt.Sprint("a", attempt)),
	}, nil
}

// check returns an error unless t is a tree of this run.
func (w *Trees) check(t Tree) error {
	want, err := w.tree(t.Task, t.Attempt)
	if want.Base = t.Base; err == nil && want != t {
		err = fmt.Errorf("tree of %q is no tree of this run", t.Task)
	}
	return err
}

// ref is the ref of this package that keeps a commit of an attempt.
func (w *Trees) ref(what string, t Tree) string {
	return fmt.Sprintf("refs/convene/%s/%s/%s/a%d", what, w.short, safepath.Slug(t.Task), t.Attempt)
}

// Create makes the worktree of an attempt, counted from 1, on a branch of its own. It
// starts from base, a branch or a commit; "" is the tip of [Trees.Target]. If it is there
// already, its content is left as it is. If git cannot make the folder, nothing stays of a
// branch that is new.
func (w *Trees) Create(ctx context.Context, task string, attempt int, base string) (Tree, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.tree(task, attempt)
	made := false
	if err == nil {
		t.Base, made, err = w.begin(ctx, t, base)
	}
	if err == nil {
		if err = w.place(ctx, t); made && exit(err) > 0 { // a caller that gets no Tree cannot delete the branch
			err = errors.Join(err, w.drop(ctx, t))
		}
	}
	if err != nil {
		return Tree{}, fmt.Errorf("worktree: create %q: %w", task, err)
	}
	return t, nil
}

// begin makes the branch of t, unless it is there, and returns the commit that it started
// from. That commit is recorded first, so that a retry starts from the same.
func (w *Trees) begin(ctx context.Context, t Tree, base string) (from string, made bool, err error) {
	kept := w.ref("base", t)
	from, err = w.commit(ctx, kept)
	if err != nil {
		return "", false, err
	}
	if from == "" {
		name := cmp.Or(base, "refs/heads/"+w.main)
		if from, err = w.commit(ctx, name); err != nil {
			return "", false, err
		}
		if from == "" {
			return "", false, fmt.Errorf("there is no commit %q to start from", name)
		}
		if _, err := w.do(ctx, "update-ref", kept, from, none); err != nil {
			return "", false, err
		}
	}
	tip, err := w.commit(ctx, "refs/heads/"+t.Branch)
	if err != nil || tip != "" {
		return from, false, err
	}
	_, err = w.do(ctx, "update-ref", "refs/heads/"+t.Branch, from, none)
	return from, err == nil, err
}

// place makes the folder of t, unless it is there.
func (w *Trees) place(ctx context.Context, t Tree) error {
	trees, err := w.list(ctx)
	if err != nil {
		return err
	}
	for _, other := range trees {
		if other.path == t.Path && other.whole() {
			return nil
		}
	}
	if err := w.remove(ctx, t.Path); err != nil {
		return err
	}
	_, err = w.worktrees(ctx, "add", "--quiet", "--", t.Path, t.Branch)
	return err
}

// commitID matches the hash of a commit.
var commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// Head returns the commit that the branch of t is at.
func (w *Trees) Head(ctx context.Context, t Tree) (string, error) {
	id, err := "", w.check(t)
	if err == nil {
		id, err = w.tip(ctx, t.Branch)
	}
	if err != nil {
		return "", fmt.Errorf("worktree: head: %w", err)
	}
	return id, nil
}

// Note is the message of a commit.
type Note struct {
	// Phase and Summary make the first line, "[task] phase: summary"; of the summary, the
	// first line with at most 50 characters.
	Phase, Summary string

	// Key makes Commit idempotent: if the last commit of the branch has the same key, that
	// one is returned. "": no key.
	Key string

	// At is the time of the commit, in whole seconds: with the same one, what is the same
	// has the same ID. Zero: now.
	At time.Time
}

const summaryLength = 50

// title is the first line of the message.
func (n Note) title(task string) string {
	summary, _, _ := strings.Cut(strings.TrimSpace(n.Summary), "\n")
	if runes := []rune(summary); len(runes) > summaryLength {
		summary = string(runes[:summaryLength-1]) + "…"
	}
	line := fmt.Sprintf("[%s] %s: %s", task, n.Phase, summary)
	return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}

// Commit commits the files and folders of paths, also ignored and removed ones, and returns
// the commit. Nil means everything that is not ignored. The error is ErrNoChange if nothing
// has changed. It is ErrUnsafePath if a path or a symbolic link leads out of the worktree,
// or if there is a repository in it.
func (w *Trees) Commit(ctx context.Context, t Tree, n Note, paths []string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, err := "", w.check(t)
	if err == nil {
		id, err = w.add(ctx, t, n, paths)
	}
	if err != nil {
		return "", fmt.Errorf("worktree: commit of %q: %w", t.Task, err)
	}
	return id, nil
}

func (w *Trees) add(ctx context.Context, t Tree, n Note, paths []string) (string, error) {
	if _, err := w.in(ctx, t.Path, onBranch(t.Branch)...); err != nil {
		return "", err
	}
	if n.Key != "" {
		last, err := w.in(ctx, t.Path, "log", "-1", "--format=%H %(trailers:key=Convene-Key,valueonly,separator=%x20)")
		if id, key, _ := strings.Cut(last, " "); err != nil || key == keyText(n.Key) {
			return id, err
		}
	}
	args := []string{"--literal-pathspecs", "add", "--all", "--", "."}
	if paths != nil {
		args = []string{"--literal-pathspecs", "add", "--all", "--force", "--"}
		for _, p := range paths {
			clean, err := safepath.In(t.Path, p)
			if err != nil {
				return "", err
			}
			args = append(args, clean)
		}
	}
	if paths == nil || len(paths) > 0 {
		if _, err := w.in(ctx, t.Path, args...); err != nil {
			return "", addFault(err)
		}
	}
	staged, err := w.in(ctx, t.Path, "diff", "--cached", "--raw", "-z", "--no-renames", "HEAD")
	if err != nil {
		return "", err
	}
	if staged == "" {
		return "", ErrNoChange
	}
	if err := stagedFault(t.Path, staged); err != nil {
		_, undo := w.in(ctx, t.Path, "reset", "--quiet")
		return "", errors.Join(err, undo)
	}
	message := n.title(t.Task)
	if n.Key != "" {
		message += "\n\nConvene-Key: " + keyText(n.Key)
	}
	if _, err := w.dated(ctx, t.Path, n.At, "commit", "--quiet", "--no-verify", "--message="+message); err != nil {
		return "", err
	}
	return w.in(ctx, t.Path, "rev-parse", "HEAD")
}

// keyText is a key as a trailer can hold it.
func keyText(key string) string { return strconv.QuoteToASCII(key) }

// emptyRepo finds the folder in the error of a git that found a repository without commits.
var emptyRepo = regexp.MustCompile(`(?m)^error: '(.+)' does not have a commit checked out$`)

// addFault is the error of git add, as ErrUnsafePath if a repository is to blame.
func addFault(err error) error {
	if failed, ok := errors.AsType[*git.Error](err); ok {
		if m := emptyRepo.FindStringSubmatch(failed.Detail); m != nil {
			return fmt.Errorf("%w: %q is a repository of its own", ErrUnsafePath, strings.TrimSuffix(m[1], "/"))
		}
	}
	return err
}

// stagedFault looks for symbolic links that leave the worktree, and repositories in it,
// among what is staged, as diff --raw -z shows it.
func stagedFault(root, staged string) error {
	fields := strings.Split(strings.TrimSuffix(staged, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		modes := strings.Fields(fields[i])
		name := fields[i+1]
		if len(modes) < 2 {
			return fmt.Errorf("git diff --raw says %q", fields[i])
		}
		switch modes[1] {
		case "160000":
			return fmt.Errorf("%w: %q is a repository of its own", ErrUnsafePath, name)
		case "120000":
			target, err := os.Readlink(filepath.Join(root, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			if target = filepath.ToSlash(target); path.IsAbs(target) || filepath.IsAbs(target) {
				return fmt.Errorf("%w: %q is a link to %q", ErrUnsafePath, name, target)
			}
			to := path.Join(path.Dir(name), target)
			if _, err := safepath.Clean(to); to != "." && err != nil {
				return fmt.Errorf("%w: %q is a link to %q", ErrUnsafePath, name, target)
			}
		}
		if _, err := safepath.Clean(name); modes[1] != "000000" && err != nil {
			return err
		}
	}
	return nil
}

// Reset restores the files of a commit in the worktree: changed and new files are lost,
// except ignored ones. Its branch is at that commit then, and no other branch is touched,
// whichever is checked out in it.
func (w *Trees) Reset(ctx context.Context, t Tree, commit string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.check(t)
	if err == nil && !commitID.MatchString(commit) {
		err = fmt.Errorf("%q is no commit", commit)
	}
	if err == nil {
		err = reset(t.Path, t.Branch, commit, func(args []string) error {
			_, err := w.in(ctx, t.Path, args...)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("worktree: reset %q: %w", t.Task, err)
	}
	return nil
}

// onBranch are the arguments of git that put a worktree on its branch, with the files and
// the index that it has: the worker may have checked out something else.
func onBranch(branch string) []string {
	return []string{"symbolic-ref", "HEAD", "refs/heads/" + branch}
}

// reset resets a worktree. Folders that may not be written, such as Go's cache of modules
// has, can be by then.
func reset(dir, branch, commit string, git func(args []string) error) error {
	for _, args := range [][]string{onBranch(branch), {"reset", "--hard", "--quiet", commit}, {"clean", "-ffd", "--quiet"}} {
		err := git(args)
		if exit(err) > 0 {
			safepath.Unlock(dir)
			err = git(args)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ResetFolder is Reset for callers that know only the folder of a worktree and its branch,
// such as a worker that restarts. A folder that is no worktree, such as the top of a
// repository, is an error. One that was removed is made again if it was inside of its
// repository and the branch is there; else it is an error, too.
func ResetFolder(ctx context.Context, dir, branch, commit string) error {
	err := resetFolder(ctx, dir, branch, commit)
	if err != nil {
		return fmt.Errorf("worktree: reset %s: %w", dir, err)
	}
	return nil
}

func resetFolder(ctx context.Context, dir, branch, commit string) error {
	if branch == "" {
		return errors.New("the branch is not named")
	}
	if !commitID.MatchString(commit) {
		return fmt.Errorf("%q is no commit", commit)
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := placeAgain(ctx, dir, branch); err != nil {
			return err
		}
	}
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	if err != nil || !info.Mode().IsRegular() {
		return errors.New("it is no worktree")
	}
	folder := git.Repo{Dir: dir, Top: true, Time: defaultTime}
	return reset(dir, branch, commit, func(args []string) error {
		_, err := runGit(ctx, folder, args)
		return err
	})
}

// errGone says what helps if the folder of an attempt was removed.
var errGone = errors.New("the folder of this attempt was removed: a further attempt at the task makes a new one")

// placeAgain makes the folder of an attempt in the repository around it, from its branch.
func placeAgain(ctx context.Context, dir, branch string) error {
	w := &Trees{base: filepath.Dir(filepath.Dir(dir))}
	if !ofRun.MatchString(dir) || w.strays(dir, branch) {
		return errGone
	}
	around := filepath.Dir(dir)
	for _, err := os.Stat(around); errors.Is(err, fs.ErrNotExist); _, err = os.Stat(around) {
		around = filepath.Dir(around)
	}
	w.git = git.Repo{Dir: around, Time: defaultTime, Safe: git.Safe(ctx)}
	err := w.findCommon(ctx, Config{})
	if exit(err) == 128 {
		return errGone // it is in no repository
	}
	tip := ""
	if err == nil {
		tip, err = w.commit(ctx, "refs/heads/"+branch)
	}
	if err == nil && tip == "" {
		err = errGone
	}
	if err == nil {
		_, err = w.worktrees(ctx, "add", "--quiet", "--", dir, branch)
	}
	return err
}

// Remove removes the worktree of an attempt, whatever is in it; a missing one is no error.
// The branch stays until Delete.
func (w *Trees) Remove(ctx context.Context, t Tree) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.check(t)
	if err == nil {
		err = w.remove(ctx, t.Path)
	}
	if err != nil {
		return fmt.Errorf("worktree: remove %q: %w", t.Task, err)
	}
	return nil
}

// remove removes a folder below the base, and what git has for it. Without its .git, which
// goes first, nothing takes what is left of it after a kill for a worktree.
func (w *Trees) remove(ctx context.Context, dir string) error {
	_ = os.RemoveAll(filepath.Join(dir, ".git")) // if it fails, so does what follows, or removes that, too
	if err := safepath.RemoveAll(dir); err != nil {
		return err
	}
	err := w.exclusively(ctx, func() error {
		all, err := w.entries(dir)
		for _, e := range all {
			err = errors.Join(err, e.drop())
		}
		return err
	})
	_ = os.Remove(filepath.Dir(dir)) // fails while it has other folders
	_ = os.Remove(w.base)
	return err
}

// Delete removes the worktree and the branch of an attempt, and the refs that this package
// kept for it; missing ones are no error. Merged commits stay.
func (w *Trees) Delete(ctx context.Context, t Tree) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.check(t)
	if err == nil {
		err = w.drop(ctx, t)
	}
	if err != nil {
		return fmt.Errorf("worktree: delete %q: %w", t.Task, err)
	}
	return nil
}

func (w *Trees) drop(ctx context.Context, t Tree) error {
	if err := w.remove(ctx, t.Path); err != nil {
		return err
	}
	for _, ref := range []string{"refs/heads/" + t.Branch, w.ref("merge", t), w.ref("base", t)} {
		if _, err := w.do(ctx, "update-ref", "-d", ref); err != nil {
			return err
		}
	}
	return nil
}
