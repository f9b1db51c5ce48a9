// Package trees gives each attempt at a task a git worktree of its own. An [Agent] does it,
// with package worktree; a [Client] asks the Agent, for a team; [PlaceFrom] tells the tools of
// a worker where they work.
//
//	roster["git"] = trees.New(worktree.Config{Repo: "/src/project"})
//
//	git := trees.Client{Agent: "git", Time: 5 * time.Minute}
//	opened, err := git.Open(c)
//	made, err := git.Create(c, trees.CreateRequest{Task: "api", Attempt: 1})
//	done, err := git.Commit(c, trees.CommitRequest{Tree: made.Tree, Since: made.Head, Path: "api.go"})
//	merged, err := git.Merge(c, trees.MergeRequest{Tree: made.Tree, Commit: done.Commit})
//	err = git.Remove(c, trees.RemoveRequest{Trees: []worktree.Tree{made.Tree}, Branches: true})
package trees
