package worktree_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/internal/git"
	"github.com/convene-go/convene/internal/git/gittest"
)

// repo is a repository for a test.
type repo struct {
	git.Repo
	t testing.TB
}

// newRepo makes one whose main branch has a file of five lines.
func newRepo(t testing.TB) *repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &repo{Repo: git.Repo{Dir: filepath.Join(dir, "repo"), Name: "Ann", Email: "ann@example.org"}, t: t}
	require.NoError(t, os.Mkdir(r.Dir, 0o755))
	r.run("init", "--quiet")
	write(t, r.Dir, "main.txt", "1\n2\n3\n4\n5\n")
	r.run("add", "--all")
	r.run("commit", "--quiet", "-m", "first")
	return r
}

func (r *repo) run(args ...string) string {
	r.t.Helper()
	out, err := r.Run(r.t.Context(), args...)
	require.NoError(r.t, err)
	return strings.TrimSpace(out)
}

// file is the content of a file at a revision.
func (r *repo) file(revision, name string) string {
	r.t.Helper()
	return r.run("show", revision+":"+name)
}

func (r *repo) config() worktree.Config { return worktree.Config{Repo: r.Dir, Run: "run-1"} }

func (r *repo) open() *worktree.Trees {
	r.t.Helper()
	w, err := worktree.Open(r.t.Context(), r.config())
	require.NoError(r.t, err)
	return w
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func read(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(data)
}

func create(t testing.TB, w *worktree.Trees, task string, attempt int) worktree.Tree {
	t.Helper()
	tree, err := w.Create(t.Context(), task, attempt, "")
	require.NoError(t, err)
	return tree
}

// change writes a file in a tree and commits it.
func change(t testing.TB, w *worktree.Trees, tree worktree.Tree, name, content string) string {
	t.Helper()
	write(t, tree.Path, name, content)
	id, err := w.Commit(t.Context(), tree, worktree.Note{Phase: "build", Summary: "change " + name}, []string{name})
	require.NoError(t, err)
	return id
}

func merge(t testing.TB, w *worktree.Trees, tree worktree.Tree, commit string) worktree.Merge {
	t.Helper()
	m, err := w.Merge(t.Context(), tree, commit, "", nil)
	require.NoError(t, err)
	return m
}

func TestNames(t *testing.T) {
	t.Run("BC8 BC60 BX31 the branch of an attempt", func(t *testing.T) {
		// the first digits of SHA-256 of "run-1"
		assert.Equal(t, "4e65d3fb", worktree.Short("run-1"))
		assert.Equal(t, "task/4e65d3fb/api_build/a2", worktree.Branch("task", "run-1", "api_build", 2))
	})
	t.Run("BX8 BA74 a task that would be a command", func(t *testing.T) {
		assert.Equal(t, "task/4e65d3fb/api-build-rm-rf-ac31ec/a1", worktree.Branch("task", "run-1", "api build; rm -rf /", 1))
	})
	t.Run("BX9 BA72 tasks that differ in case have different branches", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		one, two := create(t, w, "db_plan", 1), create(t, w, "DB_Plan", 1)
		assert.NotEqual(t, one.Branch, two.Branch)
		assert.Equal(t, "task/4e65d3fb/db_plan-c1f521/a1", two.Branch)
		assert.NotEqual(t, one.Path, two.Path)
	})
	t.Run("BC62 2.38 or later", func(t *testing.T) {
		for text, want := range map[string]bool{
			"git version 2.39.5": true, "git version 2.38.0": true, "git version 3.0": true, "git version 2.51.0 (Apple Git-155)": true,
			"git version 2.37.9": false, "git version 1.99": false, "something else": false,
		} {
			assert.Equal(t, want, worktree.Recent(text), text)
		}
	})
}

