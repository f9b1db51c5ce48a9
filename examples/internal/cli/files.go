package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// File is an output that a flag names.
type File struct {
	Flag string // such as "-o"
	Path string // "": not requested
}

// CheckFiles returns an error, before the work begins, if an output could not be written,
// or would overwrite the database or another one. It does not change files.
func (s *Settings) CheckFiles(files ...File) error {
	for i, f := range files {
		if f.Path == "" {
			continue
		}
		for _, other := range append([]File{{"-db", s.DB}}, files[:i]...) {
			if same(f.Path, other.Path) {
				return fmt.Errorf("%s %s is the file of %s, want another one", f.Flag, f.Path, other.Flag)
			}
		}
		if err := f.try(); err != nil {
			return fmt.Errorf("%s: %w", f.Flag, err)
		}
	}
	return nil
}

func same(a, b string) bool {
	if b == "" {
		return false
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return filepath.Clean(a) == filepath.Clean(b) || errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

func (f File) try() error {
	_, err := os.Stat(f.Path)
	fresh := errors.Is(err, os.ErrNotExist)
	file, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = file.Close()
	if fresh {
		err = errors.Join(err, os.Remove(f.Path))
	}
	return err
}

// Write writes the output, if it is requested, and says so.
func (f File) Write(c Console, what, text string) error {
	if f.Path == "" {
		return nil
	}
	if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("%s: %w (the run is kept: the same request with another file writes it)", f.Flag, err)
	}
	c.Print("%s: %s\n", what, f.Path)
	return nil
}

// WriteJSON is Write of v as JSON.
func (f File) WriteJSON(c Console, what string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return f.Write(c, what+" as JSON", string(data)+"\n")
}
