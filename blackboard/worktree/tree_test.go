package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

func TestCreate(t *testing.T) {
	t.Run("B94 BC22 from main, or from the branch of the parent", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		parent := create(t, w, "api_build", 1)
		assert.Equal(t, r.run("rev-parse", "main"), parent.Base)
		wip := change(t, w, parent, "wip", "1")
		child, err := w.Create(t.Context(), "research", 1, parent.Branch)
		require.NoError(t, err)
		assert.Equal(t, wip, child.Base)
		assert.Equal(t, "1", read(t, child.Path, "wip"))
		m, err := w.Merge(t.Context(), child, change(t, w, child, "found", "2"), parent.Branch, nil)
		require.NoError(t, err)
		assert.True(t, m.Merged)
		assert.Equal(t, "2", r.file(parent.Branch, "found"))
		assert.Equal(t, "2", read(t, parent.Path, "found"), "where the parent has a worktree, it follows")
		assert.NoFileExists(t, filepath.Join(r.Dir, "found"), "main has nothing of it")
		_, err = w.Create(t.Context(), "x", 1, "nothing")
		require.ErrorContains(t, err, `there is no commit "nothing" to start from`)
	})
	t.Run("BX30 again: the same, with all that is in it", func(t *testing.T) {
		r := newRepo(t)
		first := create(t, r.open(), "a", 1)
		write(t, first.Path, "wip", "1")
		write(t, r.Dir, "main.txt", "moved\n")
		r.run("commit", "--quiet", "--all", "-m", "main moves")
		again := create(t, r.open(), "a", 1)
		assert.Equal(t, first, again)
		assert.Equal(t, "1", read(t, again.Path, "wip"))
	})
	t.Run("BX30 B98 a worktree that was removed, and one that git was making", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		change(t, w, tree, "x", "1")
		require.NoError(t, os.RemoveAll(tree.Path))
		assert.Equal(t, "1", read(t, create(t, w, "a", 1).Path, "x"))
		require.NoError(t, os.Remove(filepath.Join(tree.Path, "x")))
		r.run("worktree", "lock", "--reason", "initializing", "--", tree.Path)
		assert.Equal(t, "1", read(t, create(t, w, "a", 1).Path, "x"))
		require.NoError(t, w.Remove(t.Context(), tree))
		write(t, tree.Path, "left", "behind")
		assert.NoFileExists(t, filepath.Join(create(t, w, "a", 1).Path, "left"))
	})
	t.Run("BA122 B79 B98 a new attempt starts from the main branch of now, and the old one stays", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		first := create(t, w, "a", 1)
		failed := change(t, w, first, "x", "bad")
		other := create(t, w, "b", 1)
		merge(t, w, other, change(t, w, other, "y", "good"))
		require.NoError(t, w.Remove(t.Context(), first))
		second := create(t, w, "a", 2)
		assert.Equal(t, "good", read(t, second.Path, "y"))
		assert.NoFileExists(t, filepath.Join(second.Path, "x"))
		assert.Equal(t, failed, r.run("rev-parse", first.Branch))
		require.NoError(t, w.Delete(t.Context(), first))
		assert.Equal(t, second.Branch, r.run("for-each-ref", "--format=%(refname:short)", "refs/heads/task/4e65d3fb/a"))
	})
	t.Run("BA77 BX8 a task without a name, attempt 0, and a tree of another run", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		_, err := w.Create(t.Context(), "", 1, "")
		require.ErrorContains(t, err, `task is "" and attempt 1`)
		_, err = w.Create(t.Context(), "a", 0, "")
		require.ErrorContains(t, err, "attempt 0")
		foreign := worktree.Tree{Task: "a", Attempt: 1, Branch: "main", Path: r.Dir, Base: r.run("rev-parse", "main")}
		for _, err := range []error{w.Remove(t.Context(), foreign), w.Delete(t.Context(), foreign), w.Reset(t.Context(), foreign, foreign.Base)} {
			require.ErrorContains(t, err, "no tree of this run")
		}
		_, err = w.Commit(t.Context(), foreign, worktree.Note{}, nil)
		require.ErrorContains(t, err, "no tree of this run")
		_, err = w.Merge(t.Context(), foreign, foreign.Base, "", nil)
		require.ErrorContains(t, err, "no tree of this run")
		_, err = w.Head(t.Context(), foreign)
		require.ErrorContains(t, err, "no tree of this run")
		_, err = w.Diff(t.Context(), foreign, foreign.Base, "", 10)
		require.ErrorContains(t, err, "no tree of this run")
		assert.FileExists(t, filepath.Join(r.Dir, "main.txt"))
	})
}

