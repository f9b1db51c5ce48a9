package director

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
	"time"

	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/internal/safepath"
	"github.com/convene-go/convene/orchestrator/agent"
)

// What Agents.Worktree is asked, as Request.Op. Each operation can be repeated.
const (
	OpOpen    = "open"    // at the beginning of a run: OpenRequest, Opened
	OpCreate  = "create"  // for an attempt: CreateRequest, Created
	OpCommit  = "commit"  // what a worker has made: CommitRequest, Committed
	OpInspect = "inspect" // what is reviewed: InspectRequest, Inspected
	OpMerge   = "merge"   // what passed: MergeRequest, worktree.Merge
	OpRemove  = "remove"  // what is no longer needed: RemoveRequest, an empty object
)

// The inputs and answers of a [Worktrees].
type (
	// OpenRequest opens the repository for a run and removes worktrees that it has left.
	OpenRequest struct {
		Keep []string `json:"keep,omitempty"` // branches whose worktrees stay
	}

	// Opened says where merges go, and what the names of branches begin with.
	Opened struct {
		Branch string `json:"branch"`
		Prefix string `json:"prefix"`
	}

	// CreateRequest makes the worktree of an attempt.
	CreateRequest struct {
		Task    string `json:"task"`
		Attempt int    `json:"attempt"`        // from 1
		Base    string `json:"base,omitempty"` // a branch or commit; "": the branch that merges go to

		// Update merges the branch Into into it: what was merged there meanwhile.
		Update bool   `json:"update,omitempty"`
		Into   string `json:"into,omitempty"` // "": the branch that merges go to
	}

	// Created is a worktree, and the commit at which its branch is. Conflicts are files
	// that have two versions between conflict markers, for the worker to decide.
	Created struct {
		Tree      worktree.Tree `json:"tree"`
		Head      string        `json:"head"`
		Conflicts []string      `json:"conflicts,omitempty"`
	}

	// CommitRequest commits everything in a worktree that is not ignored, and the file
	// at Path in any case.
	CommitRequest struct {
		Tree    worktree.Tree `json:"tree"`
		Since   string        `json:"since"`       // the commit at which the branch was
		At      time.Time     `json:"at,omitzero"` // of the commit
		Phase   string        `json:"phase"`
		Summary string        `json:"summary"`
		Path    string        `json:"path,omitempty"`
		Text    string        `json:"text,omitempty"` // written to Path before
		Into    string        `json:"into,omitempty"` // with Path, the branch that it is to be merged into; "": the one that merges go to
	}

	// Committed is the commit at which the branch is then.
	Committed struct {
		Commit string `json:"commit"`
		Files  int    `json:"files"`            // that were changed since; 0: there was nothing to commit
		Found  bool   `json:"found,omitempty"`  // the file at Path is there
		Unsafe string `json:"unsafe,omitempty"` // why nothing was committed: a path leaves the worktree

		Unresolved []string `json:"unresolved,omitempty"` // with Path, files that have conflict markers of an update
	}

	// InspectRequest asks for an artifact at a commit of a tree, and what that commit would
	// change in the branch Into; "" is the one that merges go to.
	InspectRequest struct {
		Tree   worktree.Tree `json:"tree"`
		Commit string        `json:"commit"`
		Path   string        `json:"path"`
		Limit  int           `json:"limit"` // of texts, in bytes
		Into   string        `json:"into,omitempty"`
	}

	// Inspected is an artifact. Missing says that there is none at that path.
	Inspected struct {
		Artifact Artifact `json:"artifact"`
		Missing  bool     `json:"missing,omitempty"`
		Diff     string   `json:"diff,omitempty"`
	}

	// MergeRequest merges a commit of a tree.
	MergeRequest struct {
		Tree   worktree.Tree `json:"tree"`
		Commit string        `json:"commit"`
		Into   string        `json:"into,omitempty"` // a branch; "": the one that merges go to

		// Prepare makes the commit of the merge, and changes no branch. Checked is such a
		// commit: it is merged only if the branch is where it was then.
		Prepare bool   `json:"prepare,omitempty"`
		Checked string `json:"checked,omitempty"`
	}

	// Merged is the result of a merge. Files are what the merge changed: hashes by path, ""
	// for a file that was removed; none if the work was in the branch without a merge.
	Merged struct {
		worktree.Merge

		Files    map[string]string `json:"files,omitempty"`
		Prepared string            `json:"prepared,omitempty"` // the commit of a merge that is not on the branch
		Onto     string            `json:"onto,omitempty"`     // the commit that it would be merged onto
	}

	// RemoveRequest removes worktrees, and with Branches their branches.
	RemoveRequest struct {
		Trees    []worktree.Tree `json:"trees"`
		Branches bool            `json:"branches,omitempty"`
	}
)

// Worktrees is the agent that gives each attempt a git worktree of its own: package
// worktree as an agent, for any number of runs at once. It changes the repository of its
// Config alone.
type Worktrees struct {
	cfg worktree.Config

	mu   sync.Mutex
	runs map[string]*worktree.Trees
}

// NewWorktrees returns the agent for a repository. The Run of c is not used: each run
// that calls the agent has its own branches. What is wrong with c shows when a run begins.
func NewWorktrees(c worktree.Config) *Worktrees {
	return &Worktrees{cfg: c, runs: map[string]*worktree.Trees{}}
}

// Call implements [agent.Agent]: it does what req.Op says. Errors are inputs that do not
// fit, and those of package worktree.
func (w *Worktrees) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	do, ok := operations[req.Op]
	if !ok {
		return agent.Response{}, fmt.Errorf("director: worktree: %s: the Op is unknown", req.Op)
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
func (w *Worktrees) of(ctx context.Context, run string) (*worktree.Trees, error) {
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

// operations are what a Worktrees does, by Op. key is that of the call.
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
			return nil, fmt.Errorf("director: worktree: %s: read Input: %w", req.Op, err)
		}
		return do(ctx, t, in, key)
	}
}

func openTrees(ctx context.Context, t *worktree.Trees, in OpenRequest, _ string) (Opened, error) {
	_, err := t.Sweep(ctx, in.Keep)
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
	return Inspected{Artifact: Artifact(a), Diff: diff}, err
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