func TestOpen(t *testing.T) {
	t.Run("BX5 a folder that is no repository", func(t *testing.T) {
		for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
			c := worktree.Config{Repo: dir, Run: "r"}
			_, err := worktree.Open(t.Context(), c)
			require.ErrorIs(t, err, worktree.ErrNoRepo)
			c.Init = true
			w, err := worktree.Open(t.Context(), c)
			require.NoError(t, err)
			tree := create(t, w, "a", 1)
			assert.True(t, merge(t, w, tree, change(t, w, tree, "x", "1")).Merged)
			assert.Equal(t, "1", read(t, dir, "x"), "the folder has the branch checked out and follows")
		}
	})
	t.Run("BX5 a folder of another repository is not that repository", func(t *testing.T) {
		r := newRepo(t)
		inner := filepath.Join(r.Dir, "inner")
		require.NoError(t, os.Mkdir(inner, 0o755))
		_, err := worktree.Open(t.Context(), worktree.Config{Repo: inner, Run: "r"})
		require.ErrorIs(t, err, worktree.ErrNoRepo)
		require.ErrorContains(t, err, "it is a folder of the repository "+r.Dir)
		_, err = worktree.Open(t.Context(), worktree.Config{Repo: filepath.Join(r.Dir, ".git"), Run: "r"})
		require.ErrorIs(t, err, worktree.ErrNoRepo)
	})
	t.Run("BX5 no commits: there is an empty one", func(t *testing.T) {
		r := newRepo(t)
		r.Dir = t.TempDir()
		r.run("init", "--quiet")
		w := r.open()
		assert.Equal(t, "Empty", r.run("log", "--format=%s", "main"))
		assert.Empty(t, r.run("status", "--porcelain"))
		tree := create(t, w, "a", 1)
		assert.True(t, merge(t, w, tree, change(t, w, tree, "x", "1")).Merged)
	})
	t.Run("BX5 a bare one", func(t *testing.T) {
		r := newRepo(t)
		bare := r.Dir + ".git"
		require.NoError(t, os.CopyFS(bare, os.DirFS(filepath.Join(r.Dir, ".git"))))
		r.Dir = bare
		r.run("config", "core.bare", "true")
		w := r.open()
		tree := create(t, w, "a", 1)
		assert.Equal(t, filepath.Join(bare+".worktrees", "4e65d3fb", "a", "a1"), tree.Path)
		assert.True(t, merge(t, w, tree, change(t, w, tree, "x", "1")).Merged)
		assert.Equal(t, "1", r.file("main", "x"))
		c := r.config()
		c.Base = "inside"
		_, err := worktree.Open(t.Context(), c)
		require.ErrorContains(t, err, "in a bare one")
	})
	t.Run("BX5 a detached head, and no name of a committer", func(t *testing.T) {
		r := newRepo(t)
		r.run("checkout", "--quiet", "--detach")
		head := r.run("rev-parse", "HEAD")
		w := r.open()
		tree := create(t, w, "a", 1)
		assert.True(t, merge(t, w, tree, change(t, w, tree, "x", "1")).Merged)
		assert.Equal(t, head, r.run("rev-parse", "HEAD"))
		assert.Equal(t, "Convene <convene@localhost>", r.run("log", "-1", "--format=%an <%ae>", "main"))
		assert.Empty(t, r.run("status", "--porcelain"))
		_, err := r.Run(t.Context(), "config", "--local", "user.name")
		require.Error(t, err, "no name is configured")
	})
	t.Run("BX5 no such main branch", func(t *testing.T) {
		r := newRepo(t)
		c := r.config()
		c.Main = "trunk"
		_, err := worktree.Open(t.Context(), c)
		require.ErrorContains(t, err, `it has no branch "trunk", but ["main"]`)
		r.run("checkout", "--quiet", "--detach")
		r.run("branch", "-D", "main")
		_, err = worktree.Open(t.Context(), r.config())
		require.ErrorContains(t, err, "its HEAD is detached")
	})
	t.Run("BX8 bad settings, all at once", func(t *testing.T) {
		_, err := worktree.Open(t.Context(), worktree.Config{Main: "-x", Prefix: "a..b"})
		require.EqualError(t, err, "worktree: config: Repo is empty\nconfig: Run is empty\n"+
			`config: Main is "-x", want words of letters, digits, _ and - with / between them`+"\n"+
			`config: Prefix is "a..b", want words of letters, digits, _ and - with / between them`)
	})
	t.Run("BC62 B101 the folder for worktrees is ignored by git", func(t *testing.T) {
		r := newRepo(t)
		for range 2 {
			tree := create(t, r.open(), "a", 1)
			assert.Equal(t, filepath.Join(r.Dir, "worktrees", "4e65d3fb", "a", "a1"), tree.Path)
		}
		assert.Empty(t, r.run("status", "--porcelain"))
		assert.Equal(t, 1, strings.Count(read(t, r.Dir, ".git/info/exclude"), "/worktrees/"))
	})
	t.Run("B101 a folder for worktrees that has files of the repository", func(t *testing.T) {
		r := newRepo(t)
		write(t, r.Dir, "src/x", "1")
		r.run("add", "--all")
		r.run("commit", "--quiet", "-m", "src")
		for base, want := range map[string]string{"src": "has files that are in the repository: set Base to another one", ".": "is the repository itself", "src/x": ": set Base to another one"} {
			c := r.config()
			c.Base = base
			_, err := worktree.Open(t.Context(), c)
			require.ErrorContains(t, err, want)
		}
	})
	t.Run("B101 BC62 a list of what git ignores that cannot be written", func(t *testing.T) {
		r := newRepo(t)
		exclude := filepath.Join(r.Dir, ".git", "info", "exclude")
		require.NoError(t, os.RemoveAll(exclude))
		write(t, exclude, "x", "in its place")
		_, err := worktree.Open(t.Context(), r.config())
		require.ErrorContains(t, err, "let git ignore the folder for worktrees: ")
		require.ErrorContains(t, err, ": set Base to one outside of the repository")
	})
	t.Run("BX8 BC60 a branch with the name of a folder of branches", func(t *testing.T) {
		for branch, prefix := range map[string]string{"task": "", "team": "team/work", "team/work": "team/work", "task/4e65d3fb": ""} {
			r := newRepo(t)
			r.run("branch", branch)
			c := r.config()
			c.Prefix = prefix
			_, err := worktree.Open(t.Context(), c)
			require.ErrorContains(t, err, `it has a branch "`+branch+`", so that git can have no branches `+branch+"/...: set Prefix to another word, or rename that branch")
			c.Prefix = "other"
			w, err := worktree.Open(t.Context(), c)
			require.NoError(t, err)
			create(t, w, "a", 1)
		}
	})
}

