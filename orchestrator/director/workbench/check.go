package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/convene-go/convene/internal/git"
	"github.com/convene-go/convene/internal/proc"
	"github.com/convene-go/convene/internal/safepath"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
)

// opCheck is the Request.Op of a director.CheckInput.
const opCheck = "check"

// Call implements [agent.Agent] for director.Agents.Check: it runs the command of a
// [director.CheckInput] on a checkout of the commit, which is removed afterwards. A
// command that fails, is killed or says nothing is an answer; one that fails because the
// disk is full is an error. Of a command that writes what "go test -json" writes, the
// answer has the names of the tests that failed, and it has not passed if none ran.
func (w *Workbench) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	var in director.CheckInput
	if err := json.Unmarshal(req.Input, &in); err != nil {
		return agent.Response{}, fmt.Errorf("workbench: read Input: %w", err)
	}
	if req.Op != opCheck || in.Commit == "" || len(in.Command) == 0 {
		return agent.Response{}, fmt.Errorf("workbench: Op is %q, Commit %q and Command %q, want %q, a commit and a command", req.Op, in.Commit, in.Command, opCheck)
	}
	answer, err := w.check(ctx, in)
	if err != nil {
		return agent.Response{}, fmt.Errorf("workbench: %w", err)
	}
	return agent.Response{Data: agent.JSON(answer)}, nil
}

func (w *Workbench) check(ctx context.Context, in director.CheckInput) (_ director.CheckResult, err error) {
	dir, err := w.temporary()
	if err != nil {
		return director.CheckResult{}, err
	}
	defer func() { err = errors.Join(err, safepath.RemoveAll(dir)) }()
	if err := w.checkout(ctx, in.Commit, filepath.Join(dir, "tree")); err != nil {
		return director.CheckResult{}, err
	}
	res, err := w.run(ctx, filepath.Join(dir, "tree"), in.Command)
	if err != nil {
		return director.CheckResult{}, err
	}
	return judge(res, strings.NewReplacer(filepath.Join(dir, "tree")+"/", "", dir, "")), nil
}

// checkout puts the files of a commit into a new folder. The index is of no use
// afterwards, and lies beside it.
func (w *Workbench) checkout(ctx context.Context, commit, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	repo := git.Repo{Dir: w.cfg.Repo, Time: w.cfg.Time, Safe: git.Safe(ctx)}
	common, err := repo.Run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return err
	}
	into := git.Repo{Dir: dir, GitDir: strings.TrimSpace(common), Time: w.cfg.Time, Index: dir + ".index"}
	if _, err := into.Run(ctx, "read-tree", "--", commit); err != nil {
		return err
	}
	_, err = into.Run(ctx, "checkout-index", "--all")
	return err
}

// judge says whether a command has passed.
func judge(res proc.Result, clean *strings.Replacer) director.CheckResult {
	r := parse(res.Stdout.Head)
	out := director.CheckResult{Failed: r.failed, Ran: r.ran, Seconds: res.Elapsed.Seconds()}
	said := clean.Replace(strings.TrimSpace(r.output + "\n" + res.Stderr.String()))
	why := ""
	switch {
	case res.End != proc.Exited:
		why = "the command was killed: " + res.Why
	case res.Code != 0:
		why = fmt.Sprintf("exit code %d", res.Code)
	case res.Stdout.Cut > 0:
		why = "it wrote more than can be read"
	case r.json && r.ran == 0:
		why = "no test ran"
	}
	out.Passed = why == ""
	out.Output = text.Ends(strings.TrimSpace(why+"\n"+said), readable)
	return out
}
