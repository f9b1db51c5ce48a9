package director

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// artifactStore is where artifacts are: worktrees, or texts in memory.
type artifactStore struct {
	agent  string       // name of the Worktrees; "": artifacts are in memory
	git    trees.Client // client of that agent
	prefix string       // beginning of branches' names
	branch string       // branch that merges go to
	trees  map[string][]worktree.Tree
	folder map[string]bool   // tasks that have a worktree, and not only branches
	files  map[string]string // merged artifacts, in memory
	drafts map[string]string // artifacts that are not merged, by task
}

// nothing is reserved for calls that cost no money: without an estimate they would wait for
// calls that do.
const nothing providers.NanoUSD = 1

// memoryBranch is the name of the branch of artifacts in memory.
const memoryBranch = "memory"

// openStore opens the repository, if there is one.
func (r *run) openStore(c *orchestrator.Context) error {
	r.store = artifactStore{agent: r.Agents.Worktree, git: trees.Client{Agent: r.Agents.Worktree, Time: r.Bounds.CallTime}, trees: map[string][]worktree.Tree{}, folder: map[string]bool{}, files: map[string]string{}, drafts: map[string]string{}}
	maps.Copy(r.store.files, r.in.Files)
	maps.Copy(r.store.drafts, r.in.Drafts)
	if r.store.agent == "" {
		return nil
	}
	got, err := r.store.git.Open(c)
	if err != nil {
		if team.Ends(err) {
			return err
		}
		return team.Fail(ErrWorktree, "%w", err)
	}
	r.store.branch, r.store.prefix = got.Branch, got.Prefix
	return nil
}

// name is the branch of an attempt.
func (f *artifactStore) name(c *orchestrator.Context, task string, n int) string {
	if f.agent == "" {
		return memoryBranch
	}
	return worktree.Branch(f.prefix, c.RunID(), task, n)
}

// lacks says whether the text that a task has delivered is missing in memory.
func (f *artifactStore) lacks(task string) bool {
	_, kept := f.drafts[task]
	return f.agent == "" && !kept
}

// newTree makes the worktree of an attempt.
func (r *run) newTree(c *orchestrator.Context, req trees.CreateRequest) (trees.Created, error) {
	got, err := r.store.git.Create(c, req)
	if err == nil {
		r.store.trees[req.Task] = append(r.store.trees[req.Task], got.Tree)
		r.store.folder[req.Task] = true
	}
	return got, err
}

// clear removes the worktrees of a task, and with branches their branches, also when the run
// is over. A failure is a warning.
func (r *run) clear(c *orchestrator.Context, task string, branches bool) { //nolint:revive // flag-parameter: of the request
	old := slices.Clone(r.store.trees[task])
	if len(old) == 0 {
		return
	}
	delete(r.store.folder, task) // meanwhile, another attempt may get one
	if err := r.store.git.Remove(c, trees.RemoveRequest{Trees: old, Branches: branches}); err != nil {
		r.warn(c, "worktree", task, "its worktrees could not be removed: %s", err)
		r.store.folder[task] = true
		return
	}
	if branches {
		left := slices.DeleteFunc(r.store.trees[task], func(t worktree.Tree) bool { return slices.Contains(old, t) })
		if r.store.trees[task] = left; len(left) == 0 {
			delete(r.store.trees, task)
		}
	}
}

// leaveFolders removes the worktrees that are left at the end of a run. The branches of
// tasks that are not final stay, with what was committed.
func (r *run) leaveFolders(c *orchestrator.Context) {
	for _, id := range slices.Sorted(maps.Keys(r.store.trees)) {
		t, _ := r.board.Task(id)
		if r.store.folder[id] || t.Final() {
			r.clear(c, id, t.Final())
		}
	}
}

// hash stands for the commit of a text in memory.
func hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:20])
}

// shownBytes is how many bytes of an artifact or a diff later requests quote.
const shownBytes = 64 << 10

// inspect returns the delivered work for its review.
func (r *run) inspect(c *orchestrator.Context, t *blackboard.Task) (trees.Inspected, error) {
	if r.store.agent == "" {
		content := r.store.drafts[t.ID]
		return trees.Inspected{Artifact: worktree.Artifact{Path: t.Frozen.Path, Size: int64(len(content)), Text: text.Cut(content, shownBytes)}}, nil
	}
	tree, err := r.treeOf(c, t)
	if err != nil {
		return trees.Inspected{}, err
	}
	return r.store.git.Inspect(c, trees.InspectRequest{Tree: tree, Commit: t.Frozen.Commit, Path: t.Frozen.Path, Limit: shownBytes, Into: r.into(t)})
}

// treeOf is the worktree of what was delivered last.
func (r *run) treeOf(c *orchestrator.Context, t *blackboard.Task) (worktree.Tree, error) {
	for _, tree := range r.store.trees[t.ID] {
		if tree.Attempt == t.Attempt {
			return tree, nil
		}
	}
	got, err := r.newTree(c, trees.CreateRequest{Task: t.ID, Attempt: t.Attempt, Base: t.Frozen.Commit}) // it was delivered in another run
	return got.Tree, err
}

// delivered returns results of other tasks as a worker gets them.
func (f *artifactStore) delivered(results []blackboard.Result) (all []delivered) {
	for _, res := range results {
		d := delivered{Result: res}
		if f.agent == "" {
			d.Text = text.Cut(f.files[res.Path], shownBytes)
		}
		all = append(all, d)
	}
	return all
}

// hashes returns the hashes of the texts in memory that a worker gets, by path.
func (f *artifactStore) hashes(results []delivered) map[string]string {
	all := map[string]string{}
	for _, d := range results {
		if text, there := f.files[d.Path]; there {
			all[d.Path] = hash(text)
		}
	}
	return all
}

// rival returns the artifact of another task at the path that a task delivered last, unless it
// is among the inputs: without it, the task would conflict again.
func (r *run) rival(t *blackboard.Task, inputs []delivered) []delivered {
	if t.Frozen == nil || slices.ContainsFunc(inputs, func(d delivered) bool { return d.Path == t.Frozen.Path }) {
		return nil
	}
	if _, there := r.store.files[t.Frozen.Path]; !there {
		return nil
	}
	by, _ := r.board.Task(r.board.Board().Files[t.Frozen.Path].Task)
	return r.store.delivered([]blackboard.Result{{Task: by.ID, Title: by.Title, Status: by.Status, Path: t.Frozen.Path, Summary: by.Summary}})
}

// base is where an attempt begins: the branch of an earlier attempt, with what was merged
// into it meanwhile, if it is resumed; its parent's, if it is made for that; else the branch
// that merges go to.
func (r *run) base(t *blackboard.Task) string {
	if k := t.Checkpoint; k != nil && k.Commit != "" {
		return cmp.Or(k.Branch, k.Commit)
	}
	return r.into(t)
}

// into is the branch that a task is merged into; "": the one that merges go to.
func (r *run) into(t *blackboard.Task) string {
	parent, _ := r.board.Task(t.Parent)
	if !t.FromParent || parent.Checkpoint == nil {
		return ""
	}
	return parent.Checkpoint.Branch
}
