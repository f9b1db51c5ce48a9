// Package workspace is the agent with which a delivery team works on real code: it
// writes files into a folder, runs the project's tests there, and stores and restores
// states of the folder.
//
// # What is trusted
//
// Nothing that a model wrote: neither paths nor code. Files are written inside the
// folder only, and not into a repository. Tests run with limits on time, output and
// processes, in an environment of their own without any secret of this process, and
// without network proxies for modules; on Linux in a PID namespace, and with Landlock
// they write to the folder and to folders of Config.State only. Package internal/proc
// says what is enforced on which system. A run that hangs, forks without limit, writes
// too much or is killed is a failed test with a reason. What tests change in the folder
// is undone after them. If that is not possible, each later operation tries it first, and
// is an error as long as it is not.
//
// Snapshots are stored by git, in a repository inside of Config.State, which no test may
// write to. They contain every file of the folder except those named .git, permissions,
// and folders without files. A repository of the user in the folder is not changed, but
// tests may write into it: use a clone, or a copy.
//
// # Crashes
//
// Each call acts once per key and request: its answer is recorded, and a repeated call
// gets the recorded one. If the process is killed before that, the call starts again from
// the same state. No process of a test run survives a kill of this process; where there
// is no PID namespace, the next [Open] kills those that do.
package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/internal/git"
	"github.com/convene-go/convene/internal/proc"
)

// The defaults of Config.
const (
	DefaultTime      = 5 * time.Minute
	DefaultProcesses = 256
)

// Config is a workspace.
type Config struct {
	// Dir is the folder of the project. It exists.
	Dir string

	// State is a folder for snapshots, recorded answers, and what tests need: caches,
	// a home and temporary files. It is created if missing, is not inside of Dir, and Dir
	// is not inside of it. Only one process at a time may use it.
	State string

	// Test is the command that runs all tests. It writes what "go test -json" writes.
	// Empty means go test -json -count=1 ./...
	Test []string

	// Env are further variables for tests, "KEY=value". They get PATH, HOME, TMPDIR,
	// GOCACHE and GOMODCACHE inside of State, GOPROXY=off and GOTOOLCHAIN=local; a variable given
	// here takes precedence. A cache that is shared with other builds can be poisoned
	// by code under test.
	Env []string

	// Writable are further files and folders that tests may change.
	Writable []string

	// Time limits a run of tests. Zero means DefaultTime.
	Time time.Duration

	// Processes is how many processes may run at once. Zero means DefaultProcesses.
	Processes int
}

// validate returns every fault of c.
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if info, err := os.Stat(c.Dir); c.Dir == "" || err != nil || !info.IsDir() {
		bad("Dir is %q, want a folder that exists", c.Dir)
	}
	if c.State == "" {
		bad("State is empty, want a folder outside of Dir")
	}
	if len(c.Test) > 0 && strings.TrimSuffix(filepath.Base(c.Test[0]), ".exe") == "go" {
		for _, flag := range []string{"-json", "-count=1"} {
			if !slices.Contains(c.Test, flag) {
				bad("Test is %q, want %s in it", c.Test, flag)
			}
		}
	}
	for i, variable := range c.Env {
		if name, _, ok := strings.Cut(variable, "="); !ok || name == "" {
			bad("Env[%d] is no KEY=value", i) // it may be a secret
		}
	}
	if c.Time < 0 {
		bad("Time is %v, want 0 or more", c.Time)
	}
	if c.Processes < 0 {
		bad("Processes is %d, want 0 or more", c.Processes)
	}
	return errors.Join(errs...)
}

// ErrInUse says that another process uses Config.State, or this one has it open already.
var ErrInUse = errors.New("another process uses the folder State")

// Workspace is an agent for delivery.OpSnapshot and the other operations of package
// delivery. It executes one call at a time.
type Workspace struct {
	cfg    Config // with absolute paths, and without symbolic links
	repo   git.Repo
	mark   string // of test processes
	unlock func() error

	mu sync.Mutex
}

// Open prepares a workspace: it kills the processes of an earlier process, and undoes the
// changes of an interrupted run of tests. The errors are every fault of c, and ErrInUse.
func Open(ctx context.Context, c Config) (*Workspace, error) {
	w, err := open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	return w, nil
}

func open(ctx context.Context, c Config) (w *Workspace, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.Test, c.Env, c.Writable = slices.Clone(c.Test), slices.Clone(c.Env), slices.Clone(c.Writable)
	if len(c.Test) == 0 {
		c.Test = []string{"go", "test", "-json", "-count=1", "./..."}
	}
	c.Time, c.Processes = cmp.Or(c.Time, DefaultTime), cmp.Or(c.Processes, DefaultProcesses)
	if err := os.MkdirAll(c.State, 0o700); err != nil {
		return nil, err
	}
	if c.Dir, err = real(c.Dir); err != nil {
		return nil, err
	}
	if c.State, err = real(c.State); err != nil {
		return nil, err
	}
	if within(c.State, c.Dir) || within(c.Dir, c.State) {
		return nil, fmt.Errorf("the folder State is %q, want one that is neither inside of Dir nor around it", c.State)
	}
	sum := sha256.Sum256([]byte(c.State))
	w = &Workspace{cfg: c, mark: "workspace-" + hex.EncodeToString(sum[:8])}
	w.repo = git.Repo{Dir: c.Dir, GitDir: w.state("snapshots.git"), Mark: w.mark}
	if w.unlock, err = lock(ctx, w.state("lock")); err != nil {
		return nil, fmt.Errorf("%w: %s", err, c.State)
	}
	w.unlock = sync.OnceValue(w.unlock)
	if err := w.recover(ctx); err != nil {
		return nil, errors.Join(err, w.unlock())
	}
	return w, nil
}

// Close lets another process use the workspace. Closing it again does nothing.
func (w *Workspace) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unlock()
}

// recover kills and undoes what an earlier process has left.
func (w *Workspace) recover(ctx context.Context) error {
	if _, err := proc.Sweep(ctx, w.mark); err != nil {
		return err
	}
	for _, dir := range []string{"calls", "modes", "home", "tmp", "cache", "mod"} {
		if err := os.MkdirAll(w.state(dir), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(w.openRepository(ctx), w.endTest(ctx))
}

// state is a path inside of the folder State.
func (w *Workspace) state(name string) string { return filepath.Join(w.cfg.State, name) }

// real is the absolute path without symbolic links.
func real(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// within reports whether path is dir or inside of it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