func TestAnotherOwner(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	r := newRepo(t)
	gittest.OtherOwner(t)
	_, err := worktree.Open(t.Context(), r.config())
	require.ErrorIs(t, err, worktree.ErrNoRepo)
	require.ErrorContains(t, err, "git config --global --add safe.directory "+r.Dir, "git says what to do")

	gittest.Configured(t, "[safe]\n\tdirectory = *\n")
	w := r.open()
	tree := create(t, w, "a", 1)
	merge(t, w, tree, change(t, w, tree, "x", "1"))
	assert.Equal(t, "1", read(t, r.Dir, "x"))
}

func TestDirty(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Run("BA120 BX3 changes are refused before anything is done", func(t *testing.T) {
		for _, name := range []string{"main.txt", "new.txt"} {
			r := newRepo(t)
			write(t, r.Dir, name, "mine")
			_, err := worktree.Open(t.Context(), r.config())
			require.ErrorIs(t, err, worktree.ErrDirtyRepo)
			require.ErrorContains(t, err, "has changes in \""+name+"\": commit, stash or ignore them; or set AllowDirty")
			assert.Equal(t, "mine", read(t, r.Dir, name))
		}
	})
	t.Run("BX3 what the user ignores in all repositories is no change", func(t *testing.T) {
		write(t, gittest.Configured(t, ""), ".config/git/ignore", ".DS_Store\n")
		r := newRepo(t)
		write(t, r.Dir, ".DS_Store", "mine")
		w := r.open()
		tree := create(t, w, "a", 1)
		_, err := w.Merge(t.Context(), tree, change(t, w, tree, ".DS_Store", "theirs"), "", nil)
		require.ErrorContains(t, err, "would overwrite "+filepath.Join(r.Dir, ".DS_Store"))
		assert.Equal(t, "mine", read(t, r.Dir, ".DS_Store"))
		tree = create(t, w, "b", 1)
		assert.Empty(t, merge(t, w, tree, change(t, w, tree, "x", "1")).Behind)
		assert.Equal(t, "mine", read(t, r.Dir, ".DS_Store"))
	})
	t.Run("BX3 the first of many changes are named", func(t *testing.T) {
		r := newRepo(t)
		r.run("mv", "main.txt", "moved")
		for _, name := range []string{"a file", "b\nc", "d", "e"} {
			write(t, r.Dir, name, "mine")
		}
		_, err := worktree.Open(t.Context(), r.config())
		require.ErrorContains(t, err, `has changes in "main.txt", "moved", "a file" and 3 more: `)
	})
	t.Run("BX3 a merge that is under way is a change", func(t *testing.T) {
		r := newRepo(t)
		write(t, r.Dir, ".git/MERGE_HEAD", r.run("rev-parse", "HEAD")+"\n")
		_, err := worktree.Open(t.Context(), r.config())
		require.ErrorIs(t, err, worktree.ErrDirtyRepo)
		require.ErrorContains(t, err, "is in the middle of a merge or rebase: end it")
	})
	t.Run("BX3 a rebase of main that is under way is a change, and is not in the way afterwards", func(t *testing.T) {
		r := newRepo(t)
		r.run("checkout", "--quiet", "-b", "other")
		write(t, r.Dir, "main.txt", "theirs")
		r.run("commit", "--quiet", "-a", "-m", "theirs")
		r.run("checkout", "--quiet", "main")
		write(t, r.Dir, "main.txt", "mine")
		r.run("commit", "--quiet", "-a", "-m", "mine")
		w := r.open()
		tree := create(t, w, "a", 1)
		work := change(t, w, tree, "x", "1")
		mine := r.run("rev-parse", "main")
		_, err := r.Run(t.Context(), "rebase", "other")
		require.Error(t, err, "it stops at the conflict")

		other := r.config()
		other.Run = "run-2"
		_, err = worktree.Open(t.Context(), other)
		require.ErrorIs(t, err, worktree.ErrDirtyRepo)
		require.ErrorContains(t, err, "is in the middle of a rebase: end it; or set AllowDirty")
		_, err = w.Merge(t.Context(), tree, work, "", nil)
		require.ErrorIs(t, err, worktree.ErrDirtyRepo)
		assert.Equal(t, mine, r.run("rev-parse", "main"))

		r.run("rebase", "--abort")
		assert.True(t, merge(t, w, tree, work).Merged)
		assert.Equal(t, "1", r.file("main", "x"))
	})
	t.Run("BX3 if they are allowed, main is not touched", func(t *testing.T) {
		r := newRepo(t)
		before := r.run("rev-parse", "main")
		write(t, r.Dir, "main.txt", "mine")
		c := r.config()
		c.AllowDirty = true
		w, err := worktree.Open(t.Context(), c)
		require.NoError(t, err)
		assert.Equal(t, "orchestrator/4e65d3fb", w.Target())
		tree := create(t, w, "a", 1)
		assert.True(t, merge(t, w, tree, change(t, w, tree, "x", "1")).Merged)
		assert.Equal(t, before, r.run("rev-parse", "main"))
		assert.Equal(t, "1", r.file("orchestrator/4e65d3fb", "x"))
		assert.Equal(t, "mine", read(t, r.Dir, "main.txt"))
		r.run("checkout", "--quiet", "--", "main.txt")
		assert.Equal(t, "orchestrator/4e65d3fb", r.open().Target(), "it stays so")
		assert.Equal(t, "1", read(t, create(t, w, "b", 1).Path, "x"), "later attempts start from there")
	})
	t.Run("BX3 a clean folder follows main", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		require.NoError(t, os.Remove(filepath.Join(tree.Path, "main.txt")))
		write(t, tree.Path, "src/x", "1")
		id, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err)
		m := merge(t, w, tree, id)
		assert.Empty(t, m.Behind)
		assert.Empty(t, r.run("status", "--porcelain"))
		assert.Equal(t, "1", read(t, r.Dir, "src/x"))
		assert.NoFileExists(t, filepath.Join(r.Dir, "main.txt"))
		assert.Empty(t, r.run("for-each-ref", "refs/convene/forward"))
	})
	t.Run("BX3 a folder that was changed meanwhile is refused, and nothing is merged", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		id := change(t, w, tree, "x", "1")
		write(t, r.Dir, "x", "mine")
		before := r.run("rev-parse", "main")
		_, err := w.Merge(t.Context(), tree, id, "", nil)
		require.ErrorIs(t, err, worktree.ErrDirtyRepo)
		assert.Equal(t, before, r.run("rev-parse", "main"))
		assert.Equal(t, "mine", read(t, r.Dir, "x"))
	})
	t.Run("BX3 changes made while main moves are kept", func(t *testing.T) {
		r := newRepo(t)
		w, err := worktree.OpenStopping(t.Context(), r.config(), func(args []string) error {
			if len(args) == 4 && args[1] == "refs/heads/main" {
				write(t, r.Dir, "main.txt", "mine")
			}
			return nil
		})
		require.NoError(t, err)
		tree := create(t, w, "a", 1)
		m := merge(t, w, tree, change(t, w, tree, "main.txt", "theirs"))
		assert.True(t, m.Merged)
		assert.Equal(t, r.Dir, m.Behind)
		assert.Equal(t, "mine", read(t, r.Dir, "main.txt"))
		r.run("restore", "--source="+tree.Base, "--", "main.txt")
		_, err = w.Sweep(t.Context(), []string{tree.Branch})
		require.NoError(t, err)
		assert.Equal(t, "theirs", read(t, r.Dir, "main.txt"), "it follows when it can")
		assert.Empty(t, r.run("status", "--porcelain"))
	})
}

