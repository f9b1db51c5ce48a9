// Package git runs git for packages that keep work in repositories. Nothing that a
// repository or a user has configured is executed: no hooks, filters, drivers, pagers,
// editors, monitors, credential helpers or signing; and nothing is fetched or pushed. A
// repository of another owner is used if it is named in [Repo.Safe].
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/proc"
	"github.com/convene-go/convene/internal/text"
)

// The defaults of Repo.
const (
	defaultTime   = 2 * time.Minute
	defaultOutput = 32 << 20
)

// Repo says where git runs, and as which author. It is safe for concurrent use, as far as git
// is: two commands that write one index exclude each other.
type Repo struct {
	Dir    string        // folder in which git runs
	GitDir string        // folder of the repository, whose work tree Dir is then; "": the one that Dir is in
	Name   string        // name of author and committer; "": Convene
	Email  string        // address of author and committer; "": convene@localhost
	Time   time.Duration // time limit of one command; 0: 2 minutes
	Mark   string        // proc.Command.Mark of git's processes, for proc.Sweep
	Index  string        // path of the index; "": that of the repository
	At     time.Time     // date of commits, in whole seconds; zero: now
	Top    bool          // Dir is the top of a work tree: git does not look for one around it
	Ignore bool          // git also ignores the files that the user's core.excludesFile names
	Safe   []string      // repositories of other owners that git may use, such as those of [Safe]
}

// ErrOutput says that a command wrote more than 32 MiB to stdout. It may have been stopped
// for that, or have ended by itself.
var ErrOutput = errors.New("too much output")

// Error is a command of git that failed.
type Error struct {
	Args   []string // arguments, without the settings of this package
	Code   int      // git's exit code, such as 1 for a merge with conflicts; -1: it was killed
	Detail string   // git's text on stderr, or the reason why it was killed
}

func (e *Error) Error() string {
	return fmt.Sprintf("git %s: exit %d: %s", strings.Join(e.Args, " "), e.Code, cmp.Or(e.Detail, "no message"))
}

// settings take precedence over those of the repository.
var settings = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.pager=cat", "core.editor=false",
	"core.sshCommand=false", "core.askPass=false", "core.gitProxy=", "core.alternateRefsCommand=",
	"core.attributesFile=" + os.DevNull, "core.excludesFile=" + os.DevNull, "core.autocrlf=false", "core.quotePath=false",
	"commit.gpgSign=false", "tag.gpgSign=false", "gpg.program=false", "gpg.ssh.program=false", "gpg.x509.program=false",
	"credential.helper=", "protocol.allow=never", "submodule.recurse=false",
	"gc.auto=0", "maintenance.auto=false", "advice.detachedHead=false", "init.defaultBranch=main",
}

// Run runs git with the arguments, the name of a command first, without a shell, and
// returns what it wrote to stdout. Put "--" before names that others chose. A command
// that fails is an *[Error], beside its stdout. Output that is too long is [ErrOutput].
// Any other error says that git could not be started, or that ctx ended.
func (r Repo) Run(ctx context.Context, args ...string) (string, error) {
	drivers, err := r.drivers(ctx)
	if err != nil {
		return "", err
	}
	if len(args) > 0 && slices.Contains(shows, args[0]) {
		args = slices.Insert(slices.Clone(args), 1, "--no-ext-diff", "--no-textconv")
	}
	return r.run(ctx, drivers, args)
}

// shows are the commands that show differences, with other programs if one is
// configured: no setting can switch that off.
var shows = []string{"diff", "diff-files", "diff-index", "diff-tree", "format-patch", "log", "show"}

// run runs git with further variables in its environment.
func (r Repo) run(ctx context.Context, further, args []string) (string, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return "", fmt.Errorf("find git: %w", err)
	}
	var all []string
	if r.GitDir != "" {
		all = append(all, "--git-dir="+r.GitDir, "--work-tree="+r.Dir)
	}
	for _, s := range settings {
		all = append(all, "-c", s)
	}
	for _, dir := range r.Safe {
		all = append(all, "-c", "safe.directory="+dir)
	}
	if r.Ignore {
		all = append(all, "-c", "core.excludesFile="+ignored(ctx))
	}
	res, err := proc.Run(ctx, proc.Command{
		Path: path, Args: append(all, args...), Dir: r.Dir, Env: append(r.env(path), further...),
		Time: cmp.Or(r.Time, defaultTime), Output: defaultOutput, Mark: r.Mark,
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	case res.End == proc.Flooded, res.Code == 0 && res.Stdout.Cut > 0:
		return "", fmt.Errorf("git %s: %w: more than %d bytes", strings.Join(args, " "), ErrOutput, defaultOutput)
	case res.End != proc.Exited:
		return res.Stdout.Head, &Error{Args: args, Code: -1, Detail: res.Why}
	case res.Code != 0:
		return res.Stdout.Head, &Error{Args: args, Code: res.Code, Detail: text.Cut(strings.TrimSpace(res.Stderr.String()), 2000)}
	}
	return res.Stdout.Head, nil
}

// env is the whole environment of git: the committer, and no settings of the user.
func (r Repo) env(path string) []string {
	name, email := cmp.Or(r.Name, "Convene"), cmp.Or(r.Email, "convene@localhost")
	env := []string{
		"PATH=" + strings.Join([]string{filepath.Dir(path), "/usr/bin", "/bin"}, string(os.PathListSeparator)),
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email,
	}
	if r.Index != "" {
		env = append(env, "GIT_INDEX_FILE="+r.Index)
	}
	if r.Top {
		env = append(env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(r.Dir))
	}
	if !r.At.IsZero() {
		at := fmt.Sprintf("@%d +0000", r.At.Unix())
		env = append(env, "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
	}
	return env
}

// drivers are settings that disable the filters and drivers that the repository
// names: filters change nothing, and drivers of merges report a conflict. They are
// variables of the environment: to -c, a name with a "=" would be another one.
func (r Repo) drivers(ctx context.Context) ([]string, error) {
	keys, err := r.run(ctx, nil, []string{"config", "--null", "--name-only", "--get-regexp", `^(filter|merge)\..*\.(clean|smudge|process|required|driver)$`})
	var failed *Error
	if errors.As(err, &failed) && (failed.Code == 1 || failed.Code == 128) {
		return nil, nil // there is no such key, or no repository yet
	}
	if err != nil {
		return nil, err
	}
	var off []string
	names := strings.Split(strings.TrimSuffix(keys, "\x00"), "\x00")
	for n, key := range names {
		value := ""
		if strings.HasSuffix(key, ".required") || strings.HasSuffix(key, ".driver") {
			value = "false" // no; the program that fails
		}
		off = append(off, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
	}
	return append(off, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(names))), nil
}
