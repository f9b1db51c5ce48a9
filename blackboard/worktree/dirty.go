package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// dirty looks for a folder with changes of its own that has a branch checked out or rebases
// it. It returns the folder, and ErrDirtyRepo with the way to mend it. A worktree that is
// not whole is not looked at.
func (w *Trees) dirty(ctx context.Context, branch string) (dir string, dirty, err error) {
	trees, err := w.list(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, t := range trees {
		var what string
		switch {
		case !t.whole():
		case t.branch == branch:
			what, err = w.status(ctx, t.path)
		case t.branch == "":
			var rebases bool
			if rebases, err = w.rebases(ctx, t.path, branch); rebases {
				what = "is in the middle of a rebase: end it"
			}
		}
		if err != nil || what != "" {
			return t.path, fmt.Errorf("%w: %s, which has the branch %q, %s", ErrDirtyRepo, t.path, branch, what), err
		}
	}
	return "", nil, nil
}

// rebases says whether a folder with a detached HEAD is in the middle of a rebase of a
// branch: its end would set the branch to where it was, and lose merges made meanwhile.
func (w *Trees) rebases(ctx context.Context, dir, branch string) (bool, error) {
	paths, err := w.in(ctx, dir, "rev-parse", "--path-format=absolute", "--git-path", "rebase-merge/head-name", "--git-path", "rebase-apply/head-name")
	if exit(err) == 128 {
		return false, nil // others have broken it
	}
	if err != nil {
		return false, err
	}
	for path := range strings.SplitSeq(paths, "\n") {
		name, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
		if strings.TrimSpace(string(name)) == "refs/heads/"+branch {
			return true, nil
		}
	}
	return false, nil
}

// status returns which changes of its own a folder has, and what to do; "": none. A merge,
// a rebase or the like that is in progress counts as a change.
func (w *Trees) status(ctx context.Context, dir string) (string, error) {
	r := w.git
	r.Dir, r.Top, r.Ignore = dir, dir != w.git.Dir, true
	out, err := runGit(ctx, r, []string{"--no-optional-locks", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"})
	if err != nil {
		return "", err
	}
	if out != "" {
		what := "has changes in " + named(out) + ": commit, stash or ignore them"
		file, err := w.filtered(ctx, dir)
		if file != "" {
			what += fmt.Sprintf("; the filter of %q is not run here: if git status, which runs it, shows no change, try again", file)
		}
		return what, err
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		path, err := w.in(ctx, dir, "rev-parse", "--path-format=absolute", "--git-path", name)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(path); err == nil {
			return "is in the middle of a merge or rebase: end it", nil
		}
	}
	return "", nil
}

// filtered returns the first changed file of a folder that has a filter, "" if there is none.
// Without the filter, each of them whose time is not the one in the index looks changed; git
// status of a user writes the index.
func (w *Trees) filtered(ctx context.Context, dir string) (string, error) {
	files, err := w.in(ctx, dir, "ls-files", "--modified", "-z", "--", ":(exclude,attr:!filter)", ":(exclude,attr:-filter)")
	first, _, _ := strings.Cut(files, "\x00")
	return first, err
}

// named lists the first files of what git status prints with -z.
func named(status string) string {
	const most = 3
	entries := strings.Split(strings.TrimSuffix(status, "\x00"), "\x00")
	names := make([]string, 0, most)
	for _, entry := range entries[:min(most, len(entries))] {
		names = append(names, strconv.Quote(entry[len("XY "):]))
	}
	list := strings.Join(names, ", ")
	if more := len(entries) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
