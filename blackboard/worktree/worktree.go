// Package worktree gives each attempt at a task a git worktree and a branch of its own. It
// merges work that has passed its review into the main branch, one merge a task.
//
// The program git does the work, without a shell. It runs nothing that the repository or a
// user has configured: no hooks, filters or drivers. The name of the committer is passed
// with each command and written to no configuration. Two values of the user's configuration
// count. Without safe.directory, git refuses a repository of another owner. Files that
// core.excludesFile names are no changes in the user's folder.
//
// Filters such as git-crypt and git-lfs do not run. So workers see their files as they are
// in the repository: encrypted, or as a pointer. Files that workers write are committed as
// they are, and are written so to a folder that has the main branch checked out.
//
// Every call can be interrupted at any moment and repeated; finished steps are not repeated.
// A merge is made in memory. Then one compare-and-swap moves the main branch, so it never
// has a part of a merge.
//
// Several runs of several processes can work on one repository. The names of branches and
// folders contain the run, and a run that loses the compare-and-swap merges again.
package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/git"
	"github.com/convene-go/convene/internal/safepath"
)

var (
	// ErrUnsafePath says that a path leaves its worktree or leads into a repository.
	ErrUnsafePath = safepath.ErrUnsafePath

	// ErrDirtyRepo says that the main branch is checked out in a folder that has changes
	// of its own, or ignored files that a merge would overwrite.
	ErrDirtyRepo = errors.New("the repository has changes that are not committed")

	// ErrNoRepo says that Config.Repo is no repository.
	ErrNoRepo = errors.New("no git repository")

	// ErrNoChange says that there is nothing to commit.
	ErrNoChange = errors.New("nothing has changed")

	// ErrOldGit says that git is older than 2.38.
	ErrOldGit = errors.New("git 2.38 or later is needed")
)

// Config says on which repository a run works, and how.
type Config struct {
	// Repo is the top folder of a repository. It is required.
	Repo string

	// Init makes a repository in Repo if there is none.
	Init bool

	// Run is the ID of the run. It is required.
	Run string

	// Main is the branch from which attempts start, and into which they are merged. ""
	// means main.
	Main string

	// Base is the folder for worktrees. "" means worktrees, or for a bare repository its
	// path followed by .worktrees. A relative path is below Repo, where git ignores it.
	Base string

	// Prefix begins the names of branches; no branch may have this name. "" means task.
	Prefix string

	// AllowDirty lets a run begin while the main branch is checked out with changes. Its
	// merges then go to the branch orchestrator/<run>, and main is not touched.
	AllowDirty bool

	Name  string // name of the committer; "": Convene
	Email string // address of the committer; "": convene@localhost

	// Time is the limit of each command of git. 0 means 10 minutes.
	Time time.Duration
}

// defaultTime is long enough to check out a large repository.
const defaultTime = 10 * time.Minute

// Trees are the worktrees of one run. It is safe for concurrent use; changes of the
// repository run one after the other.
type Trees struct {
	git    git.Repo
	bare   bool
	common string // git's own folder
	main   string // branch from which attempts start, and into which they are merged
	base   string // folder for the worktrees of this run
	prefix string // beginning of the branches of this run
	run    string // ID of the run
	short  string // short form of run, for names

	mu    mutex // one change of the repository at a time
	after func(args []string) error
}

// mutex is a sync.Mutex at which virtual time passes (testing/synctest): another goroutine
// may wait for the lock of the repository meanwhile, which a killed process has left.
type mutex chan struct{}

func (m mutex) Lock()   { m <- struct{}{} }
func (m mutex) Unlock() { <-m }

// Open prepares the repository for a run. The errors are ErrOldGit, ErrNoRepo,
// ErrDirtyRepo, what is wrong with c, and failures of git and of the file system.
//
// A repository without commits gets an empty one. The first Open of a run chooses its
// target; later ones keep it and do not return ErrDirtyRepo: Merge does.
func Open(ctx context.Context, c Config) (*Trees, error) { return open(ctx, c, nil) }

func open(ctx context.Context, c Config, after func(args []string) error) (*Trees, error) {
	w, err := newTrees(c, after)
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	w.git.Safe = git.Safe(ctx)
	for _, step := range []func(context.Context, Config) error{w.checkVersion, w.findRepo, w.findCommon, w.findMain, w.checkPrefix, w.placeBase, w.chooseTarget} {
		if err := step(ctx, c); err != nil {
			return nil, fmt.Errorf("worktree: open %s: %w", c.Repo, err)
		}
	}
	return w, nil
}

