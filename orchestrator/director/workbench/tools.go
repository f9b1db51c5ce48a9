package workbench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/proc"
	"github.com/convene-go/convene/internal/safepath"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director/trees"
)

const (
	readable = 60 << 10 // bytes of a file or an output that a model gets
	listed   = 1000     // files
)

type (
	pathInput struct {
		Path string `json:"path" jsonschema:"relative to the worktree, with slashes"`
	}
	writeInput struct {
		pathInput

		Content string `json:"content"`
	}
	editInput struct {
		pathInput

		Old string `json:"old" jsonschema:"a text that is there exactly once"`
		New string `json:"new" jsonschema:"what takes its place"`
	}
	runInput struct {
		Command string `json:"command"`
	}
)

// Tools returns the tools of a worker for [director.Worker]: list_files, read_file,
// write_file, edit_file, remove, and run if there are Commands. They work in the
// worktree of the worker that calls them, and each can be repeated.
func (w *Workbench) Tools() ([]agent.Tool, error) {
	t := toolbox{}
	add(&t, "list_files", "Lists all files of the worktree.", func(_ context.Context, root string, _ struct{}) (string, error) { return list(root) })
	add(&t, "read_file", "Returns the content of a file.", func(_ context.Context, root string, in pathInput) (string, error) { return read(root, in.Path) })
	add(&t, "write_file", "Writes a file, whatever was there.", func(_ context.Context, root string, in writeInput) (string, error) {
		return "written", safepath.Write(root, in.Path, []byte(in.Content))
	})
	add(&t, "edit_file", "Replaces a text in a file by another one.", func(_ context.Context, root string, in editInput) (string, error) { return "replaced", edit(root, in) })
	add(&t, "remove", "Removes a file, or a folder with all that is in it.", func(_ context.Context, root string, in pathInput) (string, error) {
		return "removed", remove(root, in.Path)
	})
	if names := slices.Sorted(maps.Keys(w.cfg.Commands)); len(names) > 0 {
		var about strings.Builder
		about.WriteString("Runs a command in the worktree and returns its output. There are:")
		for _, name := range names {
			fmt.Fprintf(&about, "\n%s: %s", name, strings.Join(w.cfg.Commands[name], " "))
		}
		add(&t, "run", about.String(), w.tool)
	}
	return t.tools, errors.Join(t.errs...)
}

type toolbox struct {
	tools []agent.Tool
	errs  []error
}

func add[In any](t *toolbox, name, about string, do func(ctx context.Context, root string, in In) (string, error)) {
	tool, err := agent.NewTool(name, about, func(ctx context.Context, in In) (string, error) {
		place, ok := trees.PlaceFrom(ctx)
		if !ok {
			return "", errors.New("this worker has no worktree")
		}
		if _, err := os.Stat(place.Path); err != nil {
			return "", fmt.Errorf("find the worktree: %w", err)
		}
		return do(ctx, place.Path, in)
	})
	t.tools, t.errs = append(t.tools, tool), append(t.errs, err)
}

func list(root string) (string, error) {
	var all []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		if name, err := filepath.Rel(root, path); err == nil {
			all = append(all, filepath.ToSlash(name))
		}
		return nil
	})
	if len(all) > listed {
		all = append(all[:listed], fmt.Sprintf("(and %d more)", len(all)-listed))
	}
	return strings.Join(all, "\n"), err
}

func read(root, path string) (string, error) {
	data, err := content(root, path)
	return text.Cut(string(data), readable), err
}

// content is a file of a worktree, which no link leads out of.
func content(root, path string) ([]byte, error) {
	clean, err := safepath.In(root, path)
	if err != nil {
		return nil, err
	}
	inside, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	data, err := inside.ReadFile(filepath.FromSlash(clean))
	return data, errors.Join(err, inside.Close())
}

func edit(root string, in editInput) error {
	data, err := content(root, in.Path)
	if err != nil {
		return err
	}
	if n := strings.Count(string(data), in.Old); in.Old == "" || n != 1 {
		return fmt.Errorf("old is there %d times, want a text that is there once: read the file", n)
	}
	return safepath.Write(root, in.Path, []byte(strings.Replace(string(data), in.Old, in.New, 1)))
}

func remove(root, path string) error {
	clean, err := safepath.In(root, path)
	if err != nil {
		return err
	}
	var files []string
	err = filepath.WalkDir(filepath.Join(root, filepath.FromSlash(clean)), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(path))
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed before
	}
	errs := []error{err}
	for _, file := range files {
		errs = append(errs, safepath.Remove(root, file))
	}
	return errors.Join(errs...)
}

// tool runs a command for a worker. One that fails is an answer.
func (w *Workbench) tool(ctx context.Context, root string, in runInput) (string, error) {
	command, ok := w.cfg.Commands[in.Command]
	if !ok {
		return "", fmt.Errorf("there is no command %.100q; there are: %s", in.Command, strings.Join(slices.Sorted(maps.Keys(w.cfg.Commands)), ", "))
	}
	res, err := w.run(ctx, root, command)
	if err != nil {
		return "", err
	}
	end := res.Why
	if res.End == proc.Exited {
		end = fmt.Sprintf("exit code %d", res.Code)
	}
	said := strings.TrimSpace(res.Stdout.String() + "\n" + res.Stderr.String())
	return text.Ends(said, readable) + "\n(" + end + ")", nil
}
