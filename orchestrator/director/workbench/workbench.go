// Package workbench is what workers of a director need for real code: tools for the
// files of their worktree, one that runs commands there, and the agent that runs the
// command of a profile on a commit.
//
// # What is trusted
//
// Nothing that a model wrote: neither paths nor code. Tools read and write inside the
// worktree only, and not into its repository. Commands run with limits on time, output
// and processes, in an environment of their own without any secret of this process, and
// without network proxies for modules; on Linux in a PID namespace, and with Landlock
// they write to the worktree and to folders of Config.State only. Package internal/proc
// says what holds on which system.
package workbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/proc"
	"github.com/convene-go/convene/internal/safepath"
)

// The defaults of Config.
const (
	DefaultTime      = 5 * time.Minute
	DefaultProcesses = 256
)

// Config is a workbench.
type Config struct {
	// Repo is the repository whose commits are checked. It exists when the first check
	// is made.
	Repo string

	// State is a folder for checkouts and for what commands need: caches, a home and
	// temporary files. It is made if it does not exist, and Repo is not inside of it. If it
	// is inside of Repo, git must ignore it. Several processes can use it.
	State string

	// Commands are what workers may run, by the name that a model says: a program and its
	// arguments, without a shell. A program with a / in its name is in the worktree. nil:
	// nothing.
	Commands map[string][]string

	// Env are further variables for commands, "KEY=value". They get a PATH with the folder
	// of their program, /usr/local/bin, /usr/bin and /bin, and HOME, TMPDIR, GOCACHE and
	// GOMODCACHE inside of State, GOPROXY=off and GOTOOLCHAIN=local; a variable given here
	// takes precedence. A cache that is shared with other builds can be poisoned by code
	// under test.
	Env []string

	// Time limits a command. Zero means DefaultTime.
	Time time.Duration

	// Processes is how many of them may live at once. Zero means DefaultProcesses.
	Processes int
}

// Workbench has the tools of workers, and is an agent: see [Workbench.Call]. It is safe
// for concurrent use.
type Workbench struct {
	cfg Config
}

// Open makes the folders of State. The errors are every fault of c, and those of the
// file system.
func Open(c Config) (*Workbench, error) {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf("workbench: "+format, args...)) }
	if c.Repo == "" || c.State == "" {
		bad("Repo is %q and State is %q, want two folders", c.Repo, c.State)
	}
	if c.Time < 0 || c.Processes < 0 {
		bad("Time is %v and Processes is %d, want 0 or more", c.Time, c.Processes)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Commands)) {
		if name == "" || len(c.Commands[name]) == 0 {
			bad("Commands[%q] is %q, want a name and a program", name, c.Commands[name])
		}
	}
	for i, v := range c.Env {
		if key, _, ok := strings.Cut(v, "="); !ok || key == "" {
			bad("Env[%d] is %q, want KEY=value", i, v)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	c.Time, c.Processes = cmp.Or(c.Time, DefaultTime), cmp.Or(c.Processes, DefaultProcesses)
	w := &Workbench{cfg: c}
	if err := w.place(); err != nil {
		return nil, fmt.Errorf("workbench: %w", err)
	}
	return w, nil
}

// place makes the folders of State. What is old in one of them is removed, and commands
// write to them: Repo must not be there.
func (w *Workbench) place() (err error) {
	if w.cfg.Repo, err = filepath.Abs(w.cfg.Repo); err != nil {
		return err
	}
	if w.cfg.State, err = filepath.Abs(w.cfg.State); err != nil {
		return err
	}
	if rel, err := filepath.Rel(real(w.cfg.State), real(w.cfg.Repo)); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("the folder State is %q, want one that is neither Repo nor around it", w.cfg.State)
	}
	for _, name := range []string{"home", "cache", "mod", "tmp"} {
		err = errors.Join(err, os.MkdirAll(w.state(name), 0o700))
	}
	return err
}

// real is a path without symbolic links, as far as it exists.
func real(path string) string {
	found, err := filepath.EvalSymlinks(path)
	if parent := filepath.Dir(path); err != nil && parent != path {
		return filepath.Join(real(parent), filepath.Base(path))
	}
	return cmp.Or(found, path)
}

func (w *Workbench) state(name string) string { return filepath.Join(w.cfg.State, name) }

// run runs a command in a folder, with a temporary folder of its own.
func (w *Workbench) run(ctx context.Context, dir string, command []string) (proc.Result, error) {
	name := command[0]
	if !filepath.IsAbs(name) && filepath.Base(name) != name {
		name = filepath.Join(dir, name)
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return proc.Result{}, fmt.Errorf("find %s: %w", command[0], err)
	}
	tmp, err := w.temporary()
	if err != nil {
		return proc.Result{}, err
	}
	res, err := proc.Run(ctx, proc.Command{
		Path: program, Args: command[1:], Dir: dir, Env: w.env(program, tmp),
		Time: w.cfg.Time, Output: output, Flood: output, Processes: w.cfg.Processes,
		Writable: []string{dir, tmp, w.state("home"), w.state("cache"), w.state("mod")},
	})
	return res, errors.Join(err, safepath.RemoveAll(tmp))
}

// output is how many bytes of a command are read.
const output = 16 << 20

// env is the environment of commands. The last of two variables of one name counts.
func (w *Workbench) env(program, tmp string) []string {
	path := strings.Join([]string{filepath.Dir(program), "/usr/local/bin", "/usr/bin", "/bin"}, string(os.PathListSeparator))
	return append([]string{
		"PATH=" + path, "HOME=" + w.state("home"), "TMPDIR=" + tmp, "LC_ALL=C",
		"GOCACHE=" + w.state("cache"), "GOMODCACHE=" + w.state("mod"), "GOPROXY=off", "GOTOOLCHAIN=local", "GOENV=off", "GOWORK=off",
	}, w.cfg.Env...)
}

// temporary makes a folder for one command. It removes those that killed processes have
// left: no command lives longer than twice its time.
func (w *Workbench) temporary() (string, error) {
	dir, err := os.MkdirTemp(w.state("tmp"), "")
	if err != nil {
		return "", err
	}
	now, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	all, err := os.ReadDir(w.state("tmp"))
	if err != nil {
		return "", err
	}
	for _, old := range all {
		if info, err := old.Info(); err == nil && now.ModTime().Sub(info.ModTime()) > 2*w.cfg.Time {
			if err := safepath.RemoveAll(filepath.Join(w.state("tmp"), old.Name())); err != nil {
				return "", err
			}
		}
	}
	return dir, nil
}
