package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// noteModes stores what the tree of a snapshot does not have: permissions, and folders
// without files. States with equal trees share one note, the last one.
func (w *Workspace) noteModes(id string) error {
	var notes []string
	err := filepath.WalkDir(w.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != w.cfg.Dir && strings.EqualFold(d.Name(), ".git"):
			return skip(d)
		case !d.IsDir() && !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(w.cfg.Dir, path)
		notes = append(notes, fmt.Sprintf("%o %s", info.Mode(), name))
		return err
	})
	if err != nil {
		return err
	}
	return replace(w.state("modes/"+id), []byte(strings.Join(notes, "\x00")))
}

// setModes restores what noteModes has stored, in a folder that is as the tree says. A
// snapshot of an older version has no note.
func (w *Workspace) setModes(id string) error {
	notes, err := os.ReadFile(w.state("modes/" + id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(w.cfg.Dir)
	if err != nil {
		return err
	}
	for _, note := range slices.Backward(strings.Split(string(notes), "\x00")) { // a folder after what is in it
		if err == nil {
			err = setMode(root, note)
		}
	}
	return errors.Join(err, root.Close())
}

// setMode restores one folder, or the permissions of one file.
func setMode(root *os.Root, note string) error {
	octal, name, _ := strings.Cut(note, " ")
	bits, err := strconv.ParseUint(octal, 8, 32)
	if err != nil {
		return err
	}
	mode := fs.FileMode(bits)
	if mode.IsDir() {
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
	}
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was made after the tree, by another process
	}
	if err != nil || info.Mode() == mode {
		return err
	}
	return root.Chmod(name, mode)
}