func newTrees(c Config, after func(args []string) error) (*Trees, error) {
	var faults []error
	if c.Repo == "" {
		faults = append(faults, errors.New("config: Repo is empty"))
	}
	if c.Run == "" {
		faults = append(faults, errors.New("config: Run is empty"))
	}
	for _, field := range []struct{ name, value string }{{"Main", c.Main}, {"Prefix", c.Prefix}} {
		if field.value != "" && !branchName.MatchString(field.value) {
			faults = append(faults, fmt.Errorf("config: %s is %q, want words of letters, digits, _ and - with / between them", field.name, field.value))
		}
	}
	repo, err := filepath.Abs(c.Repo)
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	w := &Trees{main: "main", run: c.Run, short: Short(c.Run), after: after, mu: make(mutex, 1)}
	if c.Main != "" {
		w.main = c.Main
	}
	w.prefix = "task/" + w.short
	if c.Prefix != "" {
		w.prefix = c.Prefix + "/" + w.short
	}
	w.git = git.Repo{Dir: repo, Name: c.Name, Email: c.Email, Time: c.Time}
	if c.Time == 0 {
		w.git.Time = defaultTime
	}
	return w, nil
}

// branchName is what branches of a Config look like: a part of what git allows.
var branchName = regexp.MustCompile(`^\w[\w-]*([/.]\w[\w-]*)*$`)

// Short returns eight hexadecimal digits that stand for a run in names.
func Short(run string) string {
	sum := sha256.Sum256([]byte(run))
	return hex.EncodeToString(sum[:4])
}

// Branch returns the name of the branch of an attempt, counted from 1, at a task of a run:
// <prefix>/<Short(run)>/<slug of the task>/a<attempt>.
func Branch(prefix, run, task string, attempt int) string {
	return fmt.Sprintf("%s/%s/%s/a%d", prefix, Short(run), safepath.Slug(task), attempt)
}

// Target returns the branch that merges go to: Main, or orchestrator/<run> where Main must
// not be touched.
func (w *Trees) Target() string { return w.main }

// in runs git in a folder and returns its output without the line's end.
func (w *Trees) in(ctx context.Context, dir string, args ...string) (string, error) {
	return w.dated(ctx, dir, time.Time{}, args...)
}

// dated is in for a command that makes a commit of that time.
func (w *Trees) dated(ctx context.Context, dir string, at time.Time, args ...string) (string, error) {
	r := w.git
	r.Dir, r.At, r.Top = dir, at, dir != w.git.Dir
	out, err := runGit(ctx, r, args)
	if err == nil && w.after != nil {
		err = w.after(args)
	}
	return strings.TrimSuffix(out, "\n"), err
}

// do runs git in the repository.
func (w *Trees) do(ctx context.Context, args ...string) (string, error) {
	return w.in(ctx, w.git.Dir, args...)
}

// worktrees runs a command of git worktree. Git itself does not expect two of these at once,
// nor what one has left that was killed.
func (w *Trees) worktrees(ctx context.Context, args ...string) (out string, err error) {
	err = w.exclusively(ctx, func() error {
		if err := w.repair(ctx); err != nil {
			return err
		}
		out, err = w.do(ctx, append([]string{"worktree"}, args...)...)
		return err
	})
	return out, err
}

// exit returns the exit code with which git failed, 0 if it has not, and -1 for any other
// error.
func exit(err error) int {
	var failed *git.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		return failed.Code
	}
	return -1
}

var version = regexp.MustCompile(`(\d+)\.(\d+)`)

func (w *Trees) checkVersion(ctx context.Context, _ Config) error {
	out, err := w.in(ctx, os.TempDir(), "version")
	if err != nil {
		return err
	}
	if !recent(out) {
		return fmt.Errorf("%w: this is %q", ErrOldGit, out)
	}
	return nil
}

// recent says whether what git calls its version is one that can merge in memory.
func recent(text string) bool {
	found := version.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	return major > 2 || major == 2 && minor >= 38
}

// findRepo finds the repository, or makes it.
func (w *Trees) findRepo(ctx context.Context, c Config) error {
	if c.Init {
		if err := os.MkdirAll(w.git.Dir, 0o755); err != nil {
			return err
		}
	}
	info, err := os.Stat(w.git.Dir)
	if err != nil || !info.IsDir() {
		return fmt.Errorf("%w: it is no folder", ErrNoRepo)
	}
	dir, err := filepath.EvalSymlinks(w.git.Dir)
	if err != nil {
		return err
	}
	w.git.Dir = dir
	found, top, err := w.top(ctx)
	if err != nil {
		return err
	}
	if found && top == dir {
		return nil
	}
	if !c.Init {
		if found {
			return fmt.Errorf("%w: it is a folder of the repository %s: name that one, or set Init", ErrNoRepo, top)
		}
		return fmt.Errorf("%w: name one, or set Init", ErrNoRepo)
	}
	_, err = w.do(ctx, "init", "--quiet", "--initial-branch="+w.main, "--", dir)
	return err
}