func TestCommit(t *testing.T) {
	t.Run("B95 B55 B96 what was named is committed to the branch", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		write(t, tree.Path, "artifacts/a.md", "1")
		write(t, tree.Path, "other", "2")
		require.NoError(t, os.Remove(filepath.Join(tree.Path, "main.txt")))
		id, err := w.Commit(t.Context(), tree, worktree.Note{Phase: "plan", Summary: "What\nis more"}, []string{"/artifacts/a.md", "main.txt"})
		require.NoError(t, err)
		assert.Equal(t, "[a] plan: What", r.run("log", "-1", "--format=%B", tree.Branch))
		assert.Equal(t, "A\tartifacts/a.md\nD\tmain.txt", r.run("diff", "--name-status", "main", tree.Branch))
		head, err := w.Head(t.Context(), tree)
		require.NoError(t, err)
		assert.Equal(t, id, head)
		_, err = w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err)
		assert.Equal(t, "2", r.file(tree.Branch, "other"))
		assert.Equal(t, "1\n2\n3\n4\n5\n", read(t, r.Dir, "main.txt"))
	})
	t.Run("B95 messages are one line of a summary of at most 50 characters", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "-m\nx", 1)
		write(t, tree.Path, "x", "1")
		_, err := w.Commit(t.Context(), tree, worktree.Note{Phase: "build", Summary: strings.Repeat("ä", 51)}, nil)
		require.NoError(t, err)
		assert.Equal(t, "[-m x] build: "+strings.Repeat("ä", 49)+"…", r.run("log", "-1", "--format=%B", tree.Branch))
	})
	t.Run("BA121 BX10 nothing has changed", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		for _, paths := range [][]string{nil, {}, {"main.txt"}} {
			_, err := w.Commit(t.Context(), tree, worktree.Note{Key: "k"}, paths)
			require.ErrorIs(t, err, worktree.ErrNoChange)
		}
	})
	t.Run("BX30 with a key it happens once", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		write(t, tree.Path, "x", "1")
		note := worktree.Note{Phase: "build", Summary: "x", Key: "root#7 \"ü\"\n"}
		id, err := w.Commit(t.Context(), tree, note, nil)
		require.NoError(t, err)
		again, err := w.Commit(t.Context(), tree, note, nil)
		require.NoError(t, err)
		assert.Equal(t, id, again)
		note.Key = "root#8"
		_, err = w.Commit(t.Context(), tree, note, nil)
		require.ErrorIs(t, err, worktree.ErrNoChange)
	})
	t.Run("BX7 BA70 paths and links that leave the worktree", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		for _, bad := range []string{"../x", ".git", "a/.GIT/hooks/x", `C:\x`, "", "."} {
			_, err := w.Commit(t.Context(), tree, worktree.Note{}, []string{bad})
			require.ErrorIs(t, err, worktree.ErrUnsafePath, bad)
		}
		for _, to := range []string{"/etc/passwd", "../../x", "../.git", ".git/config"} {
			require.NoError(t, os.MkdirAll(filepath.Join(tree.Path, "d"), 0o755))
			link := filepath.Join(tree.Path, "d", "link")
			if to == ".git/config" {
				link = filepath.Join(tree.Path, "link")
			}
			require.NoError(t, os.Symlink(to, link))
			_, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
			require.ErrorIs(t, err, worktree.ErrUnsafePath, to)
			require.NoError(t, os.Remove(link))
		}
		require.NoError(t, os.Symlink("../main.txt", filepath.Join(tree.Path, "d", "inside")))
		_, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err)
	})
	t.Run("BX7 a repository inside of the worktree", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		inner := *r
		inner.Dir = filepath.Join(tree.Path, "inner")
		require.NoError(t, os.Mkdir(inner.Dir, 0o755))
		inner.run("init", "--quiet")
		inner.run("commit", "--quiet", "--allow-empty", "-m", "x")
		_, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.ErrorIs(t, err, worktree.ErrUnsafePath)
		require.NoError(t, os.RemoveAll(inner.Dir))
		inner.Dir = filepath.Join(tree.Path, "with 'quotes'")
		write(t, inner.Dir, "x", "1")
		inner.run("init", "--quiet")
		_, err = w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.ErrorIs(t, err, worktree.ErrUnsafePath, "also without commits")
		require.ErrorContains(t, err, `"with 'quotes'" is a repository of its own`)
		require.NoError(t, os.RemoveAll(inner.Dir))
		write(t, tree.Path, "x", "1")
		_, err = w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err, "nothing of it was left staged")
		assert.Equal(t, "x", r.run("diff", "--name-only", "main", tree.Branch))
	})
	t.Run("BX8 names that look like options and patterns", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		for _, name := range []string{"-f", "*", ":(exclude)x", "ü b"} {
			if strings.Contains(name, ":") {
				continue // safepath refuses it
			}
			write(t, tree.Path, name, "1")
		}
		write(t, tree.Path, "other", "1")
		_, err := w.Commit(t.Context(), tree, worktree.Note{}, []string{"-f", "*", "ü b"})
		require.NoError(t, err)
		assert.Equal(t, "*\n-f\nü b", r.run("diff", "--name-only", "main", tree.Branch))
	})
	t.Run("B95 what is ignored is committed if it is named", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		write(t, tree.Path, ".gitignore", "dist/\n")
		write(t, tree.Path, "dist/x", "1")
		_, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err)
		assert.Equal(t, ".gitignore", r.run("diff", "--name-only", "main", tree.Branch))
		_, err = w.Commit(t.Context(), tree, worktree.Note{}, []string{"dist/x"})
		require.NoError(t, err)
		assert.Equal(t, "1", r.file(tree.Branch, "dist/x"))
	})
}

