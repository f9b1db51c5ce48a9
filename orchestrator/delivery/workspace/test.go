package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/convene-go/convene/internal/proc"
	"github.com/convene-go/convene/internal/safepath"
	"github.com/convene-go/convene/orchestrator/delivery"
)

// testOutput is how much of stdout is kept: longer output cannot be read.
const testOutput = 16 << 20

// test runs the project's tests and undoes what they change in the folder.
func (w *Workspace) test(ctx context.Context) (delivery.TestResult, error) {
	if err := w.beginTest(ctx); err != nil {
		return delivery.TestResult{}, err
	}
	res, err := w.run(ctx)
	return res, errors.Join(err, w.endTest(context.WithoutCancel(ctx)))
}

// run runs the tests once.
func (w *Workspace) run(ctx context.Context) (delivery.TestResult, error) {
	program, err := exec.LookPath(w.cfg.Test[0])
	if err != nil {
		return delivery.TestResult{}, fmt.Errorf("find %s: %w", w.cfg.Test[0], err)
	}
	res, err := proc.Run(ctx, proc.Command{
		Path: program, Args: w.cfg.Test[1:], Dir: w.cfg.Dir, Env: w.env(program), Mark: w.mark,
		Time: w.cfg.Time, Output: 2 * testOutput, Flood: 2 * testOutput, Processes: w.cfg.Processes,
		Writable: append([]string{w.cfg.Dir, w.state("home"), w.state("tmp"), w.state("cache"), w.state("mod")}, w.cfg.Writable...),
	})
	if err != nil {
		return delivery.TestResult{}, err
	}
	return judge(res, w.cleaner(program)), nil
}

// env is the environment of tests. Of two variables with one name the last counts.
func (w *Workspace) env(program string) []string {
	path := strings.Join([]string{filepath.Dir(program), "/usr/local/bin", "/usr/bin", "/bin"}, string(os.PathListSeparator))
	return append([]string{
		"PATH=" + path, "HOME=" + w.state("home"), "TMPDIR=" + w.state("tmp"), "LC_ALL=C",
		"GOCACHE=" + w.state("cache"), "GOMODCACHE=" + w.state("mod"), "GOPROXY=off", "GOTOOLCHAIN=local", "GOENV=off", "GOWORK=off",
	}, w.cfg.Env...)
}

// beginTest records the state of the folder before tests can change it.
func (w *Workspace) beginTest(ctx context.Context) error {
	before, err := w.snapshot(ctx, delivery.SnapshotRequest{})
	if err != nil {
		return err
	}
	return replace(w.state("testing"), []byte(before.ID))
}

// endTest restores the folder to the state before the tests, if that is still to be done.
func (w *Workspace) endTest(ctx context.Context) error {
	before, err := os.ReadFile(w.state("testing"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = w.undo(ctx, string(before))
	}
	if err != nil {
		return fmt.Errorf("undo what tests changed: %w", err)
	}
	return nil
}

// undo restores the folder, empties that of temporary files, and notes that this is done.
func (w *Workspace) undo(ctx context.Context, before string) error {
	if err := w.restore(ctx, before); err != nil {
		return err
	}
	if err := safepath.RemoveAll(w.state("tmp")); err != nil {
		return err
	}
	if err := os.Mkdir(w.state("tmp"), 0o700); err != nil {
		return err
	}
	return os.Remove(w.state("testing"))
}