func (w *Trees) findCommon(ctx context.Context, _ Config) (err error) {
	w.common, err = w.do(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	return err
}

// top returns the top folder of the repository that the folder is in, if it is in one; of
// a bare one, that itself.
func (w *Trees) top(ctx context.Context) (found bool, top string, err error) {
	out, err := w.do(ctx, "rev-parse", "--is-bare-repository", "--absolute-git-dir")
	if exit(err) == 128 && strings.Contains(err.Error(), "not a git repository") {
		return false, "", nil
	}
	if exit(err) == 128 {
		return false, "", fmt.Errorf("%w that can be used: %w", ErrNoRepo, err)
	}
	if err != nil {
		return false, "", err
	}
	bare, dir, _ := strings.Cut(out, "\n")
	if w.bare = bare == "true"; !w.bare {
		dir, err = w.do(ctx, "rev-parse", "--show-toplevel")
		if exit(err) == 128 {
			return false, "", fmt.Errorf("%w: it is inside of a repository's own folder", ErrNoRepo)
		}
		if err != nil {
			return false, "", err
		}
	}
	top, err = filepath.EvalSymlinks(filepath.FromSlash(dir))
	return true, top, err
}

// findMain finds the main branch. A repository without any commit gets an empty one.
func (w *Trees) findMain(ctx context.Context, _ Config) error {
	tip, err := w.commit(ctx, "refs/heads/"+w.main)
	if err != nil || tip != "" {
		return err
	}
	refs, err := w.do(ctx, "for-each-ref", "--count=5", "--format=%(refname:short)", "refs/heads", "refs/remotes")
	if err != nil {
		return err
	}
	if refs != "" {
		return fmt.Errorf("it has no branch %q, but %q: set Main to one of the repository's own branches", w.main, strings.Split(refs, "\n"))
	}
	if head, err := w.commit(ctx, "HEAD"); err != nil || head != "" {
		return errors.Join(err, fmt.Errorf("it has no branch %q, and its HEAD is detached", w.main))
	}
	tree, err := w.do(ctx, "mktree", "--missing")
	if err != nil {
		return err
	}
	first, err := w.do(ctx, "commit-tree", tree, "-m", "Empty")
	if err != nil {
		return err
	}
	_, err = w.do(ctx, "update-ref", "refs/heads/"+w.main, first, none)
	if exit(err) == 128 {
		return w.unmoved(ctx, w.main, "", err) // another run may have been first
	}
	return err
}

// checkPrefix returns an error if a branch has a name that must be a folder of branches here,
// since git cannot have both.
func (w *Trees) checkPrefix(ctx context.Context, _ Config) error {
	for name := w.prefix; name != "."; name = path.Dir(name) {
		_, err := w.do(ctx, "show-ref", "--verify", "--quiet", "refs/heads/"+name)
		if err == nil {
			return fmt.Errorf("it has a branch %q, so that git can have no branches %s/...: set Prefix to another word, or rename that branch", name, name)
		}
		if exit(err) != 1 {
			return err
		}
	}
	return nil
}

// none is what update-ref takes for the old value of a ref that must not exist.
const none = ""

// commit returns the commit that a name stands for, "" if there is none. A ref that is broken
// or cannot be read is an error.
func (w *Trees) commit(ctx context.Context, name string) (string, error) {
	id, err := w.do(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if exit(err) != 1 {
		return id, err
	}
	if name != "HEAD" && !strings.HasPrefix(name, "refs/") {
		return "", nil
	}
	// It is missing, or broken. symbolic-ref tells these apart: 1 is a ref that is missing or
	// has an ID, 0 one that names another.
	if _, err := w.do(ctx, "symbolic-ref", "--quiet", name); exit(err) != 1 && err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", name, err)
	}
	id, err = w.do(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
	if exit(err) == 1 {
		return "", nil
	}
	if err == nil {
		if _, err = w.do(ctx, "cat-file", "-e", id+"^{commit}"); exit(err) > 0 {
			err = fmt.Errorf("%s is at %s, which is no commit of the repository: %w", name, id, err)
		}
	}
	return id, err // it may have been made meanwhile
}

// placeBase makes the folder for worktrees, and lets git ignore it.
func (w *Trees) placeBase(ctx context.Context, c Config) error {
	base := c.Base
	switch {
	case base == "" && w.bare:
		base = w.git.Dir + ".worktrees"
	case base == "":
		base = "worktrees"
	}
	if !filepath.IsAbs(base) {
		base = filepath.Join(w.git.Dir, base)
	}
	w.base = filepath.Join(base, w.short)
	if err := os.MkdirAll(w.base, 0o755); err != nil {
		return fmt.Errorf("make the folder for worktrees: %w: set Base to another one", err)
	}
	real, err := filepath.EvalSymlinks(w.base)
	if err != nil {
		return err
	}
	w.base = real
	rel, err := filepath.Rel(w.git.Dir, filepath.Dir(real))
	if err != nil || rel == "." || w.bare && filepath.IsLocal(rel) {
		return fmt.Errorf("the folder for worktrees, %s, is the repository itself or in a bare one: set Base to another one", base)
	}
	if !filepath.IsLocal(rel) {
		return nil
	}
	_, err = w.do(ctx, "ls-files", "--error-unmatch", "--", rel)
	if err == nil {
		return fmt.Errorf("the folder for worktrees, %s, has files that are in the repository: set Base to another one", base)
	}
	if exit(err) != 1 {
		return err
	}
	if err := w.exclude(ctx, "/"+filepath.ToSlash(rel)+"/"); err != nil {
		return fmt.Errorf("let git ignore the folder for worktrees: %w: set Base to one outside of the repository", err)
	}
	return nil
}

// exclude makes git ignore what a pattern matches, only in this repository.
func (w *Trees) exclude(ctx context.Context, pattern string) error {
	file, err := w.do(ctx, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude")
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if slices.Contains(strings.Split(string(data), "\n"), pattern) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + pattern + "\n")
	return errors.Join(err, f.Close())
}

// chooseTarget decides where merges go. The first Open of a run decides it for all: whether
// a folder is dirty at a later one, in the middle of the run, is a matter of the next merge.
func (w *Trees) chooseTarget(ctx context.Context, c Config) error {
	if err := w.finishForwards(ctx); err != nil {
		return err
	}
	own := "orchestrator/" + w.short
	tip, err := w.commit(ctx, "refs/heads/"+own)
	if err != nil {
		return err
	}
	if tip == "" {
		chosen, err := os.ReadFile(w.choice())
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if string(chosen) == w.main {
			return nil
		}
		switch err := w.awaitUpdates(ctx, w.main); {
		case err == nil:
			return os.WriteFile(w.choice(), []byte(w.main), 0o644)
		case !errors.Is(err, ErrDirtyRepo):
			return err
		case !c.AllowDirty:
			return fmt.Errorf("%w; or set AllowDirty", err)
		}
		if _, err := w.do(ctx, "update-ref", "refs/heads/"+own, "refs/heads/"+w.main, none); err != nil {
			return err
		}
	}
	w.main = own // and so it stays for the whole run
	return nil
}

// choice is the file, which git ignores, with the branch that the first Open of this run has
// chosen; a branch of its own needs none, it is there.
func (w *Trees) choice() string { return filepath.Join(w.common, "convene-target-"+w.short) }

// listed is a worktree as git knows it.
type listed struct {
	path, branch string
}

// whole says whether the worktree is there.
func (l listed) whole() bool {
	_, err := os.Stat(filepath.Join(l.path, ".git"))
	return err == nil
}

// list returns all worktrees of the repository; a bare repository itself is none. What a
// worker has checked out in that of an attempt does not count.
func (w *Trees) list(ctx context.Context) ([]listed, error) {
	out, err := w.worktrees(ctx, "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	var trees []listed
	for line := range strings.SplitSeq(out, "\x00") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "worktree":
			trees = append(trees, listed{path: filepath.FromSlash(value)})
		case "branch":
			if t := &trees[len(trees)-1]; !w.strays(t.path, value) {
				t.branch = strings.TrimPrefix(value, "refs/heads/")
			}
		case "bare":
			trees = trees[:len(trees)-1]
		}
	}
	return trees, nil
}

// strays says whether a folder is the worktree of an attempt, of any run, and ref is not the
// branch of that attempt.
func (w *Trees) strays(path, ref string) bool {
	rel, err := filepath.Rel(filepath.Dir(w.base), path)
	return err == nil && filepath.IsLocal(rel) && ofRun.MatchString(path) && !strings.HasSuffix(ref, "/"+filepath.ToSlash(rel))
}