func TestReset(t *testing.T) {
	t.Run("BC59 B79 back to a commit", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		wip := change(t, w, tree, "x", "1")
		change(t, w, tree, "x", "2")
		write(t, tree.Path, "y/z", "3")
		write(t, tree.Path, "main.txt", "4")
		require.NoError(t, w.Reset(t.Context(), tree, wip))
		assert.Equal(t, "1", read(t, tree.Path, "x"))
		assert.Equal(t, "1\n2\n3\n4\n5\n", read(t, tree.Path, "main.txt"))
		assert.NoDirExists(t, filepath.Join(tree.Path, "y"))
		head, err := w.Head(t.Context(), tree)
		require.NoError(t, err)
		assert.Equal(t, wip, head)
		require.ErrorContains(t, w.Reset(t.Context(), tree, "--help"), `"--help" is no commit`)
	})
}

func TestRead(t *testing.T) {
	r := newRepo(t)
	w := r.open()
	tree := create(t, w, "a", 1)
	write(t, tree.Path, "bin", "a\x00b")
	write(t, tree.Path, "latin", "\xe4")
	write(t, tree.Path, "long", strings.Repeat("ä", 40_000))
	write(t, tree.Path, "d/x", "text\n")
	id, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
	require.NoError(t, err)
	t.Run("B68 B73 a file at the commit that is reviewed", func(t *testing.T) {
		write(t, tree.Path, "d/x", "changed")
		a, err := w.Read(t.Context(), id, "/d/x", 100)
		require.NoError(t, err)
		assert.Equal(t, worktree.Artifact{Path: "d/x", Size: 5, Text: "text\n"}, a)
	})
	t.Run("BX11 binary files by name and size", func(t *testing.T) {
		for name, size := range map[string]int64{"bin": 3, "latin": 1} {
			a, err := w.Read(t.Context(), id, name, 100)
			require.NoError(t, err)
			assert.Equal(t, worktree.Artifact{Path: name, Size: size, Binary: true}, a)
		}
	})
	t.Run("BX11 64 KiB of a long one, in whole characters", func(t *testing.T) {
		a, err := w.Read(t.Context(), id, "long", 64<<10-1)
		require.NoError(t, err)
		assert.EqualValues(t, 80_000, a.Size)
		assert.Equal(t, strings.Repeat("ä", 32<<10-1)+"\n[truncated: 65534 of 80000 bytes are shown]", a.Text)
	})
	t.Run("BX10 what is not there, and what is no file", func(t *testing.T) {
		for _, name := range []string{"d", "d/y", "nothing"} {
			_, err := w.Read(t.Context(), id, name, 100)
			require.ErrorIs(t, err, fs.ErrNotExist, name)
		}
		_, err := w.Read(t.Context(), id, "../x", 100)
		require.ErrorIs(t, err, worktree.ErrUnsafePath)
		_, err = w.Read(t.Context(), "HEAD", "d/x", 100)
		require.ErrorContains(t, err, `"HEAD" is no commit`)
	})
	t.Run("B74 what was changed since the attempt began", func(t *testing.T) {
		text, err := w.Diff(t.Context(), tree, id, "", 1<<20)
		require.NoError(t, err)
		assert.Contains(t, text, "+++ b/d/x\n@@ -0,0 +1 @@\n+text")
		text, err = w.Diff(t.Context(), tree, id, "", 10)
		require.NoError(t, err)
		assert.Contains(t, text, "\n[truncated: 10 of ")
		_, err = w.Diff(t.Context(), tree, "--output=/tmp/x", "", 10)
		require.ErrorContains(t, err, "is no commit")
	})
	t.Run("BX11 B74 changes that are too long to be shown", func(t *testing.T) {
		text, err := w.Diff(t.Context(), tree, change(t, w, create(t, w, "long", 1), "long", strings.Repeat("x", 32<<20)), "", 1<<20)
		require.NoError(t, err)
		assert.Regexp(t, `^\[the changes are too long: only the names of the files are shown\]\n long +\| +1 \+\n`, text)
	})
	t.Run("B74 a git that was killed has not shown that they are too long", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("git is replaced by a shell script")
		}
		c := r.config()
		c.Time = 3 * time.Second
		w, err := worktree.Open(t.Context(), c)
		require.NoError(t, err)
		real, err := exec.LookPath("git")
		require.NoError(t, err)
		dir := t.TempDir()
		script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *--patch*) exec sleep 60;; esac\nexec '%s' \"$@\"\n", real)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700))
		t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")) //nolint:forbidigo // of the test's own process
		_, err = w.Diff(t.Context(), tree, id, "", 1<<20)
		require.ErrorContains(t, err, "killed after the time limit of 3s")
	})
}

