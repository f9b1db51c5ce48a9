package trees

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/internal/safepath"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Agent is package worktree as an agent, for any number of runs at once. It changes only the
// repository of its Config.
type Agent struct {
	cfg worktree.Config

	mu   sync.Mutex
	runs map[string]*worktree.Trees
}

// New returns the agent for a repository. The Run of c is not used: each run that calls the
// agent has its own branches. A fault of c is the error of a run's first call.
func New(c worktree.Config) *Agent {
	return &Agent{cfg: c, runs: map[string]*worktree.Trees{}}
}

// Call implements [agent.Agent]: it does what req.Op says. Its errors are inputs that do not
// fit, and the errors of package worktree.
func (w *Agent) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	do, ok := operations[req.Op]
	if !ok {
		return agent.Response{}, fmt.Errorf("trees: %s: the Op is unknown", req.Op)
	}
	info := agent.InfoFrom(ctx)
	t, err := w.of(ctx, info.Run)
	if err != nil {
		return agent.Response{}, err
	}
	answer, err := do(ctx, t, req, info.Key)
	if err != nil {
		return agent.Response{}, err
	}
	if opened, ok := answer.(Opened); ok {
		opened.Prefix = cmp.Or(w.cfg.Prefix, "task")
		answer = opened
	}
	return agent.Response{Data: agent.JSON(answer)}, nil
}

// of returns the worktrees of a run.
func (w *Agent) of(ctx context.Context, run string) (*worktree.Trees, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.runs[run]; t != nil {
		return t, nil
	}
	c := w.cfg
	c.Run = run
	t, err := worktree.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	w.runs[run] = t
	return t, nil
}

// operations are the acts of an Agent, by Op. key is the key of the call.
var operations = map[string]func(ctx context.Context, t *worktree.Trees, req agent.Request, key string) (any, error){
	OpOpen:    operation(openTrees),
	OpCreate:  operation(createTree),
	OpCommit:  operation(commitTree),
	OpInspect: operation(inspectTree),
	OpMerge:   operation(mergeTree),
	OpRemove:  operation(removeTrees),
}

func operation[In, Out any](do func(ctx context.Context, t *worktree.Trees, in In, key string) (Out, error)) func(context.Context, *worktree.Trees, agent.Request, string) (any, error) {
	return func(ctx context.Context, t *worktree.Trees, req agent.Request, key string) (any, error) {
		var in In
		d := json.NewDecoder(bytes.NewReader(req.Input))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return nil, fmt.Errorf("trees: %s: read Input: %w", req.Op, err)
		}
		return do(ctx, t, in, key)
	}
}

func openTrees(ctx context.Context, t *worktree.Trees, _ struct{}, _ string) (Opened, error) {
	_, err := t.Sweep(ctx, nil)
	return Opened{Branch: t.Target()}, err
}

func createTree(ctx context.Context, t *worktree.Trees, in CreateRequest, _ string) (Created, error) {
	tree, err := t.Create(ctx, in.Task, in.Attempt, in.Base)
	if err != nil {
		return Created{}, err
	}
	out := Created{Tree: tree}
	if in.Update {
		out.Conflicts, err = t.Update(ctx, tree, in.Into)
	}
	if err == nil {
		out.Head, err = t.Head(ctx, tree)
	}
	if err != nil { // the run would not know of it
		return Created{}, errors.Join(err, t.Delete(context.WithoutCancel(ctx), tree))
	}
	return out, nil
}

func commitTree(ctx context.Context, t *worktree.Trees, in CommitRequest, key string) (Committed, error) {
	err := commitAll(ctx, t, in, key)
	if errors.Is(err, worktree.ErrUnsafePath) {
		return Committed{Commit: in.Since, Unsafe: err.Error()}, nil
	}
	var out Committed
	if err == nil {
		out.Commit, err = t.Head(ctx, in.Tree)
	}
	if err == nil && out.Commit != in.Since {
		var files map[string]string
		files, err = t.Changed(ctx, in.Since, out.Commit)
		out.Files = len(files)
	}
	if err == nil && in.Path != "" {
		_, err = t.Read(ctx, out.Commit, in.Path, 0)
		out.Found = err == nil
		if none(err) {
			err = nil
		}
	}
	if err == nil && in.Path != "" {
		out.Unresolved, err = t.Unresolved(ctx, in.Tree, out.Commit, in.Into)
	}
	return out, err
}

// commitAll commits all changes, and the file at Path also if it is ignored.
func commitAll(ctx context.Context, t *worktree.Trees, in CommitRequest, key string) error {
	if in.Path != "" && in.Text != "" {
		if err := safepath.Write(in.Tree.Path, in.Path, []byte(in.Text)); err != nil {
			return err
		}
	}
	note := worktree.Note{Phase: in.Phase, Summary: in.Summary, Key: key, At: in.At}
	_, err := t.Commit(ctx, in.Tree, note, nil)
	if err != nil && !errors.Is(err, worktree.ErrNoChange) || in.Path == "" {
		return ifChanged(err)
	}
	clean, err := safepath.In(in.Tree.Path, in.Path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(in.Tree.Path, filepath.FromSlash(clean))); err != nil {
		return nil //nolint:nilerr // there is none, which the review will see
	}
	note.Key += "/path"
	_, err = t.Commit(ctx, in.Tree, note, []string{clean})
	return ifChanged(err)
}

// ifChanged is err, unless it says that there was nothing to commit.
func ifChanged(err error) error {
	if errors.Is(err, worktree.ErrNoChange) {
		return nil
	}
	return err
}

// none says whether a commit was read and has no file at a path.
func none(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, worktree.ErrUnsafePath)
}

func inspectTree(ctx context.Context, t *worktree.Trees, in InspectRequest, _ string) (Inspected, error) {
	a, err := t.Read(ctx, in.Commit, in.Path, in.Limit)
	if none(err) {
		return Inspected{Missing: true}, nil
	}
	if err != nil {
		return Inspected{}, err
	}
	diff, err := t.Diff(ctx, in.Tree, in.Commit, in.Into, in.Limit)
	return Inspected{Artifact: a, Diff: diff}, err
}

func mergeTree(ctx context.Context, t *worktree.Trees, in MergeRequest, _ string) (Merged, error) {
	var out Merged
	check := func(_ context.Context, merge, onto string) error {
		if merge == in.Checked {
			return nil
		}
		out.Prepared, out.Onto = merge, onto
		return errPrepared
	}
	if !in.Prepare && in.Checked == "" {
		check = nil
	}
	m, err := t.Merge(ctx, in.Tree, in.Commit, in.Into, check)
	if errors.Is(err, errPrepared) {
		return out, nil
	}
	if err != nil || !m.Merged {
		return Merged{Merge: m}, err
	}
	files, err := t.Brought(ctx, m.Commit, in.Commit)
	return Merged{Merge: m, Files: files}, err
}

// errPrepared stops a merge before it is on the branch.
var errPrepared = errors.New("the merge is prepared")

func removeTrees(ctx context.Context, t *worktree.Trees, in RemoveRequest, _ string) (struct{}, error) {
	remove := t.Remove
	if in.Branches {
		remove = t.Delete
	}
	var errs []error
	for _, tree := range in.Trees {
		errs = append(errs, remove(ctx, tree))
	}
	return struct{}{}, errors.Join(errs...)
}
