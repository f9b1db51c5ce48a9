package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/convene-go/convene/internal/safepath"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/delivery"
)

// diffBytes limits the difference in an answer.
const diffBytes = 256 << 10

// openRepository makes what is missing of the repository of snapshots.
func (w *Workspace) openRepository(ctx context.Context) error {
	if err := w.unlockRepository(); err != nil {
		return err
	}
	if _, err := w.git(ctx, "init", "--quiet"); err != nil {
		return err
	}
	// Contents are stored byte for byte, whatever attributes the project gives its files.
	info := filepath.Join(w.repo.GitDir, "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	return replace(filepath.Join(info, "attributes"), []byte("* -text -eol -ident -filter -working-tree-encoding !diff !merge\n"))
}

// unlockRepository removes the locks that a killed git has left: no other process uses the
// repository.
func (w *Workspace) unlockRepository() error {
	return filepath.WalkDir(w.repo.GitDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".lock") {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// git runs a command on the repository of snapshots, and again if it fails: it may have
// been killed, or find the locks of one that was. All that is asked of it can be repeated.
func (w *Workspace) git(ctx context.Context, args ...string) (string, error) {
	out, err := w.repo.Run(ctx, args...)
	if err == nil || ctx.Err() != nil {
		return out, err
	}
	if broken := w.unlockRepository(); broken != nil {
		return out, errors.Join(err, broken)
	}
	return w.repo.Run(ctx, args...)
}

// snapshot stores the state of the folder. The ID is that of its tree: equal states have
// equal IDs, so a retry has no further effect.
func (w *Workspace) snapshot(ctx context.Context, in delivery.SnapshotRequest) (delivery.Snapshot, error) {
	if in.Since != "" {
		if err := w.check(ctx, in.Since); err != nil {
			return delivery.Snapshot{}, err
		}
	}
	if _, err := w.git(ctx, "add", "--all", "--force", "--", "."); err != nil {
		return delivery.Snapshot{}, err
	}
	staged, err := w.git(ctx, "ls-files", "--stage")
	if err != nil {
		return delivery.Snapshot{}, err
	}
	for line := range strings.Lines(staged) {
		if strings.HasPrefix(line, "160000 ") { // its files would not be kept
			_, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
			return delivery.Snapshot{}, fmt.Errorf("%s is a repository of its own", name)
		}
	}
	tree, err := w.git(ctx, "write-tree")
	if err != nil {
		return delivery.Snapshot{}, err
	}
	s := delivery.Snapshot{ID: strings.TrimSpace(tree)}
	if err := w.noteModes(s.ID); err != nil {
		return delivery.Snapshot{}, err
	}
	if in.Since != "" {
		if s.Diff, err = w.git(ctx, "diff", "--no-color", "--no-renames", in.Since, s.ID, "--"); err != nil {
			return delivery.Snapshot{}, err
		}
		s.Diff = text.Cut(s.Diff, diffBytes)
	}
	return s, nil
}

// restore restores the folder to a snapshot.
func (w *Workspace) restore(ctx context.Context, id string) error {
	if err := w.check(ctx, id); err != nil {
		return err
	}
	if err := tame(w.cfg.Dir); err != nil {
		return err
	}
	if _, err := w.git(ctx, "read-tree", "--reset", "-u", id); err != nil {
		return err
	}
	if _, err := w.git(ctx, "clean", "-ffdxq"); err != nil {
		return err
	}
	return w.setModes(id)
}

// tame removes from the project what git ignores or refuses: pipes, sockets and devices,
// and repositories except that of the project itself. It also makes folders without
// permissions accessible.
func tame(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || path == dir:
			return err
		case filepath.Dir(path) == dir && d.Name() == ".git":
			return skip(d)
		case strings.EqualFold(d.Name(), ".git"):
			if err := safepath.RemoveAll(path); err != nil {
				return err
			}
			return skip(d)
		case d.IsDir():
			info, err := d.Info()
			if err != nil || info.Mode().Perm()&0o700 == 0o700 {
				return err
			}
			return os.Chmod(path, 0o755)
		case !d.Type().IsRegular() && d.Type() != fs.ModeSymlink:
			return os.Remove(path)
		}
		return nil
	})
}

// skip lets a walk leave out an entry of a folder, with all that is in it. SkipDir for a
// file would leave out the rest of the folder.
func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

var objectID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// check says whether id is a snapshot.
func (w *Workspace) check(ctx context.Context, id string) error {
	if !objectID.MatchString(id) {
		return fmt.Errorf("%q is no ID of a snapshot", id)
	}
	kind, err := w.git(ctx, "cat-file", "-t", id)
	if err != nil || kind != "tree\n" {
		return errors.Join(fmt.Errorf("there is no snapshot %s here", id), err)
	}
	return nil
}