func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Run("the folder of a run is there as long as something is in it", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		base := filepath.Join(r.Dir, "worktrees", worktree.Short("run-1"))
		for range 2 {
			one, two := create(t, w, "one", 1), create(t, w, "two", 1)
			require.NoError(t, w.Remove(t.Context(), one))
			assert.DirExists(t, base)
			require.NoError(t, w.Remove(t.Context(), two))
			assert.NoDirExists(t, base)
			removed, err := w.Sweep(t.Context(), nil)
			require.NoError(t, err)
			assert.Empty(t, removed)
			require.NoError(t, w.Delete(t.Context(), one))
			require.NoError(t, w.Delete(t.Context(), two))
		}
	})
	t.Run("BX6 B97 B99 worktrees that no live task has", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		live, orphan := create(t, w, "live", 1), create(t, w, "orphan", 1)
		outside := filepath.Join(filepath.Dir(r.Dir), "mine")
		r.run("worktree", "add", "--quiet", "-b", "mine", "--", outside)
		gone := filepath.Join(filepath.Dir(r.Dir), "on another disk")
		r.run("worktree", "add", "--quiet", "-b", "gone", "--", gone)
		require.NoError(t, os.RemoveAll(gone))
		c := r.config()
		c.Run = "run-2"
		other, err := worktree.Open(t.Context(), c)
		require.NoError(t, err)
		others := create(t, other, "orphan", 1)
		unknown := filepath.Join(filepath.Dir(filepath.Dir(live.Path)), "x", "a1")
		write(t, unknown, "y", "1")

		removed, err := w.Sweep(t.Context(), []string{live.Branch})
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{orphan.Path, unknown}, removed)
		assert.DirExists(t, live.Path)
		assert.NoDirExists(t, orphan.Path)
		assert.NoDirExists(t, filepath.Dir(unknown))
		assert.DirExists(t, outside)
		assert.DirExists(t, others.Path)
		assert.Contains(t, r.run("worktree", "list"), "on another disk", "what git knows of others stays")
		assert.NotContains(t, r.run("worktree", "list"), "orphan/a1 "+"x")
		assert.Equal(t, orphan.Base, r.run("rev-parse", orphan.Branch), "the branch stays")
		removed, err = w.Sweep(t.Context(), []string{live.Branch})
		require.NoError(t, err)
		assert.Empty(t, removed)
	})
	t.Run("B99 abandoned: worktree and branch are removed, main is unchanged", func(t *testing.T) {
		r := newRepo(t)
		before := r.run("rev-parse", "main")
		w := r.open()
		tree := create(t, w, "a", 1)
		change(t, w, tree, "x", "1")
		for range 2 {
			require.NoError(t, w.Delete(t.Context(), tree))
		}
		assert.NoDirExists(t, filepath.Dir(tree.Path))
		assert.Equal(t, before, r.run("rev-parse", "main"))
		assert.Equal(t, "refs/heads/main", r.run("for-each-ref", "--format=%(refname)"))
	})
}

func TestChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Run("BC66 B8 the files that a commit changed, with their hashes", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		write(t, tree.Path, "x", "1")
		require.NoError(t, os.Remove(filepath.Join(tree.Path, "main.txt")))
		id, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err)
		want := map[string]string{"x": r.run("rev-parse", id+":x"), "main.txt": ""}
		for _, from := range []string{"", tree.Base} {
			files, err := w.Changed(t.Context(), from, id)
			require.NoError(t, err)
			assert.Equal(t, want, files)
		}
		files, err := w.Changed(t.Context(), id, id)
		require.NoError(t, err)
		assert.Empty(t, files)
		_, err = w.Changed(t.Context(), "--help", id)
		require.ErrorContains(t, err, "is no commit")
	})
	t.Run("BC66 B8 what a merge brought, and nothing of others", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree, idle := create(t, w, "a", 1), create(t, w, "b", 1)
		m := merge(t, w, idle, idle.Base)
		require.Equal(t, idle.Base, m.Commit, "it was there before")
		files, err := w.Brought(t.Context(), m.Commit, idle.Base)
		require.NoError(t, err)
		assert.Empty(t, files, "of the first commit of a repository")
		id := change(t, w, tree, "x", "1")
		m = merge(t, w, tree, id)
		files, err = w.Brought(t.Context(), m.Commit, id)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"x": r.run("rev-parse", id+":x")}, files)
		m = merge(t, w, idle, idle.Base)
		files, err = w.Brought(t.Context(), m.Commit, idle.Base)
		require.NoError(t, err)
		assert.Empty(t, files)
		_, err = w.Brought(t.Context(), "--help", id)
		require.ErrorContains(t, err, "is no commit")
	})
	t.Run("BC61 a merge that is made again is the same commit", func(t *testing.T) {
		r := newRepo(t)
		r.At = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
		r.run("commit", "--quiet", "--amend", "--no-edit", "--date=@0")
		w := r.open()
		tree := create(t, w, "a", 1)
		write(t, tree.Path, "x", "1")
		at := r.At.Add(time.Hour)
		id, err := w.Commit(t.Context(), tree, worktree.Note{At: at.Add(time.Millisecond)}, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{fmt.Sprint(at.Unix()), fmt.Sprint(at.Unix())}, strings.Fields(r.run("log", "-1", "--format=%at %ct", id)))
		var made []string
		for range 2 {
			_, err := w.Merge(t.Context(), tree, id, "", func(_ context.Context, merge, onto string) error {
				assert.Equal(t, tree.Base, onto)
				made = append(made, merge)
				return errors.New("not yet")
			})
			require.ErrorContains(t, err, "not yet")
		}
		assert.Equal(t, made[0], made[1])
		assert.Equal(t, fmt.Sprint(at.Unix()), r.run("log", "-1", "--format=%ct", made[0]), "of the later of its parents")
	})
	t.Run("BC59 ResetFolder needs only the folder and its branch", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		wip := change(t, w, tree, "x", "1")
		write(t, tree.Path, "x", "2")
		write(t, tree.Path, "y", "3")
		require.NoError(t, worktree.ResetFolder(t.Context(), tree.Path, tree.Branch, wip))
		assert.Equal(t, "1", read(t, tree.Path, "x"))
		assert.NoFileExists(t, filepath.Join(tree.Path, "y"))
		require.ErrorContains(t, worktree.ResetFolder(t.Context(), r.Dir, tree.Branch, wip), "it is no worktree")
		require.ErrorContains(t, worktree.ResetFolder(t.Context(), tree.Path, tree.Branch, "main"), "is no commit")
		require.ErrorContains(t, worktree.ResetFolder(t.Context(), tree.Path, "", wip), "the branch is not named")
	})
	t.Run("BC59 BX2 ResetFolder makes a folder again that was removed", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree, other := create(t, w, "a", 1), create(t, w, "b", 1)
		wip := change(t, w, tree, "x", "1")
		require.NoError(t, os.RemoveAll(filepath.Join(r.Dir, "worktrees")))
		var both sync.WaitGroup
		both.Go(func() {
			assert.NoError(t, worktree.ResetFolder(t.Context(), other.Path, other.Branch, other.Base))
		})
		both.Go(func() { assert.NoError(t, worktree.ResetFolder(t.Context(), tree.Path, tree.Branch, wip)) })
		both.Wait()
		assert.Equal(t, "1", read(t, tree.Path, "x"))
		assert.True(t, merge(t, w, tree, change(t, w, tree, "y", "2")).Merged)
		assert.Equal(t, "1\n2\n3\n4\n5\n", read(t, other.Path, "main.txt"))
	})
	t.Run("BC59 BX2 what cannot be made again says what helps", func(t *testing.T) {
		r := newRepo(t)
		c := r.config()
		c.Base = filepath.Join(filepath.Dir(r.Dir), "trees")
		w, err := worktree.Open(t.Context(), c)
		require.NoError(t, err)
		outside := create(t, w, "a", 1)
		require.NoError(t, os.RemoveAll(c.Base))
		w = r.open()
		deleted, tree := create(t, w, "b", 1), create(t, w, "c", 1)
		require.NoError(t, w.Delete(t.Context(), deleted))
		require.NoError(t, w.Remove(t.Context(), tree))
		for path, branch := range map[string]string{outside.Path: outside.Branch, deleted.Path: deleted.Branch, tree.Path: "main", filepath.Join(r.Dir, "missing"): tree.Branch} {
			err := worktree.ResetFolder(t.Context(), path, branch, tree.Base)
			require.ErrorContains(t, err, "the folder of this attempt was removed: a further attempt at the task makes a new one")
			assert.NoDirExists(t, path)
		}
	})
}