func TestNothingIsExecuted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("hooks are shell scripts")
	}
	t.Run("BX8 hooks and filters of the repository are not run", func(t *testing.T) {
		r := newRepo(t)
		trace := filepath.Join(t.TempDir(), "trace")
		for _, hook := range []string{"post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"} {
			write(t, r.Dir, ".git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >>'"+trace+"'\n")
			require.NoError(t, os.Chmod(filepath.Join(r.Dir, ".git", "hooks", hook), 0o755))
		}
		r.run("config", "filter.bad.smudge", "tee -a "+trace)
		r.run("config", "filter.bad.clean", "tee -a "+trace)
		write(t, r.Dir, ".git/info/attributes", "* filter=bad\n")
		w := r.open()
		tree := create(t, w, "a", 1)
		assert.True(t, merge(t, w, tree, change(t, w, tree, "x", "1")).Merged)
		require.NoError(t, w.Delete(t.Context(), tree))
		assert.NoFileExists(t, trace)
	})
}

// A filter turns letters, so that a file differs from what is in the repository.
func TestFilters(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the filter is tr")
	}
	r := newRepo(t)
	user := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = r.Dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	for _, way := range []string{"clean", "smudge"} {
		user("config", "filter.turn."+way, "tr a-z n-za-m")
	}
	write(t, r.Dir, ".gitattributes", "*.secret filter=turn\nplain.secret -filter\n")
	write(t, r.Dir, "a.secret", "text")
	write(t, r.Dir, "plain.secret", "text")
	user("add", "--all")
	user("-c", "user.name=u", "-c", "user.email=u@localhost", "commit", "--quiet", "-m", "filter")
	touch := func(name string) {
		then := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(r.Dir, name), then, then))
	}
	t.Run("BA120 BX3 BX8 a file that only looks changed without its filter", func(t *testing.T) {
		touch("a.secret")
		_, err := worktree.Open(t.Context(), r.config())
		require.ErrorIs(t, err, worktree.ErrDirtyRepo)
		require.ErrorContains(t, err, `has changes in "a.secret": commit, stash or ignore them; the filter of "a.secret" is not run here: if git status, which runs it, shows no change, try again; or set AllowDirty`)
		c := r.config()
		c.Run, c.AllowDirty = "run-2", true
		_, err = worktree.Open(t.Context(), c)
		require.NoError(t, err)
		assert.Empty(t, user("status", "--porcelain"))
		r.open()
	})
	t.Run("BX3 changes of files without a filter say nothing of filters", func(t *testing.T) {
		write(t, r.Dir, "plain.secret", "mine")
		c := r.config()
		c.Run = "run-3"
		_, err := worktree.Open(t.Context(), c)
		require.ErrorContains(t, err, `has changes in "plain.secret": commit, stash or ignore them; or set AllowDirty`)
		user("checkout", "--quiet", "--", "plain.secret")
	})
	t.Run("BX8 what a worker sees and writes", func(t *testing.T) {
		w := r.open()
		tree := create(t, w, "a", 1)
		assert.Equal(t, "grkg", read(t, tree.Path, "a.secret"))
		merge(t, w, tree, change(t, w, tree, "b.secret", "plain"))
		assert.Equal(t, "plain", r.file("main", "b.secret"))
		assert.Equal(t, "plain", read(t, r.Dir, "b.secret"))
		assert.Equal(t, "text", read(t, r.Dir, "a.secret"))
	})
}

func TestCanceled(t *testing.T) {
	t.Run("BX1 a context that has ended", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := w.Create(ctx, "a", 1, "")
		require.ErrorIs(t, err, context.Canceled)
		_, err = worktree.Open(ctx, r.config())
		require.ErrorIs(t, err, context.Canceled)
	})
}
