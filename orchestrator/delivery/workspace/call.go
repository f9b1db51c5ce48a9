package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/convene-go/convene/internal/safepath"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
)

// Call executes req.Op, once for each key of a call and request. A test that fails is an
// answer. Errors are inputs that do not fit, delivery.ErrUnsafePath, and those of the
// file system and of git, without paths of this machine: a coder may read them.
func (w *Workspace) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	resp, err := w.once(ctx, req)
	if err != nil {
		e := *agent.ErrorOf(fmt.Errorf("workspace: %s: %w", req.Op, err))
		e.Message = w.withoutPaths(e.Message)
		return agent.Response{}, &e
	}
	return resp, nil
}

// once executes req, unless a call with its key has done so.
func (w *Workspace) once(ctx context.Context, req agent.Request) (agent.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	record := ""
	if key := agent.InfoFrom(ctx).Key; key != "" {
		sum := sha256.Sum256([]byte(strings.Join([]string{key, req.Op, req.Prompt, string(req.Input)}, "\x00")))
		record = w.state("calls/" + hex.EncodeToString(sum[:]) + ".json")
		data, err := os.ReadFile(record)
		if err == nil {
			return agent.Response{Data: data}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return agent.Response{}, fmt.Errorf("read the record of the call: %w", err)
		}
	}
	answer, err := w.do(ctx, req)
	if err == nil && record != "" {
		err = replace(record, answer)
	}
	return agent.Response{Data: answer}, err
}

// do executes one operation, after the undo of tests that could not be finished before.
func (w *Workspace) do(ctx context.Context, req agent.Request) (json.RawMessage, error) {
	if err := w.endTest(ctx); err != nil {
		return nil, err
	}
	done := agent.JSON(struct{}{})
	switch req.Op {
	case delivery.OpSnapshot:
		in, err := read[delivery.SnapshotRequest](req.Input)
		if err != nil {
			return nil, err
		}
		return answer(w.snapshot(ctx, in))
	case delivery.OpApply:
		in, err := read[delivery.ApplyRequest](req.Input)
		if err != nil {
			return nil, err
		}
		return done, w.apply(in.Files)
	case delivery.OpTest:
		return answer(w.test(ctx))
	case delivery.OpRestore:
		in, err := read[delivery.Snapshot](req.Input)
		if err != nil {
			return nil, err
		}
		return done, w.restore(ctx, in.ID)
	}
	return nil, fmt.Errorf("the Op is %q, want snapshot, apply, test or restore", req.Op)
}

// read decodes an input, strictly.
func read[T any](input json.RawMessage) (in T, err error) {
	if len(input) == 0 {
		return in, nil
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, fmt.Errorf("read Input: %w", err)
	}
	return in, nil
}

// answer encodes v unless there is an error.
func answer(v any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return agent.JSON(v), nil
}

// apply writes files, or none if one of the paths is refused. It is idempotent.
func (w *Workspace) apply(files []delivery.File) error {
	var errs []error
	seen := map[string]int{}
	for i, f := range files {
		clean, err := safepath.In(w.cfg.Dir, f.Path)
		switch first, twice := seen[strings.ToLower(clean)]; {
		case errors.Is(err, safepath.ErrUnsafePath):
			errs = append(errs, fmt.Errorf("files[%d]: %w: %w", i, delivery.ErrUnsafePath, err))
		case err != nil:
			errs = append(errs, fmt.Errorf("files[%d]: %w", i, err))
		case twice:
			errs = append(errs, fmt.Errorf("files[%d] %q is files[%d], too: %w", i, clean, first, delivery.ErrUnsafePath))
		case f.Delete && f.Content != "":
			errs = append(errs, fmt.Errorf("files[%d] %q has content, and is to be deleted", i, clean))
		}
		seen[strings.ToLower(clean)] = i
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, f := range files {
		write := func() error { return safepath.Write(w.cfg.Dir, f.Path, []byte(f.Content)) }
		if f.Delete {
			write = func() error { return safepath.Remove(w.cfg.Dir, f.Path) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file atomically: after a crash it is complete or unchanged.
func replace(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
