package director_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/trees"
)

// numbered says whether a commit is sound: no two files of the folder numbers have the same
// number. Git merges such files without a conflict.
func (r *repo) numbered(ctx context.Context, commit string) (bool, error) {
	out, err := r.Run(ctx, "ls-tree", "-r", "--name-only", commit, "--", "numbers")
	var numbers []string
	for file := range strings.FieldsSeq(out) {
		number, bad := r.Run(ctx, "show", commit+":"+file)
		numbers, err = append(numbers, number), errors.Join(err, bad)
	}
	slices.Sort(numbers)
	return len(slices.Compact(slices.Clone(numbers))) == len(numbers), err
}

// takesANumber is a worker that adds a line to a file that all change, and takes the next
// number that no other has.
func takesANumber(a asked) any {
	in := workInput(a)
	others, err := os.ReadDir(filepath.Join(in.Worktree.Path, "numbers"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	lines, err := os.ReadFile(filepath.Join(in.Worktree.Path, "main.txt"))
	if err != nil {
		return err
	}
	if a.task[0] == 'a' { // those of b leave the line out: only the numbers clash
		_ = writes(a, "main.txt", string(lines)+a.task+"\n")
	}
	return writes(a, "numbers/"+a.task, fmt.Sprint(len(others)))
}

func TestTwoRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Parallel()
	t.Run("BX31 BX4 BC61 two runs of two processes on one repository lose no merge, and main is always sound", func(t *testing.T) {
		r := newRepo(t)
		var group sync.WaitGroup
		outs := make([]director.Outcome, 2)
		for i := range outs {
			names := []string{fmt.Sprint("a", i), fmt.Sprint("b", i)}
			s := checked(r, nil, define(names[0]), define(names[1]))
			s.cfg.Policy.Retry.Conflicts = 50
			s.roles["work"] = takesANumber
			s.roles["check"] = func(a asked) any {
				var in director.CheckInput
				decode(a.req.Input, &in)
				sound, err := r.numbered(t.Context(), in.Commit)
				if err != nil {
					return err
				}
				if !sound {
					return director.CheckResult{Failed: []string{"TestNumbers"}, Ran: 1}
				}
				return green
			}
			flow, in := s.flow(t)
			roster := s.roster(t, flow.Agents, newDiary())
			roster["worktree"] = trees.New(worktree.Config{Repo: r.Dir})
			engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
			require.NoError(t, err)
			group.Go(func() {
				var err error
				outs[i], err = flow.Run(t.Context(), engine, in)
				assert.NoError(t, err)
				assert.NoError(t, engine.Close(context.WithoutCancel(t.Context())))
			})
		}
		group.Wait()
		conflicts := 0
		for i, out := range outs {
			assert.Equal(t, orchestrator.Completed, out.Status)
			assert.Equal(t, map[blackboard.State]int{blackboard.Complete: 2}, out.Summary)
			for _, task := range out.Board.Tasks {
				assert.Contains(t, r.run("log", "--first-parent", "--format=%H", "main"), task.Merged, "run %d, %s", i, task.ID)
				assert.Zero(t, task.RetryCount, "nobody did anything wrong")
				conflicts += task.ConflictCount
			}
		}
		assert.Positive(t, conflicts, "the tasks of one run begin side by side, and take the same number")
		lines := strings.Fields(r.show("main.txt"))
		assert.ElementsMatch(t, []string{"1", "2", "3", "a0", "a1"}, lines, "no line is lost, none is there twice")
		assert.Len(t, strings.Fields(r.run("ls-tree", "-r", "--name-only", "main", "--", "numbers")), 4)
		history := strings.Fields(r.run("log", "--first-parent", "--format=%H", "main"))
		assert.Len(t, history, 1+4)
		for _, commit := range history {
			sound, err := r.numbered(t.Context(), commit)
			require.NoError(t, err)
			assert.True(t, sound, commit)
		}
		assert.Empty(t, r.branches())
		assert.Equal(t, "", r.run("status", "--porcelain"), "the folder with main followed")
	})
}
