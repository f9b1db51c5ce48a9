package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	module   = "github.com/convene-go/convene/"
	notes    = module + "bench/trace/steps"
	followed = module + "bench/trace"
)

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
}

// build makes this program with notes in all functions of this repository,
// and returns its path in work.
func build(ctx context.Context, work string) (string, error) {
	packages, err := list(ctx)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, p := range packages {
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || strings.HasPrefix(name, "bench/") {
			continue
		}
		for _, file := range p.GoFiles {
			copied := filepath.Join(work, fmt.Sprintf("%d_%s", len(replace), file))
			if err := annotateFile(filepath.Join(p.Dir, file), copied, name); err != nil {
				return "", err
			}
			replace[filepath.Join(p.Dir, file)] = copied
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlayFile, program := filepath.Join(work, "overlay.json"), filepath.Join(work, "trace.exe")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return "", err
	}
	_, err = goCommand(ctx, "build", "-ldflags=-s -w", "-overlay", overlayFile, "-o", program, followed)
	return program, err
}

// annotateFile writes a file of a package with a note in each function.
func annotateFile(from, to, pkg string) error {
	source, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if source, err = annotate(source, pkg); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, source, 0o600)
}

// list returns the packages that the program is built of.
func list(ctx context.Context) (packages []listed, err error) {
	out, err := goCommand(ctx, "list", "-deps", "-json=ImportPath,Dir,GoFiles", followed)
	if err != nil {
		return nil, err
	}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

func goCommand(ctx context.Context, args ...string) ([]byte, error) {
	var faults bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(faults.Bytes()))
	}
	return out, nil
}
